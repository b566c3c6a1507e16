/* Building graphs in tests: every call must succeed, or must be refused with exactly this text. */
#ifndef TEQUIO_TESTS_UNIT_GRAPH_SUPPORT_GRAPH_H
#define TEQUIO_TESTS_UNIT_GRAPH_SUPPORT_GRAPH_H

#include "common/base/rng.h"
#include "graph/attrs.h"
#include "graph/graph.h"

#define DIMS(...)                                                                                  \
    (graph_shape)                                                                                  \
    {                                                                                              \
        .rank = sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), .dim = { __VA_ARGS__ }         \
    }
#define SCALAR ((graph_shape){.rank = 0})
#define IN(...)                                                                                    \
    (const graph_val[]){__VA_ARGS__}, sizeof((graph_val[]){__VA_ARGS__}) / sizeof(graph_val)

graph *make_graph(void);
graph_val make_input(graph *g, const char *name, dtype t, graph_shape shape);
graph_val make_param(graph *g, const char *name, tensor_kind kind, graph_shape shape);
graph_val make_node(graph *g, graph_op op, const char *name, const graph_val *in, size_t n_in,
                    const void *attr);      /* output 0 */
graph_val make_loss(graph *g, graph_val v); /* the mean of a value, kept, called "loss" */
void make_backward(graph *g, graph_val loss);   /* with an input "weight" */

int32_t count_ops(const graph *g, graph_op op);

void assert_shape(const graph *g, graph_val v, const char *text);
void assert_refused(graph *g, graph_op op, const char *name, const graph_val *in, size_t n_in,
                    const void *attr, const char *text);

/* The flat vector of a graph's parameters in their order; NULL when it has none. */
flat *make_flat(const graph *g);

/* A random net of about n_nodes operators over tensors of about side x side elements, with
 * parameters (shared and unused ones too), kept values and, if asked, backward. */
graph *random_graph(uint64_t seed, int32_t n_nodes, int64_t side, bool with_backward);

#endif
