/*
 * Elements from one order of axes to another. Axes: operand 0 is where elements go, operand 1 where they
 * come from; strides may be 0 (from) and negative. Pointers are to the first element of either side,
 * which do not overlap.
 */
#ifndef TEQUIO_BACKEND_CUDA_KERNELS_MOVE_H
#define TEQUIO_BACKEND_CUDA_KERNELS_MOVE_H

#include "backend/axes.h"
#include "backend/cuda/kernels/launch.h"
#include "common/base/dtype.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Elements of 1, 2, 4, 8 or 16 bytes. */
void launch_move(cuda_stream stream, size_t element, void *to, const void *from, const axes *over);

/* The same of up to 8 bytes, where the last axis has stride 1 in `to` and axis `down` in `from`. */
void launch_transpose(cuda_stream stream, size_t element, void *to, const void *from,
                      const axes *over, int down);

/* to += from; no two elements go to one position. */
void launch_move_add(cuda_stream stream, float *to, const float *from, const axes *over);

typedef struct launch_trilu_call {
    int64_t matrices, rows, cols;
    int64_t k;      /* what is on diagonal k and above, or below, stays */
    bool upper;
    size_t element; /* 1, 2, 4 or 8 bytes */
} launch_trilu_call;

/* y may be x. */
void launch_trilu(cuda_stream stream, const launch_trilu_call *c, void *y, const void *x);

typedef struct launch_one_hot_call {
    int64_t outer, depth, inner; /* indices [outer, inner], y [outer, depth, inner] */
    dtype index;                 /* float32, int64 or int32; any number, from the end when negative */
    size_t element;              /* 1, 4 or 8 bytes */
    uint8_t off[8], on[8];
} launch_one_hot_call;

void launch_one_hot(cuda_stream stream, const launch_one_hot_call *c, void *y, const void *indices);

typedef struct launch_reverse_call {
    int64_t steps, examples, bytes; /* [examples, steps] runs of `bytes`, or [steps, examples] */
    bool batch_first;
    bool wide;                      /* lengths are int64, else int32; 0 .. steps */
    launch_fault fault;             /* a bad length; it counts as 0 */
} launch_reverse_call;

/* The first lengths[example] runs of each example turn round; y is not x. */
void launch_reverse(cuda_stream stream, const launch_reverse_call *c, void *y, const void *x,
                    const void *lengths);

#ifdef __cplusplus
}
#endif

#endif
