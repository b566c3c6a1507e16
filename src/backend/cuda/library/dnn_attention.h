/*
 * Attention by cuDNN: the flash kernels that its runtime compiles for a graph of operations. The
 * graphs are the ones that NVIDIA's own frontend makes for its library, operation by operation,
 * since the engines know them by their form:
 *
 *   forward, not causal    one operation; where that is refused, as causal
 *   forward                scores, mask, softmax with its log-sum-exp, matmul with the values
 *   backward               the scores once more; the queries' gradient is a matmul like the others
 *                          and is not added up in memory: on Hopper that form is the deterministic
 *                          one, with the scores' gradient in its workspace, which may take 1 GiB: of a
 *                          batch that wants more a part at a time
 *
 * The log-sum-exp is what our kernels (kernels/attention.h) read and write, so either may go
 * backward where the other went forward.
 *
 * Taken are operands, results and gradients of one half-precision type, heads of a multiple of 8
 * numbers up to 256, on a chip from sm_90 on and, backward, on that kind alone; later ones have the
 * deterministic form for other engines. Keys of the past are not.
 *
 * A mask is a tensor of floats that are added to the scores, of the axes along which it differs. None is
 * -infinity: a tile of scores that all are would come to NaN, so a query that may look at no key is not
 * known here, and its row is the caller's (launch_attention_blind_rows). Dropout is by cuDNN's random
 * numbers, of a seed in memory; both directions draw the same ones.
 *
 * Threads: as backend.h says.
 * Source: docs.nvidia.com/deeplearning/cudnn, "Attention".
 */
#ifndef TEQUIO_BACKEND_CUDA_LIBRARY_DNN_ATTENTION_H
#define TEQUIO_BACKEND_CUDA_LIBRARY_DNN_ATTENTION_H

#include "backend/cuda/kernels/attention.h"
#include "backend/cuda/library/dnn.h"

typedef struct dnn_attention {
    launch_attention of;    /* its mask, dropout and results do not count */
    bool is_biased;         /* as of.mask_stride says: 0 along axes of one */
    float ratio;            /* of what is dropped; 0: nothing is */
    const float *bias;      /* at a run, like of's addresses */
    const int64_t *seed;    /* likewise, of LAUNCH_SEED_WORDS: the seed, and at 2 the offset */
} dnn_attention;

/* Bytes that a plan may want of workspace, and a mask as floats: 1 GiB, less in tests. */
extern int64_t dnn_attention_scratch_most;

/* Of a all but addresses. E_UNSUPPORTED with the reason where our kernels have to do it. */
MUST_USE status dnn_attention_plan(backend_program *p, const dnn_attention *a, dnn_graph **ret, error *err);
/* Of so much of the batch a run, a whole number of them in all: without dropout that is a part where the
 * workspace of all would be too large, and of the parts one whose operands are aligned. */
MUST_USE status dnn_attention_bwd_plan(backend_program *p, const dnn_attention *a, int64_t *ret_batch,
                                       dnn_graph **ret, error *err);

/* With the addresses: all are multiples of 16 bytes. `scratch` is dnn_run's. Backward b->of is not
 * looked at, a->of is, and all three gradients are made. */
MUST_USE status dnn_attention_run(dnn_graph *g, const dnn_attention *a, void *scratch, error *err);
MUST_USE status dnn_attention_bwd_run(dnn_graph *g, const dnn_attention *a, const launch_attention_bwd *b,
                                      void *scratch, error *err);
/* The addresses are those of what lies n further in the batch. */
void dnn_attention_advance(dnn_attention *a, launch_attention_bwd *b, int64_t n);

#endif
