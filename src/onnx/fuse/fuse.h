/*
 * Patterns that exporters write out although an operator of their own exists. Each matcher is asked
 * at the last node of its pattern, looks back from there, and says what the node becomes; inner
 * nodes die because nobody reads them any more. A pattern whose inner values are read from outside
 * does not match. Only for this folder and rewrite.c. Threads: pure.
 */
#ifndef TEQUIO_ONNX_FUSE_FUSE_H
#define TEQUIO_ONNX_FUSE_FUSE_H

#include "graph/attrs.h"
#include "onnx/fuse/look.h"

enum { FUSED_IN = 5 };

/* What a node becomes. */
typedef struct fusion {
    bool matched;
    graph_op op;
    int32_t n_in;
    graph_val in[FUSED_IN];
    transpose_attr transposed[FUSED_IN]; /* input i goes through this first, */
    bool transposes[FUSED_IN];           /* if so */
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

typedef bool match_fn(const fuser *f, const graph_node *n, fusion *ret);
match_fn fuse_heads, fuse_attention, fuse_average_pool, fuse_layer_norm, fuse_gelu, fuse_linear,
    fuse_matmul;

/* The first match for a node. */
bool fuse_node(const fuser *f, const graph_node *n, fusion *ret);

#endif
