/*
 * Which of cuDNN's engines computes a graph: of those that the library's heuristics name, first of mode A, then of
 * the fallbacks, the first one that gives the same bits every time, takes no more than a fixed workspace, and
 * does not refuse. An engine that makes its code itself takes seconds.
 *
 * Threads: any, each with a description of the device of its own; what is made is the caller's.
 */
#ifndef TEQUIO_BACKEND_CUDA_LIBRARY_DNN_ENGINE_H
#define TEQUIO_BACKEND_CUDA_LIBRARY_DNN_ENGINE_H

#include "backend/cuda/library/abi.h"
#include "common/base/error.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct dnn_engine {
    bool exact;             /* asked: products of float32 are float32's, and not TF32's */
    int64_t scratch_most;   /* asked: bytes of workspace */
    dnn_desc config, plan;  /* found */
    int64_t scratch_bytes;
} dnn_engine;

/* `of` is a graph; E_UNSUPPORTED with what refused the last engine if there is none that does. */
MUST_USE status dnn_engine_find(dnn_engine *e, dnn_desc of, dnn_desc device, error *err);
/* Whether e's plan, wherever it comes from, does; one that does not is destroyed. */
MUST_USE status dnn_engine_fits(dnn_engine *e, error *err);

#endif
