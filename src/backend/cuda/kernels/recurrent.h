/*
 * What launches of LSTM, GRU and RNN are told: one direction of one layer. Matmuls are the
 * caller's (plan/recurrent.c); here is what a cell does between them, and what is gathered from all
 * steps. Rows of [steps,batch,...] are numbered t * batch + b.
 */
#ifndef TEQUIO_BACKEND_CUDA_KERNELS_RECURRENT_H
#define TEQUIO_BACKEND_CUDA_KERNELS_RECURRENT_H

#include "backend/cuda/kernels/launch.h"

typedef enum launch_cell { CELL_LSTM, CELL_GRU, CELL_RNN } launch_cell;

typedef struct launch_recurrent {
    launch_cell cell;
    int64_t steps, batch, hidden, gates; /* gates: 4, 3, 1 */
    bool reverse;                        /* walks from the last step to the first */
    bool linear_before_reset, relu;      /* GRU; RNN */
    bool wide_lengths;                   /* int64, otherwise int32 */
    const void *lengths; /* [batch]: steps behind give zeros and move no state; NULL: none */
    const float *h0, *c0, *peep; /* [batch,hidden], likewise, [3,hidden]; NULL: zero */
    float *y;                    /* step 0 of this direction */
    int64_t y_step;              /* numbers from step to step */
    float *gate, *inner;         /* [steps,batch,gates,hidden], [steps,batch,hidden] */
    float *h, *c;                /* [batch,hidden]: the state before the step, then after it */
    float *reset_h;              /* [batch,hidden] GRU: r * h; backward its gradient, or h's */
    /* backward */
    const float *dy;  /* as y; NULL: zero */
    float *dh, *dc;   /* [batch,hidden]: of the state after the step; dc then before it */
    float *dh_direct; /* [batch,hidden]: what reaches the state before the step past the matmuls */
    float *dgate;     /* as gate, before the activations */
    float *dinner;    /* as inner; GRU */
    float *h_before;  /* as inner; zero where nothing counts */
    float *inner_in;  /* as inner; GRU: what R_h is multiplied by. May be h_before */
} launch_recurrent;

#ifdef __cplusplus
extern "C" {
#endif

/* recurrent.cu */

/* What the matmuls with x are added to: ret [gates,hidden], of both halves of bias
 * [2,gates,hidden] but where GRU's reset multiplies the second. */
void launch_recurrent_bias(cuda_stream stream, const launch_recurrent *r, float *ret,
                           const float *bias);
/* Step t, whose gates have all they are the sum of: to activations, y and the state. GRU's gates
 * but its candidate are opened first, and then `inner` is made. */
void launch_gru_open(cuda_stream stream, const launch_recurrent *r, int64_t t);
void launch_recurrent_step(cuda_stream stream, const launch_recurrent *r, int64_t t);

/* h_before and inner_in of all steps. */
void launch_recurrent_before(cuda_stream stream, const launch_recurrent *r);
/* Step t: dgate, dinner, dc and dh_direct; of GRU all that is known before reset_h is. */
void launch_recurrent_step_bwd(cuda_stream stream, const launch_recurrent *r, int64_t t);
void launch_gru_reset_bwd(cuda_stream stream, const launch_recurrent *r, int64_t t);

/* ret[n]: the sums of the columns of x [steps * batch,n]. */
void launch_recurrent_sums(cuda_stream stream, const launch_recurrent *r, float *ret,
                           const float *x, int64_t n);
/* The gradient of LSTM's peepholes. */
void launch_lstm_peepholes(cuda_stream stream, const launch_recurrent *r, float *ret);

#ifdef __cplusplus
}
#endif

#endif
