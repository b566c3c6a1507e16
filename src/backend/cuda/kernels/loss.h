/* SoftmaxCrossEntropyLoss, and how many were right. */
#ifndef TEQUIO_BACKEND_CUDA_KERNELS_LOSS_H
#define TEQUIO_BACKEND_CUDA_KERNELS_LOSS_H

#include "backend/cuda/kernels/launch.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum launch_loss_reduction {
    LAUNCH_LOSS_MEAN,
    LAUNCH_LOSS_SUM,
    LAUNCH_LOSS_NONE
} launch_loss_reduction;

typedef struct launch_loss_call {
    launch_type type;           /* of scores and their gradient */
    int64_t n, classes, inner;  /* scores [n,classes,inner], labels [n,inner]; classes > 0 */
    int64_t pitch;              /* with inner 1: from one row of scores to the next */
    const void *labels;         /* int64 */
    bool narrow;                /* int32 */
    const float *weights;       /* [classes] or NULL */
    bool log_probs;             /* scores are logarithms of probabilities already */
    bool has_ignore;
    int64_t ignore;             /* a label whose rows do not count */
    launch_loss_reduction reduction;
    int pieces;                 /* of the sums over rows */
    double *workspace;          /* [2 pieces + 1]; launch_accuracy: a byte a row */
    uint64_t *fault;            /* a label that is no class: becomes the least of fault_node | row */
    uint64_t fault_node;
} launch_loss_call;

/* What is made of scores [n,classes] that are no log_probs while they are read. NULL: not wanted, but that
 * without dscores most and log_sum are. */
typedef struct launch_loss_pass {
    float *loss, *most, *log_sum;   /* as launch_loss */
    void *dscores;                  /* as launch_loss_bwd, may be the scores */
    const float *dloss;             /* with dscores */
    float *own;                     /* [n], with dscores: workspace */
    int64_t *right, *counted;       /* as launch_accuracy, of the same labels */
    uint8_t *verdict;               /* [n], with those two: workspace */
} launch_loss_pass;

/* loss [] or, with LAUNCH_LOSS_NONE, [n,inner]. `most` and `log_sum` [n,inner], unless log_probs: the
 * rows' largest score, and the logarithm of the sum of exp(score - largest). */
void launch_loss(cuda_stream stream, const launch_loss_call *c, float *loss, float *most,
                 float *log_sum, const void *scores);
/* dscores may be scores. */
void launch_loss_bwd(cuda_stream stream, const launch_loss_call *c, void *dscores,
                     const void *scores, const float *dloss, const float *most,
                     const float *log_sum);
/* How many labels (int64) have the largest score, the first one on ties, and how many count. With one
 * class, class 1 is where the score is above 0. NULL: not wanted. */
void launch_accuracy(cuda_stream stream, const launch_loss_call *c, int64_t *right,
                     int64_t *counted, const void *scores);
/* All of it, with the bits of those three. */
void launch_loss_at_once(cuda_stream stream, const launch_loss_call *c, const launch_loss_pass *made,
                         const void *scores);

#ifdef __cplusplus
}
#endif

#endif
