/*
 * Pad as its kernels take it: the axes up to the last one that is padded, and what lies behind them as one
 * run; where a position of an axis comes from is a table.
 *
 * Ownership: tables in the arena that is given. Threads: pure functions.
 */
#ifndef TEQUIO_GRAPH_PAD_FORM_H
#define TEQUIO_GRAPH_PAD_FORM_H

#include "graph/attrs.h"

typedef struct pad_form {
    int32_t rank;              /* of these axes; 0: nothing is padded */
    int64_t dim[GRAPH_RANK];   /* of the output */
    int64_t step[GRAPH_RANK];  /* elements of the input from one position to the next */
    int64_t run;               /* elements behind the axes */
    int64_t begin, end;        /* of the last axis: positions that come in one piece */
} pad_form;

/* `y`: the output's shape. */
pad_form pad_form_of(const pad_attr *p, const graph_shape *y);

/* Where the positions of an axis of the form come from: elements into the input, -1: filled. */
int64_t *pad_form_sources(arena *a, const pad_form *f, const pad_attr *p, int32_t axis);

#endif
