/*
 * Which parameters the configuration takes out of training or puts into a group of the optimizer, by patterns of names
 * (name_patterns.h). Pure functions.
 */
#ifndef TEQUIO_MODEL_GROUPS_H
#define TEQUIO_MODEL_GROUPS_H

#include "common/base/buf.h"
#include "common/config/config.h"
#include "graph/graph.h"

/* Before graph_backward. `model` is the section of that name, `no_grad` the list trainer.no_grad, `optimizer` the
 * section trainer.optimizer; the latter two may be NULL. A parameter of two groups is E_CONFIG. */
MUST_USE status groups_assign(graph *g, const config *model, const json_t *no_grad, const json_t *optimizer,
                              error *err);

/* Expressions of a whole configuration that no parameter of its graph matches, one behind the other; nothing:
 * all match. */
MUST_USE status groups_unmatched(const config *job, const graph *g, buf *ret, error *err);

#endif
