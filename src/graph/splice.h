/*
 * Nodes put between nodes that are there already, before graph_backward.
 * Threads: as graph.h.
 */
#ifndef TEQUIO_GRAPH_SPLICE_H
#define TEQUIO_GRAPH_SPLICE_H

#include "graph/graph.h"

/* May add nodes, which then stand right behind `n`, and say in *ret what is read from here on in place of its
 * output 0. */
typedef status graph_splice_fn(graph *g, const graph_node *n, graph_val *ret, void *arg, error *err);

/* Of every node in order. `ret_now[v]`, of as many values as there were, is what is read in place of v. On failure the
 * graph is good for nothing but graph_destroy. */
MUST_USE status graph_splice(graph *g, graph_splice_fn *behind, void *arg, graph_val *ret_now, error *err);

#endif
