/*
 * A part of a sketch, as a model: some nodes are left out, and what they made is given instead, by
 * weights or constants of the same values; some terms are outputs; what these do not need is dead.
 * A failure is narrowed down to the least part that shows it. Threads: one at a time.
 */
#ifndef TEQUIO_TESTS_DIFFERENTIAL_VIEW_H
#define TEQUIO_TESTS_DIFFERENTIAL_VIEW_H

#include "differential/emit.h"

typedef struct view {
    sketch *s;
    bool dropped[SKETCH_NODES], output[SKETCH_TERMS]; /* as chosen */
    bool live_node[SKETCH_NODES], live[SKETCH_TERMS]; /* what follows from that */
} view;

/* All of a sketch. Outputs are what no node reads, and a few others. */
void view_init(view *v, sketch *s);
/* After `dropped` or `output` were changed. */
void view_settle(view *v);

int view_nodes(const view *v); /* live ones */
int view_outputs(const view *v);

/* What stands in the file for a live term. */
term_kind view_kind(const view *v, int32_t t);
void view_emit(const view *v, emitter *e);

/* The loss: the sum over outputs of what they are times these, a fixed one for each element. */
float view_mix(int32_t t, int64_t i);
bool view_counts(const view *v, int32_t t); /* whether it is in the loss */

/* All live terms at POINT_WORK, with weight w moved by `step` along its direction. */
void view_evaluate(view *v, int32_t w, double step, int noise);
/* The derivative of the loss along the direction of w, by a central difference, and how large the
 * loss's terms are. */
double view_derivative(view *v, int32_t w, int noise);
double view_loss_scale(const view *v);

#endif
