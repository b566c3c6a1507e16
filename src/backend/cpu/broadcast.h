/*
 * Loops over one, two or three operands of any type whose shapes broadcast. Operands of one shape
 * run in whatever layout they have; with broadcasting the result is walked row by row, each operand
 * with strides of its own. The pieces do not depend on the number of threads.
 */
#ifndef TEQUIO_BACKEND_CPU_BROADCAST_H
#define TEQUIO_BACKEND_CPU_BROADCAST_H

#include "backend/cpu/program.h"
#include "common/base/simd.h"

enum { BROADCAST_IN = 3 };

/* One row of n elements; stride[k] is 1, or 0 for an operand that stays. y may be x[0]. */
typedef void (*broadcast_loop)(void *y, const void *const *x, const int64_t *stride, int64_t n);

/* Makes `loop` over all inputs of the node its body. */
MUST_USE status broadcast_plan(cpu_node *n, broadcast_loop loop);

/* y = expression of a, typed. */
#define BROADCAST_1(name, in_type, out_type, expression)                                           \
    static void name(void *to, const void *const *x, const int64_t *stride, int64_t n)             \
    {                                                                                              \
        out_type *y = to;                                                                          \
        const in_type *pa = x[0];                                                                  \
        (void)stride;                                                                              \
        SIMD_LOOP                                                                                  \
        for (int64_t i = 0; i < n; i++) {                                                          \
            const in_type a = pa[i];                                                               \
            y[i] = (out_type)(expression);                                                         \
        }                                                                                          \
    }

/* y = expression of a and b, typed. */
#define BROADCAST_2(name, in_type, out_type, expression)                                           \
    static void name(void *to, const void *const *x, const int64_t *stride, int64_t n)             \
    {                                                                                              \
        out_type *y = to;                                                                          \
        const in_type *pa = x[0], *pb = x[1];                                                      \
        if (stride[0] && stride[1]) {                                                              \
            SIMD_LOOP                                                                              \
            for (int64_t i = 0; i < n; i++) {                                                      \
                const in_type a = pa[i], b = pb[i];                                                \
                y[i] = (out_type)(expression);                                                     \
            }                                                                                      \
        } else if (stride[0]) {                                                                    \
            const in_type b = pb[0];                                                               \
            SIMD_LOOP                                                                              \
            for (int64_t i = 0; i < n; i++) {                                                      \
                const in_type a = pa[i];                                                           \
                y[i] = (out_type)(expression);                                                     \
            }                                                                                      \
        } else {                                                                                   \
            const in_type a = pa[0];                                                               \
            SIMD_LOOP                                                                              \
            for (int64_t i = 0; i < n; i++) {                                                      \
                const in_type b = pb[i * stride[1]];                                               \
                y[i] = (out_type)(expression);                                                     \
            }                                                                                      \
        }                                                                                          \
    }

/* y = expression of a, b and c; y and b, c of one type. */
#define BROADCAST_3(name, a_type, type, expression)                                                \
    static void name(void *to, const void *const *x, const int64_t *stride, int64_t n)             \
    {                                                                                              \
        type *y = to;                                                                              \
        const a_type *pa = x[0];                                                                   \
        const type *pb = x[1], *pc = x[2];                                                         \
        if (stride[0] && stride[1] && stride[2]) {                                                 \
            SIMD_LOOP                                                                              \
            for (int64_t i = 0; i < n; i++) {                                                      \
                const a_type a = pa[i];                                                            \
                const type b = pb[i], c = pc[i];                                                   \
                y[i] = (expression);                                                               \
            }                                                                                      \
        } else if (stride[0] && stride[1]) {                                                       \
            const type c = pc[0];                                                                  \
            SIMD_LOOP                                                                              \
            for (int64_t i = 0; i < n; i++) {                                                      \
                const a_type a = pa[i];                                                            \
                const type b = pb[i];                                                              \
                y[i] = (expression);                                                               \
            }                                                                                      \
        } else {                                                                                   \
            SIMD_LOOP                                                                              \
            for (int64_t i = 0; i < n; i++) {                                                      \
                const a_type a = pa[i * stride[0]];                                                \
                const type b = pb[i * stride[1]], c = pc[i * stride[2]];                           \
                y[i] = (expression);                                                               \
            }                                                                                      \
        }                                                                                          \
    }

/* Loops by type, for tables by operator; NULL where there is none. */
typedef struct typed_loops {
    broadcast_loop f32, i64, i32, u8;
} typed_loops;

static inline broadcast_loop typed_loop(const typed_loops *l, dtype t)
{
    return t == DT_F32   ? l->f32
           : t == DT_I64 ? l->i64
           : t == DT_I32 ? l->i32
           : t == DT_U8  ? l->u8
                         : NULL;
}

#endif