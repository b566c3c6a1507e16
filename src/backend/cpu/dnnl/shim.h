/*
 * The only door to oneDNN. Written against its C API from 3.0 on.
 *
 * A shim owns everything made through it (layouts, primitives) and frees it whole. Primitives are
 * described and created once, then executed many times: memory objects and argument lists are
 * built at creation, execution only sets addresses. Scratch memory is the caller's.
 *
 * All elements are f32 unless said otherwise. Threads: a shim belongs to one thread.
 */
#ifndef TEQUIO_BACKEND_CPU_DNNL_SHIM_H
#define TEQUIO_BACKEND_CPU_DNNL_SHIM_H

#include "common/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SHIM_SPATIAL = 3 };

typedef struct shim shim;
typedef struct shim_layout shim_layout; /* shape and order of elements in memory */
typedef struct shim_primitive shim_primitive;

/* X(role, oneDNN's argument) */
#define SHIM_ROLE_MAP(X)                                                                           \
    X(SHIM_SRC, DNNL_ARG_SRC)                                                                      \
    X(SHIM_WEIGHTS, DNNL_ARG_WEIGHTS)                                                              \
    X(SHIM_BIAS, DNNL_ARG_BIAS)                                                                    \
    X(SHIM_DST, DNNL_ARG_DST)                                                                      \
    X(SHIM_MEAN, DNNL_ARG_MEAN)                                                                    \
    X(SHIM_VARIANCE, DNNL_ARG_VARIANCE)                                                            \
    X(SHIM_SCALE, DNNL_ARG_SCALE)                                                                  \
    X(SHIM_SHIFT, DNNL_ARG_SHIFT)                                                                  \
    X(SHIM_WORKSPACE, DNNL_ARG_WORKSPACE)                                                          \
    X(SHIM_SCRATCH, DNNL_ARG_SCRATCHPAD)                                                           \
    X(SHIM_DIFF_SRC, DNNL_ARG_DIFF_SRC)                                                            \
    X(SHIM_DIFF_WEIGHTS, DNNL_ARG_DIFF_WEIGHTS)                                                    \
    X(SHIM_DIFF_BIAS, DNNL_ARG_DIFF_BIAS)                                                          \
    X(SHIM_DIFF_DST, DNNL_ARG_DIFF_DST)                                                            \
    X(SHIM_DIFF_SCALE, DNNL_ARG_DIFF_SCALE)                                                        \
    X(SHIM_DIFF_SHIFT, DNNL_ARG_DIFF_SHIFT)

typedef enum shim_role {
#define X(role, arg) role,
    SHIM_ROLE_MAP(X)
#undef X
        SHIM_ROLES
} shim_role;

/* How a convolution or pooling window moves; dilation 1 is dense. */
typedef struct shim_window {
    int rank; /* spatial axes */
    int64_t kernel[SHIM_SPATIAL], stride[SHIM_SPATIAL], dilation[SHIM_SPATIAL];
    int64_t begin[SHIM_SPATIAL], end[SHIM_SPATIAL]; /* padding */
} shim_window;

typedef enum shim_pooling { SHIM_POOL_MAX, SHIM_POOL_MEAN, SHIM_POOL_MEAN_PADDED } shim_pooling;

/* Life cycle */
MUST_USE status shim_create(shim **ret, error *err);
void shim_destroy(shim **s);

/* "3.7.2" and "avx512_core_bf16", or on Arm "sve_256" */
void shim_version(char *ret, size_t bytes);
const char *shim_isa(void);

/* Layouts. `any` leaves the order to the primitive. dims has `rank` entries, rank >= 1. */
MUST_USE status shim_plain(shim *s, int rank, const int64_t *dims, const shim_layout **ret,
                           error *err);
MUST_USE status shim_any(shim *s, int rank, const int64_t *dims, const shim_layout **ret,
                         error *err);
/* The same order with elements of bfloat16, or of float32; a reorder from float32 to bfloat16
 * rounds to the nearest. E_UNSUPPORTED for an order that oneDNN has no name for. */
MUST_USE status shim_layout_in_bf16(shim *s, const shim_layout *l, const shim_layout **ret,
                                    error *err);
MUST_USE status shim_layout_in_f32(shim *s, const shim_layout *l, const shim_layout **ret,
                                   error *err);
bool shim_layout_same(const shim_layout *a, const shim_layout *b); /* the same bytes */
bool shim_layout_is_plain(const shim_layout *l);                   /* row-major bytes */
bool shim_layout_is_padded(const shim_layout *l);                  /* holds zeros of its own */
size_t shim_layout_bytes(const shim_layout *l);

/* [N,C,spatial...] with dense planes: row-major (block 1), or channels in blocks that lie innermost
 * and are padded to whole ones. False for other orders. */
typedef struct shim_channels {
    int64_t batch, channels, spatial, block;
} shim_channels;
bool shim_layout_channels(const shim_layout *l, shim_channels *ret);

/*
 * Primitives. E_UNSUPPORTED if oneDNN has no implementation. `bias` may be NULL. Weights of a
 * grouped convolution have one axis more: [group, M/group, C/group, kernel...].
 */
MUST_USE status shim_reorder(shim *s, const shim_layout *from, const shim_layout *to,
                             shim_primitive **ret, error *err);
MUST_USE status shim_conv(shim *s, const shim_window *w, const shim_layout *src,
                          const shim_layout *weights, const shim_layout *bias,
                          const shim_layout *dst, shim_primitive **ret, error *err);
MUST_USE status shim_conv_bwd_data(shim *s, const shim_window *w, const shim_layout *src,
                                   const shim_layout *weights, const shim_layout *dst,
                                   shim_primitive **ret, error *err);
MUST_USE status shim_conv_bwd_weights(shim *s, const shim_window *w, const shim_layout *src,
                                      const shim_layout *weights, const shim_layout *bias,
                                      const shim_layout *dst, shim_primitive **ret, error *err);
/* `training`: maxima are remembered in SHIM_WORKSPACE */
MUST_USE status shim_pool(shim *s, shim_pooling kind, const shim_window *w, const shim_layout *src,
                          const shim_layout *dst, bool training, shim_primitive **ret, error *err);
/* `forward` is the primitive that filled the workspace; its layouts are used. */
MUST_USE status shim_max_pool_bwd(shim *s, const shim_window *w, const shim_primitive *forward,
                                  shim_primitive **ret, error *err);
/* src and dst: those of forward; dst may be `any` */
MUST_USE status shim_mean_pool_bwd(shim *s, shim_pooling kind, const shim_window *w,
                                   const shim_layout *src, const shim_layout *dst,
                                   shim_primitive **ret, error *err);
/* `training`: statistics of the batch are computed, otherwise SHIM_MEAN and SHIM_VARIANCE are read
 */
MUST_USE status shim_batch_norm(shim *s, const shim_layout *data, float epsilon, bool training,
                                shim_primitive **ret, error *err);
MUST_USE status shim_batch_norm_bwd(shim *s, const shim_layout *data, float epsilon, bool training,
                                    shim_primitive **ret, error *err);

/* Whether it is made for any window, by products with copies of it or by plain loops: oneDNN's last choice. */
bool shim_is_general(const shim_primitive *p);

/* What the primitive chose; NULL if it has no such argument. */
const shim_layout *shim_layout_of(const shim_primitive *p, shim_role role);
size_t shim_bytes_of(const shim_primitive *p, shim_role role); /* 0 likewise */

/* Execution. Addresses stay set until set again; roles the primitive does not have are ignored. */
MUST_USE status shim_set(shim_primitive *p, shim_role role, const void *address, error *err);
MUST_USE status shim_execute(shim_primitive *p, error *err);

typedef struct shim_matrix {
    const void *data; /* float, or the upper halves of floats */
    int64_t stride;   /* elements from row to row */
    bool transposed, bf16;
} shim_matrix;

/* c [m,n] = alpha * op(a) [m,k] * op(b) [k,n] + beta * c, row-major, c_stride elements from row to
 * row of c; a and b of one type. Called from inside a team's loop it uses the calling thread only.
 */
MUST_USE status shim_gemm(int64_t m, int64_t n, int64_t k, float alpha, shim_matrix a,
                          shim_matrix b, float beta, float *c, int64_t c_stride, error *err);

/* One such matmul with alpha 1 and beta 0, both factors float32 and c dense, as a primitive:
 * SHIM_SRC is a, SHIM_WEIGHTS b, SHIM_DST c. Addresses in a and b are not read. */
MUST_USE status shim_matmul(shim *s, int64_t m, int64_t n, int64_t k, shim_matrix a, shim_matrix b,
                            shim_primitive **ret, error *err);

/* Whether that takes less time than shim_gemm, by measurement (BENCHMARKS.md). */
bool shim_gains_by_matmul(int64_t m, int64_t n, int64_t k, shim_matrix a);

/* Whether matmuls of bfloat16 are faster than those of float32 on this processor. */
bool shim_gains_by_bf16(void);

#endif
