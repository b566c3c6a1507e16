/*
 * A whole graph as a part of another one, as of a model that is asked and not trained: its inputs are values that are
 * there, its parameters become constants. Threads: as graph.h.
 */
#ifndef TEQUIO_GRAPH_INLINE_H
#define TEQUIO_GRAPH_INLINE_H

#include "graph/graph.h"

typedef struct graph_inlined {
    const graph *from;              /* without backward */
    const char *prefix;             /* values and nodes are called by their names behind it: "teacher." */
    const graph_val *inputs;        /* [values of from]: what stands for each input */
    const float *const *params;     /* [values of from]: the elements of each parameter, copied */
} graph_inlined;

/* ret[values of from]: what each has become; of what is absent GRAPH_NONE. E_CONFIG names a doubled name. */
MUST_USE status graph_inline(graph *g, const graph_inlined *what, graph_val *ret, error *err);

#endif
