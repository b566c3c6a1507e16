/*
 * What losses are built of: single nodes, and the mean in which each of them ends.
 *
 * A loss gives terms: what each label costs, and how much each counts. The mean over them is the same for all, and so
 * are weights of examples (model.sample_weights).
 * Threads: as layers.h.
 */
#ifndef TEQUIO_MODEL_LOSS_BUILD_H
#define TEQUIO_MODEL_LOSS_BUILD_H

#include "model/layers.h"

typedef struct loss_terms {
    graph_val each;   /* f32, a number for each label; axis 0 is the batch's, or all rows of it */
    graph_val counts; /* f32 of the same shape, 0 for a label that does not count; GRAPH_NONE: each counts 1 */
    graph_shape labels; /* [batch, d...], as many as there are numbers */
    bool is_part;     /* their mean is a part of the loss, and not called so */
} loss_terms;

const graph_shape *loss_shape_of(const net *n, graph_val v);

/* An operator of two operands without attributes. */
MUST_USE status loss_two(net *n, graph_op op, graph_val a, graph_val b, graph_val *ret, error *err);
/* v op number */
MUST_USE status loss_by(net *n, graph_op op, graph_val v, double number, graph_val *ret, error *err);
MUST_USE status loss_sum(net *n, graph_val v, graph_val *ret, error *err);
/* One operand, no attributes. */
MUST_USE status loss_one(net *n, graph_op op, graph_val v, graph_val *ret, error *err);

/* Lin et al. 2017: *each times `wrong` to the power of model.focal_gamma; `wrong` is 1 less the probability of what is
 * right, of the same shape. Nothing where there is no gamma. */
MUST_USE status loss_focus(net *n, graph_val wrong, graph_val *each, error *err);

/* model.class_weights as a constant, GRAPH_NONE if there are none. E_CONFIG: not as many as classes. */
MUST_USE status loss_class_weights(net *n, int64_t classes, graph_val *ret, error *err);
/* The sum over classes, axis 1, of the logarithms of probabilities, times `by` [C] if that is there. */
MUST_USE status loss_sum_of_classes(net *n, graph_val log_probs, graph_val by, graph_val *ret, error *err);

/* The loss, by that name: the sum of the terms by that of what they count, examples by their weights. 0 where nothing
 * counts. */
MUST_USE status loss_mean(net *n, loss_terms t, graph_val *ret, error *err);

/* How many labels [N,d...] have the largest of the scores [N,C,d...], and how many count: kept. */
MUST_USE status loss_count_right(net *n, graph_val scores, graph_val labels, const accuracy_attr *attr, error *err);

/* E_CONFIG that names the output and both shapes. `wanted` says in words what would be right, `remedy` what else may
 * help. */
MUST_USE status loss_misfit(const net *n, graph_val scores, graph_val labels, const char *wanted, const char *remedy,
                            error *err);

/* Predictions and labels of one shape: the labels', whose ones may be missing. */
MUST_USE status loss_match(net *n, graph_val *prediction, graph_val label, error *err);

/* --- the kinds of losses; each as loss_add_fn --- */

typedef status loss_add_fn(net *n, const net_outputs *o, const graph_val *label, graph_val *ret, error *err);

loss_add_fn loss_cross_entropy, loss_span;              /* classes.c */
loss_add_fn loss_dependencies;                          /* dependencies.c */
loss_add_fn loss_binary_cross_entropy;                  /* binary.c */
loss_add_fn loss_mean_squared_error, loss_own_output;   /* numbers.c */

/* Scores [N,C,d...] and as many probabilities, the labels (probabilities.c). */
MUST_USE status loss_of_probabilities(net *n, graph_val scores, graph_val labels, graph_shape batch, graph_val *ret,
                                      error *err);

#endif
