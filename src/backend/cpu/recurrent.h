/*
 * Inside of LSTM, GRU and RNN: one direction of one layer is walked step by step. The matmuls with
 * x are one matrix product over all steps; those with the state are one or two a step; what a cell
 * does between them is a function on one example's row. recurrent.c walks, recurrent_cells.c has
 * the cells. Threads: as backend.h says.
 */
#ifndef TEQUIO_BACKEND_CPU_RECURRENT_H
#define TEQUIO_BACKEND_CPU_RECURRENT_H

#include "common/base/error.h"
#include "graph/recurrent_form.h"

/* One direction of one run. Rows of [S,B,...] are numbered t * B + b. */
typedef struct recurrent_pass {
    const recurrent_form *s;
    bool reverse;
    const void *lengths;
    const float *x, *w, *r, *b, *h0, *c0, *p; /* of this direction; NULL: absent */
    float *y;                                 /* step 0 of this direction */
    int64_t y_step;                           /* floats from step to step */
    float *gates, *inner;                     /* [S,B,G*H], [S,B,H] */
    float *h, *c;                             /* [B,H]: the state before the step, then after it */
    float *reset_h;                           /* [B,H] GRU: r * h */
    /* backward */
    const float *dy;  /* as y; NULL: zero */
    float *dh, *dc;   /* [B,H]: of the state after the step, then before it */
    float *dh_direct; /* [B,H]: what reaches the state before the step past the matmuls */
    float *dgates;    /* [S,B,G*H], before the activations */
    float *dinner;    /* [S,B,H] GRU: of h * R_h */
    float *h_before;  /* [S,B,H] */
    float *inner_in;  /* [S,B,H] GRU: what R_h is multiplied by */
} recurrent_pass;

/* One step of one row; the row counts (its sequence is long enough). */
typedef void recurrent_row(const recurrent_pass *p, int64_t t, int64_t b);

typedef struct recurrent_cell {
    status (*step)(const recurrent_pass *p, int64_t t, error *err);
    status (*step_bwd)(const recurrent_pass *p, int64_t t, error *err);
} recurrent_cell;

extern const recurrent_cell recurrent_lstm, recurrent_gru, recurrent_rnn;

bool recurrent_counts(const recurrent_pass *p, int64_t t, int64_t b);

/* Calls `row` for the rows of step t that count and, if given, `other` for those that do not. */
void recurrent_rows(const recurrent_pass *p, int64_t t, recurrent_row *row, recurrent_row *other);

/* c [B,n] = beta c + a [B,k] op(r), r being rows of the recurrent weights from `gate` on: with
 * `forward` transposed, so n of H a gate and k = H, else k of H a gate and n = H. */
typedef struct recurrent_matmul {
    const float *a;
    int64_t a_stride;
    int64_t gate, n_gates;
    bool forward;
    float beta;
    float *c;
    int64_t c_stride;
} recurrent_matmul;
MUST_USE status recurrent_multiply(const recurrent_pass *p, const recurrent_matmul *m, error *err);

#endif
