/*
 * What the CUDA backend was built for, and which GPUs there are; of cuda.h, which says what holds
 * where it was not built. device/device.c looks, report.c tells of the build.
 * Threads: any.
 */
#ifndef TEQUIO_BACKEND_CUDA_GPUS_H
#define TEQUIO_BACKEND_CUDA_GPUS_H

#include "common/base/error.h"

#include <stdbool.h>

/* By what and for which chips it was built, "nvcc 13.0.88, sm_80 sm_90 compute_90"; NULL: it was
 * not. */
const char *cuda_build(void);

/* Whether there is this GPU: E_DEVICE, or E_UNSUPPORTED if the backend was not built, with what
 * would help. Takes nothing of it; describe() begins to use it. */
MUST_USE status cuda_find(int device, error *err);

/* Whether a driver has left its files on this machine; opens nothing. False if the backend was not
 * built. GPUs that are named are tried all the same. */
bool cuda_has_driver(void);

enum { CUDA_GPUS_MAX = 64 };

/* GPUs of one kind, which give the same bits. */
typedef struct cuda_gpus {
    int n, visible;         /* so many are there, of any kind */
    int number[CUDA_GPUS_MAX];
} cuda_gpus;

/* The first GPU that this program has code for, and those like it. None, and OK, where there is no
 * driver or no GPU; if there are GPUs and none can be used the error says why. Takes some of their
 * memory, which the process does not give back. */
MUST_USE status cuda_look(cuda_gpus *ret, error *err);

#endif
