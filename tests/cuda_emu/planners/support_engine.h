/* What the tests of planners build with: graphs that nobody refuses, and an engine over one. */
#ifndef TEQUIO_TESTS_CUDA_EMU_PLANNERS_SUPPORT_ENGINE_H
#define TEQUIO_TESTS_CUDA_EMU_PLANNERS_SUPPORT_ENGINE_H

#include "exec/exec.h"

/* A failure ends the test. */
void must(status st, const error *err);

/* On either backend, with one thread; a refusal ends the test. exec_destroy it. */
exec *engine(const backend_ops *ops, const graph *g);

#endif
