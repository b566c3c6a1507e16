/* A model's message to a file, without a second copy of its weights in memory. Pure function. */
#ifndef TEQUIO_ONNX_WRITE_FILE_H
#define TEQUIO_ONNX_WRITE_FILE_H

#include "common/base/error.h"

#include "proto/onnx.pb-c.h"

/* Atomic. E_UNSUPPORTED beyond the 2 GB of a protobuf message; E_IO. */
MUST_USE status file_write_model(const Onnx__ModelProto *model, const char *path, error *err);

#endif
