/*
 * How each value lies in the GPU's memory: as the graph has it, type and row-major order.
 *
 * Threads: as backend.h says.
 */
#ifndef TEQUIO_BACKEND_CUDA_STORAGE_H
#define TEQUIO_BACKEND_CUDA_STORAGE_H

#include "backend/cuda/program.h"

/* Sets storage and bytes of all values, when it is known which are in no memory and before nodes are
 * planned. E_NOMEM: one is too large. */
MUST_USE status storage_choose(backend_program *p, error *err);

#endif
