/* Kernels for the tests of the emulation itself: each right in one way and wrong in others. */
#ifndef TEQUIO_TESTS_CUDA_EMU_SCENES_H
#define TEQUIO_TESTS_CUDA_EMU_SCENES_H

#include "backend/cuda/kernels/launch.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A block of 64 turns y[64] around through shared memory. */
typedef enum turn_how {
    TURN_RIGHT,
    TURN_NO_BARRIER,
    TURN_BRANCH, /* half of the threads at the barrier, the others ended */
    TURN_TWO,    /* each half at a barrier of its own */
    TURN_BEHIND, /* writes one element too many into shared memory */
} turn_how;
void scene_turn(cuda_stream s, float *y, turn_how how);

/* y[n]: what a shuffle gives each lane, by blocks of `threads`. */
typedef enum shuffle_how {
    SHUFFLE_XOR,    /* x of lane ^ 5 */
    SHUFFLE_FROM,   /* of lane 3 */
    SHUFFLE_UP,     /* of lane - 2 */
    SHUFFLE_DOWN,   /* of lane + 2 */
    SHUFFLE_BALLOT, /* bits of the lanes whose x is odd */
    SHUFFLE_MASK,   /* half a mask */
    SHUFFLE_APART,  /* two lanes at different ones */
    SHUFFLE_ENDED,  /* a lane that has ended */
} shuffle_how;
void scene_shuffle(cuda_stream s, int *y, unsigned threads, shuffle_how how);

/* Each of two blocks adds 1 to what it finds in shared memory and stores that. */
void scene_leftover(cuda_stream s, float *y);
/* 13 000 floats of shared memory: dynamic with leave, the same without asking again, dynamic without
 * leave, or static; or 7 000 of each. */
typedef enum big_how { BIG_ALLOWED, BIG_AGAIN, BIG_DYNAMIC, BIG_STATIC, BIG_BOTH } big_how;
void scene_big(cuda_stream s, float *y, big_how how);

/* y[32 * 4] = x by asynchronous copies, of whose 16 bytes 12 are there for the last lane. */
typedef enum copy_how {
    COPY_RIGHT,
    COPY_NO_WAIT,
    COPY_LATE_GROUP, /* waits for all but the group it needs */
    COPY_OVERWRITE,  /* starts the next copy into what is still read */
    COPY_GLOBAL,     /* to what is no shared memory */
    COPY_MISALIGNED,
} copy_how;
void scene_copy(cuda_stream s, float *y, const float *x, copy_how how);

/* d += a b by one matmul of a warp: bf16, f16 with k 16; f16, tf32 with k 8. The lanes' registers,
 * d[32][4], a[32][4], b[32][2], of which the last two count as far as the matmul has them. */
typedef enum matmul_how { MATMUL_BF16, MATMUL_F16, MATMUL_F16_8, MATMUL_TF32 } matmul_how;
void scene_matmul(cuda_stream s, float *d, const uint32_t *a, const uint32_t *b, matmul_how how);
/* What load_matrix_x4 gives the lanes, y[32][4], of which lane i has the address of row i of x[32][8]. */
void scene_load(cuda_stream s, uint32_t *y, const uint16_t *x, bool transposed);
/* y[n] = x as factors of a TF32 matmul. */
void scene_tf32(cuda_stream s, uint32_t *y, const float *x, unsigned n);

/* y = n stored as type and read back, by load_vec and store_vec; n a multiple of 8. */
void scene_store(cuda_stream s, float *y, const float *x, size_t n, launch_type type);

/* Lanes turn y[32] around through shared memory, with a __syncwarp or without. */
void scene_turn_warp(cuda_stream s, float *y, bool syncs);

/* Two blocks: each writes its own number to y, both the same place, or the second (as they are
 * numbered) reads what the first has written. */
typedef enum blocks_how { BLOCKS_OWN, BLOCKS_SAME, BLOCKS_READ } blocks_how;
void scene_blocks(cuda_stream s, float *y, blocks_how how);
/* 64 threads, each writes one byte of y[64] and one half of z[64]; all lower *least to their
 * smallest, 3. */
void scene_narrow(cuda_stream s, uint8_t *y, uint16_t *z, uint64_t *least);

/* y[192, 3]: the sum, the sum of squares and the most of -x over each block's share of x[192]; the
 * blocks are of 96 or of 32 threads. */
void scene_fold(cuda_stream s, float *y, const float *x, bool wide);

/* y[i * stride] = 63 - i for i < n, n at most 64; with a barrier too many. */
void scene_spread(cuda_stream s, float *y, int n, int stride);

/* y[i] = value for i < n, without knowing how long y is. */
void scene_set(cuda_stream s, float *y, float value, size_t n);
/* One access of 16 bytes at y. */
void scene_vector(cuda_stream s, float *y);
/* A launch of that size that does nothing. */
void scene_size(cuda_stream s, unsigned grid_x, unsigned grid_y, unsigned threads);
/* The same, of a kernel for blocks of at most 64 threads. */
void scene_bound(cuda_stream s, unsigned threads_x, unsigned threads_y);
void scene_deep(cuda_stream s, float *y); /* needs more stack than there is */
void scene_wild(cuda_stream s);           /* writes where no memory is */

#ifdef __cplusplus
}
#endif

#endif
