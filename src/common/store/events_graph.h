/*
 * A graph as TensorBoard's tab of graphs reads it: TensorFlow's GraphDef, with what its nodes give.
 * Threads: as events.h.
 */
#ifndef TEQUIO_COMMON_STORE_EVENTS_GRAPH_H
#define TEQUIO_COMMON_STORE_EVENTS_GRAPH_H

#include "common/base/dtype.h"
#include "common/store/events.h"

typedef struct events_tensor {
    dtype type;
    int32_t rank;
    const int64_t *dim;         /* [rank] */
} events_tensor;

typedef struct events_node {
    const char *name, *op;      /* a '/' in a name is a level of what is folded together */
    const char *const *inputs;  /* [n_inputs] names of nodes; "NAME:1" of another output than the first */
    size_t n_inputs;
    const events_tensor *outputs;
    size_t n_outputs;
} events_node;

void events_graph(events *e, const events_node *nodes, size_t n);

#endif
