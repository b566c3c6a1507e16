/*
 * How each value lies in the GPU's memory, chosen for a whole graph before its nodes are planned.
 *
 * Types. In a graph whose factors are rounded to half precision a float32 temporary is stored as such
 * a half where the row of its maker in the table of storage.c says so, and all its readers know
 * halves: results of products and norms always, those of element-wise functions, moves and the like
 * where what they are made of is (parameters and constants apart: they count with the others), and
 * what an element-wise function makes for products and sums alone. Parameters and their gradients,
 * inputs, kept values, statistics, losses and reductions are float32. Kernels compute in float32.
 *
 * Where a kernel wants operands of one type and they are of two, its node first copies them.
 *
 * Threads: as backend.h says.
 */
#ifndef TEQUIO_BACKEND_CUDA_STORAGE_H
#define TEQUIO_BACKEND_CUDA_STORAGE_H

#include "backend/cuda/program.h"

/* Sets storage and bytes of all values, and what bodies are to find, when it is known which are in no
 * memory and before nodes are planned. E_NOMEM: one is too large. */
MUST_USE status storage_choose(backend_program *p, error *err);

/* Once the node is planned: places its copies behind the body's scratch. */
void storage_finish(cuda_node *n);

/* In front of the body: copies what it is to find otherwise, and points c there. */
void storage_bring(const cuda_node *n, cuda_call *c);

#endif
