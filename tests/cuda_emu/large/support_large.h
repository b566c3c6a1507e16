/*
 * Tensors of more than 2^32 elements, whose last numbers must come out as those of small ones: a
 * count or an offset that does not fit its type shows. Only the first and the last block of a
 * launch run, over addresses behind which memory appears where it is touched; so sizes are such
 * that one of the two has the last number.
 */
#ifndef TEQUIO_TESTS_CUDA_EMU_LARGE_SUPPORT_LARGE_H
#define TEQUIO_TESTS_CUDA_EMU_LARGE_SUPPORT_LARGE_H

#include "cuda_emu/kernel_test.h"

#include "cuda_emu/machine.h"

/* More than 2^32: as they lie, and as rows. */
#define MANY  ((INT64_C(1) << 32) + 4)
#define ROWS  INT64_C(65537)
#define WIDTH INT64_C(65540)
#define ALL   (ROWS * WIDTH)

/* Room number i of six, of 64 GB, all zero; a machine that gives no addresses without memory skips
 * the test. */
void *vast(int i);

/* Waits for all launches, in which nothing went wrong. */
void done(void);

/* Likewise; number `count` has come out so. */
void expect_last(const float *y, int64_t count, float want);

#endif
