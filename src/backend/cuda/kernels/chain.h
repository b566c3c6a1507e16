/*
 * chain.cu: operators of one element each, one behind the other, in one pass over memory. A chain
 * holds a number, begins with its source, and changes it by a step at a time:
 *
 *     held = f(held, u, v)        u, v: what the step reads beside; held may be any of f's operands
 *
 * What others read too is stored on the way. The functions are those of the operators' own kernels, so a
 * chain makes their bits.
 *
 * Kernels of normalisations have a chain of light functions (chain.def) in front of what they read, which
 * stores that, or behind what they make.
 */
#ifndef TEQUIO_BACKEND_CUDA_KERNELS_CHAIN_H
#define TEQUIO_BACKEND_CUDA_KERNELS_CHAIN_H

#include "backend/cuda/kernels/binary.h"
#include "backend/cuda/kernels/ternary.h"
#include "backend/cuda/kernels/unary.h"

enum { CHAIN_STEPS = 8 };

#define CHAIN_ELEMENTS ((INT64_C(1) << 31) - 4) /* a chain has fewer: they are counted by fours */

typedef enum chain_function {
    CHAIN_nothing, /* its number is only stored */
    CHAIN_where,   /* u ? v : held, or with swapped ? held : v */
    CHAIN_drop,    /* step.drop; `mask` is stored if it is there */
    CHAIN_drop_bwd, /* u: the mask */
#define UNARY(name, is_light)  CHAIN_UNARY_##name,
#define BINARY(name, is_light) CHAIN_BINARY_##name,
#define CHOICE(name, is_light) CHAIN_CHOICE_##name,
#include "backend/cuda/kernels/chain.def"
} chain_function;

/* An operand: of element e the number e / inner % count of x. */
typedef struct chain_operand {
    const void *x; /* NULL: there is none */
    dtype type;    /* float32, bfloat16, float16; of masks and conditions uint8 or bool */
    int64_t inner, count;
} chain_operand;

typedef struct chain_step {
    chain_function function;
    int slot;            /* which of the function's operands is what is held */
    float p, q;          /* attributes */
    chain_operand u, v;  /* the others in their order */
    launch_dropout drop;
    uint8_t *mask;
    void *y;             /* where the number held behind the step goes; NULL: nowhere */
    dtype y_type;        /* a function's number goes on as this, too */
} chain_step;

typedef struct launch_chain_call {
    int64_t elements;
    chain_operand source; /* of all elements; absent where another kernel made what the chain begins with */
    int n;
    chain_step step[CHAIN_STEPS];
} launch_chain_call;

#ifdef __cplusplus
extern "C" {
#endif

void launch_chain(cuda_stream stream, const launch_chain_call *c);

#ifdef __cplusplus
}
#endif

#endif
