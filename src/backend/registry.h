/*
 * Devices by name and number: which backend computes there, and what it calls the device.
 *
 *   the CPU   "cpu", "/cpu:0", "/device:CPU:0"; every number below 0
 *   a GPU     "cuda", "cuda:1", "gpu:1", "/gpu:1", "/device:GPU:1", "1"; a number from 0
 *
 * as TensorFlow, PyTorch and AllenNLP write them, in letters of either case; what TensorFlow puts
 * in front of "/device:" is passed over. GPUs are numbered as CUDA does it: those that
 * CUDA_VISIBLE_DEVICES names, in its order.
 * Threads: any.
 */
#ifndef TEQUIO_BACKEND_REGISTRY_H
#define TEQUIO_BACKEND_REGISTRY_H

#include "backend/backend.h"

/* Where to compute. */
typedef struct backend_choice {
    const backend_ops *ops;
    backend_options options;
} backend_choice;

/* With so many threads for what the CPU does. */
backend_choice backend_numbered(int64_t number, int threads);
/* E_CONFIG says how devices are written. */
MUST_USE status backend_named(const char *name, int threads, backend_choice *ret, error *err);

/* "cpu", "cuda:1". */
enum { BACKEND_NAME = 32 };
const char *backend_name(const backend_choice *c, char ret[BACKEND_NAME]);

#endif
