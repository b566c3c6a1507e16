/*
 * How each value lies in the GPU's memory, chosen for a whole graph before its nodes are planned.
 *
 * Types. In a graph whose factors are rounded to half precision a float32 temporary is stored as
 * such a half where the row of its maker in graph/ops.def says so, and all its readers
 * know halves: results of matmuls and layer norms always, those of element-wise functions, other
 * norms, moves and the like where all they are made of is, parameters and constants apart, and what
 * an element-wise function makes for matmuls and sums alone. Parameters and their gradients,
 * inputs, kept values, statistics, losses and reductions are float32. Kernels compute in float32.
 *
 * Orders. A convolution's result is an image with its channels last, and so is what functions of
 * one element, batch norms and pools make of such; whoever else reads it, and whoever keeps it, has
 * it row-major.
 *
 * Rows. What matmuls make and read of scores has rows that begin at multiples of 64 elements,
 * where they are long and begin at uneven places otherwise: a vocabulary of 50257 words, of which
 * tensor cores could not be fed 16 bytes at a time. Nobody reads what lies between.
 *
 * Where a kernel wants operands of one type or in one order and they are not, its node first copies
 * them.
 *
 * Threads: as backend.h says.
 */
#ifndef TEQUIO_BACKEND_CUDA_LOAD_STORAGE_H
#define TEQUIO_BACKEND_CUDA_LOAD_STORAGE_H

#include "backend/cuda/program.h"

/* Sets the storage of all values, and what bodies are to find; but for rows, which come behind. */
void storage_choose(backend_program *p);
void storage_space_rows(backend_program *p);

/* Sets the bytes of all values, when it is known which are in no memory. E_NOMEM: one is too
 * large. */
MUST_USE status storage_measure(backend_program *p, error *err);

/* Whether its body finds or leaves anything otherwise than it lies. */
bool storage_moves(const cuda_node *n);

/* Once the node is planned: places its copies behind the body's scratch. */
void storage_finish(cuda_node *n);

/* In front of the body: copies what it is to find otherwise, and points c there; behind it: what it
 * has left otherwise. */
void storage_bring(const cuda_node *n, cuda_call *c);
void storage_leave(const cuda_node *n, const cuda_call *c, void *const *addresses);

#endif
