/*
 * Looking back in a graph from the last node of a pattern: what makes a value, and who else reads it.
 * Only for this folder. Threads: pure.
 */
#ifndef TEQUIO_ONNX_FUSE_LOOK_H
#define TEQUIO_ONNX_FUSE_LOOK_H

#include "graph/graph.h"

typedef struct fuser {
    const graph *g;
    const int32_t *readers; /* of each value; outputs of the model count */
} fuser;

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
