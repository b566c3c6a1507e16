/*
 * One operator through both engines: what the GPU makes must have the CPU's bits; any NaN is as
 * good as another.
 */
#ifndef TEQUIO_TESTS_CUDA_EMU_BACKEND_SUPPORT_BOTH_H
#define TEQUIO_TESTS_CUDA_EMU_BACKEND_SUPPORT_BOTH_H

#include "exec/exec.h"
#include "graph/attrs.h"

enum { BOTH_OPERANDS = 4, BOTH_ROWS = 8 };

typedef struct both_operand {
    dtype type;
    graph_shape shape;
    const int64_t *picks; /* [BOTH_ROWS]: indices, which name each row so often, in turns; or NULL */
} both_operand;

typedef struct both_case {
    const char *name;
    graph_op op;
    int32_t n_in;
    both_operand in[BOTH_OPERANDS];
    const void *attr;
} both_case;

/* For rows of cases: an operand of that shape, attributes. */
#define NAMING(picks, ...)                                                                         \
    {DT_I64, {sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), {__VA_ARGS__}}, picks}
#define PICKS(...) ((const int64_t[BOTH_ROWS]){__VA_ARGS__})
#define OPERAND(type, ...)                                                                         \
    {type, {sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), {__VA_ARGS__}}, NULL}
#define F32(...)  OPERAND(DT_F32, __VA_ARGS__)
#define I64(...)  OPERAND(DT_I64, __VA_ARGS__)
#define I32(...)  OPERAND(DT_I32, __VA_ARGS__)
#define U8(...)   OPERAND(DT_U8, __VA_ARGS__)
#define BOOL(...) OPERAND(DT_BOOL, __VA_ARGS__)
#define ATTR(type, ...) (&(type){__VA_ARGS__})

void must(status st, const error *err);
exec *both_engine(const backend_ops *ops, const graph *g, const flat *f);

/* A graph of that one node, named "y", of inputs "0", "1", ...; all its outputs are kept. With
 * `amid` what it may take the place of, a float, is made by another node, and the first output is
 * read by one, "end", instead of kept. */
graph *both_graph(const both_case *c, bool amid);

/* Fills input i of the case's graph: floats that repeat and are anything, whole numbers from -9 to
 * 9. What an operator of graph/index_positions.h takes for indices names positions, from either
 * end. Beside `picks` floats are near 1, so that sums and products of many are still told apart. */
void both_fill(const both_case *c, const graph *g, exec *e);

/* Runs the case twice in every frame it fits, and compares every output. */
void assert_both_agree(const both_case *c);
/* ... with that many threads on the CPU. */
void assert_both_agree_on(const both_case *c, int threads);

#endif
