/*
 * What the program may know of the CUDA backend beyond backend.h: whether it was built. Without it
 * src/backend/absent.c answers.
 * Threads: any.
 */
#ifndef TEQUIO_BACKEND_CUDA_CUDA_H
#define TEQUIO_BACKEND_CUDA_CUDA_H

/* By what and for which chips it was built, "nvcc 13.0.88, sm_80 sm_90 compute_90"; NULL: it was not. */
const char *cuda_build(void);

#endif
