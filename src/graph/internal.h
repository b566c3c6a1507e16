/* The inside of a graph, for graph.c, add.c, splice.c, chain.c, backward.c, sam.c, precision.c and
 * recompute_graph.c alone. Threads: as graph.h. */
#ifndef TEQUIO_GRAPH_INTERNAL_H
#define TEQUIO_GRAPH_INTERNAL_H

#include "graph/graph.h"
#include "graph/names.h"

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
    int32_t n_forward;    /* nodes, where it has backward */
    graph_val *originals; /* [n_values]; NULL: no value is a copy (recompute.h) */
    graph_precision precision;
    bool half_weight_gradients;
    bool library_dropout;
};

/* What is wrong with a tensor of this shape, "has a negative axis"; NULL if it can exist: no size is
 * negative and its bytes can be counted, even if an axis of 0 had one element: strides are products
 * of the others. */
const char *graph_shape_defect(const graph_shape *s, dtype t);

/* Copies `value`, whose name nothing else has. */
graph_val graph_append_value(graph *g, const graph_value *value);

/* A node that was in the list before; its outputs are made here from now on. */
void graph_append_node(graph *g, const graph_node *n);

/* `base` if it is free, otherwise with a number behind it. */
const char *graph_free_name(graph *g, const names *taken, const char *base, int32_t number);

/* Builds both tables of names anew, after nodes and values were moved. */
void graph_reindex(graph *g);

#endif
