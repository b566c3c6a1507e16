/*
 * Sharpness-aware minimization (Foret et al., 2021): the gradient is taken where the loss is worst nearby.
 *
 *     e = rho g / (|g| + 1e-12)      g the gradient at the weights w, |g| its norm over all parameters
 *     what servers get               the gradient at w + e
 *
 * and adaptively (Kwon et al., 2021) e = rho w^2 g / (|w g| + 1e-12), element by element. All of it is nodes of one
 * graph: forward, its gradient, w + e, the nodes of forward that depend on w once more over w + e, and their
 * gradient. So every backend computes it, and the plan knows its memory: one copy of the parameters more.
 *
 * The second pass has the attributes of the first, and so its masks of dropout; what does not depend on parameters
 * that move is computed once. Running statistics, the loss and what else is kept are the first pass's.
 *
 * For backward.c alone. Threads: as graph.h.
 */
#ifndef TEQUIO_GRAPH_SAM_H
#define TEQUIO_GRAPH_SAM_H

#include "graph/chain.h"

typedef struct sam_pass {
    graph_val loss;             /* of the second pass; the first one's if no parameter that moves leads to it */
    value_range constant;       /* through which its gradient does not go */
} sam_pass;

/* Appends all but the second pass's gradient. */
MUST_USE status sam_append(graph *g, graph_val loss, graph_val weight, const graph_sam *sam, sam_pass *ret, error *err);

#endif
