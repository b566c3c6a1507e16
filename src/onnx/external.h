/*
 * Tensors whose bytes lie in a file beside the model (external_data: location, offset, length;
 * https://onnx.ai/onnx/repo-docs/ExternalData.html). The file must lie in the model's folder: no
 * absolute path, no "..", no symbolic link that leads out of it. Any thread.
 */
#ifndef TEQUIO_ONNX_EXTERNAL_H
#define TEQUIO_ONNX_EXTERNAL_H

#include "common/base/fs.h"
#include "onnx/model.h"

/* Maps the file; *ret_raw is where the tensor's `bytes` bytes begin. Close the map. E_DATA,
 * E_IO. */
MUST_USE status external_open(const onnx_model *m, const Onnx__TensorProto *t, size_t bytes,
                              fs_map *ret_map, const unsigned char **ret_raw, error *err);

/* Where it says that they lie; NULL: they are in the model. */
const char *external_location(const Onnx__TensorProto *t);
/* Maps the whole file that a tensor's bytes lie in. Close it. */
MUST_USE status external_map(const onnx_model *m, const Onnx__TensorProto *t, fs_map *ret, error *err);

/* Whether external_open would succeed. */
MUST_USE status external_check(const onnx_model *m, const Onnx__TensorProto *t, size_t bytes,
                               error *err);

#endif
