/*
 * Large values of a file stay where they are. The parser copies all that it reads, so a model would be in
 * memory twice; instead it is given the file without the raw data of large initializers, and these
 * become pointers into the file, which is mapped.
 * Threads: pure functions.
 */
#ifndef TEQUIO_ONNX_RAW_H
#define TEQUIO_ONNX_RAW_H

#include "common/base/buf.h"
#include "common/base/error.h"

#include "proto/onnx.pb-c.h"

#include <stdbool.h>

/* Of one initializer; NULL: it was not left out. */
typedef struct onnx_raw_data {
    const unsigned char *data;
    size_t bytes;
} onnx_raw_data;

typedef struct onnx_raw {
    onnx_raw_data *at; /* [n], by initializer of the main graph */
    size_t n;
} onnx_raw;

/* `ret_rest` gets the model's bytes without what `ret` gets, which points into `data`. False, with both
 * empty, if that would be less than half of them. */
bool raw_take_out(const void *data, size_t bytes, onnx_raw *ret, buf *ret_rest);

/* Into the model that was made of the rest; before it is freed, out of it again. E_DATA if it has other
 * initializers. */
MUST_USE status raw_put_in(const onnx_raw *r, Onnx__ModelProto *model, error *err);
void raw_put_out(const onnx_raw *r, Onnx__ModelProto *model);
void raw_fini(onnx_raw *r);

#endif
