/*
 * Element types of ONNX: how they lie in files, and what holds them here. A graph has float32,
 * int64, int32, uint8 and bool; what is narrower is held in a wider one of these, and rounded or
 * wrapped to its own range where a node makes it. float16, bfloat16 and float64 are computed in
 * float32 by a graph. uint64 is had below 2^63, where it is known before the run.
 *
 * Small floats: https://onnx.ai/onnx/technical/float8.html and float4.html. Threads: any; pure.
 */
#ifndef TEQUIO_ONNX_ELEMENT_H
#define TEQUIO_ONNX_ELEMENT_H

#include "graph/graph.h"

/* TensorProto.DataType */
enum {
    ONNX_FLOAT32 = 1,
    ONNX_UINT8 = 2,
    ONNX_INT8 = 3,
    ONNX_UINT16 = 4,
    ONNX_INT32 = 6,
    ONNX_INT64 = 7,
    ONNX_BOOL = 9,
    ONNX_FLOAT16 = 10,
    ONNX_FLOAT64 = 11,
    ONNX_UINT32 = 12,
    ONNX_UINT64 = 13,
    ONNX_BFLOAT16 = 16,
};

typedef enum element_kind { ELEMENT_INTEGER, ELEMENT_FLOAT, ELEMENT_NONE } element_kind;

typedef struct onnx_element {
    int32_t onnx;
    const char *name;
    int bits;
    element_kind kind; /* ELEMENT_NONE: we have none of it */
    dtype ours;        /* holds it */
    bool is_signed;    /* integers */
    int mantissa;      /* floats of less than 32 bits: bits of it; -1: an exponent alone */
    int least;         /* the exponent of the smallest normal number */
    double most;       /* the largest finite number */
    bool has_infinity;
} onnx_element;

/* NULL if ONNX has no such number. */
const onnx_element *element_of(int32_t onnx);
/* By its name as schema.def writes it; NULL if there is none. */
const onnx_element *element_named(const char *name);
/* What a type of ours is in ONNX. */
const onnx_element *element_of_dtype(dtype t);

/* Held in a wider type? What a graph makes of such integers is wrapped. */
bool element_is_narrow_integer(const onnx_element *e);

/* An element as bits -> its value, and a number as the type holds it: integers wrap, floats round
 * to the nearest, to even between two. Beyond the largest it becomes that if `saturate`, else
 * infinity or NaN. */
double element_decode(const onnx_element *e, uint64_t bits);
int64_t element_wrap(const onnx_element *e, int64_t value);
double element_round(const onnx_element *e, double value, bool saturate);

#endif
