/*
 * The fields of a protobuf message, over its bytes: for what must be known before they are parsed.
 * https://protobuf.dev/programming-guides/encoding/
 * Threads: pure functions.
 */
#ifndef TEQUIO_ONNX_FIELDS_H
#define TEQUIO_ONNX_FIELDS_H

#include <stdbool.h>
#include <stdint.h>

/* What is left of a message. */
typedef struct fields {
    const unsigned char *at, *end;
} fields;

typedef struct field {
    uint64_t number;
    const unsigned char *begin, *end; /* with its tag and length */
    fields inside;                    /* its bytes, if it has a length; otherwise NULL */
} field;

/* The next one; false at the end, or where the bytes are none. */
bool fields_next(fields *f, field *ret);

#endif
