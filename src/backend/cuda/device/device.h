/*
 * CUDA's runtime in our words: its errors as status, its devices as backend_device.
 * Threads: any; a device is the calling thread's, as CUDA has it.
 */
#ifndef TEQUIO_BACKEND_CUDA_DEVICE_DEVICE_H
#define TEQUIO_BACKEND_CUDA_DEVICE_DEVICE_H

#include "backend/backend.h"

#include <cuda_runtime_api.h>

/* E_NOMEM if memory ran out, else E_DEVICE: "<what>: <CUDA's text> (<CUDA's name>)". */
MUST_USE status device_check(cudaError_t e, const char *what, error *err);

#define TRY_CUDA(call, what, err) TRY(device_check((call), (what), (err)))

/* E_DEVICE with what would help if there is no driver, an old one, no GPU, or not that one. */
MUST_USE status device_count(int *ret, error *err);
MUST_USE status device_select(int device, error *err);
/* E_DEVICE if the chosen GPU is of a kind that this program has no code for. */
MUST_USE status device_suits(int device, error *err);
/* Whether a variable of the environment, TEQUIO_CUDA_GRAPHS, TEQUIO_CUDA_FUSION, TEQUIO_CUDA_NCCL or
 * TEQUIO_CUDA_AUGMENT, is not 0: profilers, sanitizers and tests see more of kernels that are no part
 * of a graph, or that are one node's, of copies from GPU to GPU, and of images that the host changes. */
bool device_wants(const char *variable);
/* Whether one, TEQUIO_CUDA_GUARD, is set, and not 0: values apart, for checkers of memory. */
bool device_asks(const char *variable);
MUST_USE status device_describe(int device, backend_device *ret, error *err);

#endif
