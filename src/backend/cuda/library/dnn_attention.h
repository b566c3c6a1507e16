/*
 * Attention by cuDNN: the flash kernels that its runtime compiles for a graph of operations. The
 * graphs are the ones that NVIDIA's own frontend makes for its library, operation by operation,
 * since the engines know them by their form:
 *
 *   forward, not causal    one operation; where that is refused, as causal
 *   forward                scores, mask, softmax with its log-sum-exp, matmul with the values
 *   backward               the scores once more; the queries' gradient is a matmul like the others
 *                          and is not added up in memory: on Hopper that form is the deterministic
 *                          one, with the scores' gradient in its workspace, which may take 1 GiB
 *
 * The log-sum-exp is what our kernels (kernels/attention.h) read and write, so either may go
 * backward where the other went forward.
 *
 * Taken are operands, results and gradients of one half-precision type, heads of a multiple of 8
 * numbers up to 128, on a chip from sm_90 on and, backward, on that kind alone; later ones have the
 * deterministic form for other engines. There is no mask but the causal one, without keys of the
 * past, and no dropout: its bits are ours (backend/drop.h).
 *
 * Threads: as backend.h says.
 * Source: docs.nvidia.com/deeplearning/cudnn, "Attention".
 */
#ifndef TEQUIO_BACKEND_CUDA_LIBRARY_DNN_ATTENTION_H
#define TEQUIO_BACKEND_CUDA_LIBRARY_DNN_ATTENTION_H

#include "backend/cuda/kernels/attention.h"
#include "backend/cuda/library/dnn.h"

/* Of t all but addresses, and t->results does not count. E_UNSUPPORTED with the reason where our
 * kernels have to do it. */
MUST_USE status dnn_attention_plan(backend_program *p, const launch_attention *t, dnn_graph **ret,
                                   error *err);
MUST_USE status dnn_attention_bwd_plan(backend_program *p, const launch_attention *t,
                                       dnn_graph **ret, error *err);

/* With the addresses: those of halves are multiples of 16 bytes. `scratch` is dnn_run's. All three
 * gradients are made. */
MUST_USE status dnn_attention_run(dnn_graph *g, const launch_attention *t, void *scratch,
                                  error *err);
MUST_USE status dnn_attention_bwd_run(dnn_graph *g, const launch_attention_bwd *b, void *scratch,
                                      error *err);

#endif
