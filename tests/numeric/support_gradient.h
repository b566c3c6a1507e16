/* A graph and the graph of its gradient, on a lane of the backend under test. */
#ifndef TEQUIO_TESTS_NUMERIC_SUPPORT_GRADIENT_H
#define TEQUIO_TESTS_NUMERIC_SUPPORT_GRADIENT_H

#include "numeric/support_cases.h"
#include "numeric/support_lane.h"
#include "numeric/support_reference.h"

/* Of the slot in its step: scales every gradient. */
static const double GRADIENT_WEIGHT = 0.75;

typedef struct gradient {
    const char *name, *frame;
    bool is_empty; /* an operand is: what nothing depends on has a gradient of exactly 0 */
    graph *forward, *backward;
    graph_val loss;       /* of forward */
    reference *reference; /* of forward: inputs and parameters are filled */
    lane lane;            /* of backward */
} gradient;

/* The sum, named "loss", of y's elements times as many factors: each is the gradient of one element. */
graph_val gradient_loss(graph *g, graph_val y, const float *factors);

/* Appends an input `weight` and what backward appends for `loss`. */
void gradient_append(graph *g, graph_val loss);

/* The reference's inputs and parameters, and the weight, to a lane of s->backward. */
void gradient_fill(const gradient *s, lane *l);

#endif
