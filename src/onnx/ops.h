/*
 * The table of operators that can be imported, ops.def. Each row's functions stand in
 * ops/<family>.c (what becomes of a node) and fold/<family>.c (its value, where all it reads is
 * known). Threads: any.
 */
#ifndef TEQUIO_ONNX_OPS_H
#define TEQUIO_ONNX_OPS_H

#include "onnx/call.h"

typedef enum onnx_gradient {
    NO_GRADIENT,  /* of integers and conditions, or constant almost everywhere */
    GRADIENT,
    ONLY_KNOWN,   /* only of what is known before the run */
} onnx_gradient;

typedef struct onnx_op {
    const char *type, *domain; /* domain "": ai.onnx */
    int64_t first;             /* opset from which on we have it */
    onnx_gradient gradient;
    translate_fn *fold;        /* called when all inputs are known; returns nothing to decline */
    translate_fn *translate;
} onnx_op;

const onnx_op *onnx_op_find(const char *domain, const char *type); /* NULL if there is none */

#define ONNX_OP(type, domain, first, gradient, fold, translate) translate_fn onnx_##fold, onnx_##translate;
#include "onnx/ops.def"
#undef ONNX_OP

#endif
