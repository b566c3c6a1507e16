/*
 * Patterns that exporters write out although an operator of their own exists. Each matcher is asked
 * at the last node of its pattern, looks back from there, and says what the node becomes; inner
 * nodes die because nobody reads them any more. A pattern whose inner values are read from outside
 * does not match. Only for this folder and rewrite.c. Threads: pure.
 */
#ifndef TEQUIO_ONNX_FUSE_FUSE_H
#define TEQUIO_ONNX_FUSE_FUSE_H

#include "common/base/alloc.h"
#include "graph/attrs.h"
#include "graph/graph.h"

enum { FUSED_IN = 5 };

/* What a node becomes. */
typedef struct fusion {
    bool matched;
    graph_op op;
    int32_t n_in;
    graph_val in[FUSED_IN];
    transpose_attr turned[FUSED_IN]; /* input i goes through this first, */
    bool turns[FUSED_IN];            /* if so */
    bool negates[FUSED_IN];          /* input i is a condition, and its contrary is meant */
    graph_val addend[FUSED_IN];      /* input i and this are added, */
    bool adds[FUSED_IN];             /* if so */
    bool as_rows;                    /* input 0 goes in as a matrix, the output comes back from one */
    union {
        gemm_attr gemm;
        matmul_attr matmul;
        gelu_attr gelu;
        row_norm_attr norm;
        attention_attr attention;
    } attr;
} fusion;

typedef struct fuser {
    const graph *g;
    const int32_t *readers; /* of each value; outputs of the model count */
} fuser;

typedef bool match_fn(const fuser *f, const graph_node *n, fusion *ret);
match_fn fuse_heads, fuse_attention, fuse_average_pool, fuse_layer_norm, fuse_gelu, fuse_linear,
    fuse_matmul;

/* The first match for a node. */
bool fuse_node(const fuser *f, const graph_node *n, fusion *ret);

/* --- looking back --- */

const graph_value *fuse_value(const fuser *f, graph_val v);
/* The node of that operator that makes the value, NULL if another does. */
const graph_node *fuse_maker(const fuser *f, graph_val v, graph_op op);
/* The same, if nobody else reads the value. */
const graph_node *fuse_inner(const fuser *f, graph_val v, graph_op op);
/* Of two inputs the one that is a constant number, and the other; false if none is. */
bool fuse_constant(const fuser *f, const graph_node *n, double *ret_number, graph_val *ret_other);
bool fuse_number(const fuser *f, graph_val v, double *ret);
/* But for the sixth digit, where somebody wrote so many, and what float32 made of it. */
bool fuse_is_near(double x, double wanted);
/* A number may have axes that it gives to what it is combined with: [1,1,1] and [4,6] make [1,4,6]. */
bool fuse_same_shape(const fuser *f, graph_val a, graph_val b);

/* A product as its factors: through inner MULs, and DIVs by constants. Returns how many values; the
 * constants are multiplied into *ret_scale. -1: more than `most`. */
int32_t fuse_factors(const fuser *f, graph_val v, graph_val *ret, int32_t most, double *ret_scale);

#endif
