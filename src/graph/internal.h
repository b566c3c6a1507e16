/* The inside of a graph, for graph.c, backward.c and precision.c alone. Threads: as graph.h. */
#ifndef TEQUIO_GRAPH_INTERNAL_H
#define TEQUIO_GRAPH_INTERNAL_H

#include "graph/graph.h"
#include "graph/names.h"
#include "graph/precision.h"

struct graph {
    arena *arena;
    graph_value *values;
    int32_t n_values, cap_values;
    graph_node *nodes;
    int32_t n_nodes, cap_nodes;
    names value_names, node_names;
    graph_shape *out_shapes; /* of the node that is being added */
    dtype *out_dtypes;
    int32_t cap_out_shapes, cap_out_dtypes;
    const char *prefix; /* names of unnamed nodes begin with it; NULL outside backward */
    bool has_backward;
    graph_precision precision;
};

/* Builds both tables of names anew, after nodes and values were moved. */
void graph_reindex(graph *g);

#endif
