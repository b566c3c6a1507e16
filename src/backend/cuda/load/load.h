/*
 * From a graph to a program: it is chosen how values lie and which nodes one kernel does, then
 * every node is planned.
 *
 * Threads: as backend.h says.
 */
#ifndef TEQUIO_BACKEND_CUDA_LOAD_LOAD_H
#define TEQUIO_BACKEND_CUDA_LOAD_LOAD_H

#include "backend/cuda/program.h"

/* As backend_ops has them. E_UNSUPPORTED names all nodes that no kernel computes, each with the
 * reason. */
MUST_USE status cuda_load(backend *b, const graph *g, backend_program **ret, error *err);
void cuda_unload(backend_program **p);

/* Of every node: backend_kernel.run. */
MUST_USE status cuda_node_run(void *state, void *const *addresses, void *workspace, error *err);

#endif
