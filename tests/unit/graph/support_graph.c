#include "unit/graph/support_graph.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

static void must(status st, const error *err)
{
    if (st != OK)
        fail_msg("%s: %s", status_name(st), err->text);
}

graph *make_graph(void)
{
    graph *g;
    error err = ERROR_INIT;
    must(graph_create(&g, &err), &err);
    return g;
}

graph_val make_input(graph *g, const char *name, dtype t, graph_shape shape)
{
    graph_val v;
    error err = ERROR_INIT;
    must(graph_input(g, name, t, shape, &v, &err), &err);
    return v;
}

graph_val make_param(graph *g, const char *name, tensor_kind kind, graph_shape shape)
{
    tensor_decl decl = {.name = name, .rank = shape.rank, .kind = kind};
    for (int32_t i = 0; i < shape.rank; i++)
        decl.dim[i] = shape.dim[i];
    graph_val v;
    error err = ERROR_INIT;
    must(graph_param(g, &decl, &v, &err), &err);
    return v;
}

graph_val make_node(graph *g, graph_op op, const char *name, const graph_val *in, size_t n_in,
                    const void *attr)
{
    graph_val out;
    error err = ERROR_INIT;
    must(graph_add_1(g, op, name, in, (int32_t)n_in, attr, &out, &err), &err);
    return out;
}

graph_val make_loss(graph *g, graph_val v)
{
    graph_val loss = make_node(g, OP_REDUCE_MEAN, "loss", IN(v), &(reduce_attr){.drop_dims = true});
    graph_keep(g, loss);
    return loss;
}

void make_backward(graph *g, graph_val loss)
{
    graph_val weight = make_input(g, "weight", DT_F32, DIMS(1));
    error err = ERROR_INIT;
    must(graph_backward(g, loss, weight, &err), &err);
}

int32_t count_ops(const graph *g, graph_op op)
{
    int32_t n = 0;
    for (int32_t i = 0; i < graph_n_nodes(g); i++)
        n += graph_node_at(g, i)->op == op;
    return n;
}

void assert_shape(const graph *g, graph_val v, const char *text)
{
    char buffer[SHAPE_TEXT];
    assert_int_not_equal(v, GRAPH_NONE);
    assert_string_equal(graph_shape_text(&graph_value_at(g, v)->shape, buffer, sizeof buffer),
                        text);
}

void assert_refused(graph *g, graph_op op, const char *name, const graph_val *in, size_t n_in,
                    const void *attr, const char *text)
{
    int32_t n_nodes = graph_n_nodes(g), n_values = graph_n_values(g);
    graph_val out;
    error err = ERROR_INIT;
    assert_int_equal(graph_add_1(g, op, name, in, (int32_t)n_in, attr, &out, &err), E_CONFIG);
    assert_string_equal(err.text, text);
    assert_int_equal(graph_n_nodes(g), n_nodes);
    assert_int_equal(graph_n_values(g), n_values);
}

flat *make_flat(const graph *g)
{
    size_t n = (size_t)graph_n_params(g);
    if (n == 0)
        return NULL;
    graph_val *order = xcalloc(n, sizeof *order);
    tensor_decl *decls = xcalloc(n, sizeof *decls);
    graph_param_order(g, order);
    for (size_t i = 0; i < n; i++)
        decls[i] = *graph_value_at(g, order[i])->param;
    flat *f;
    error err = ERROR_INIT;
    must(flat_create(decls, n, &f, &err), &err);
    free(order);
    free(decls);
    return f;
}

/* Random graphs: operators are tried on random values, and those that do not fit are refused. */

typedef struct dice {
    rng stream;
    uint64_t thrown;
} dice;

static int64_t throw_dice(dice *d, int64_t sides)
{
    return (int64_t)rng_below(&d->stream, d->thrown++, (uint64_t)sides);
}

/* Any value but a second output: through these no gradient flows. */
static graph_val pick(const graph *g, dice *d)
{
    for (;;) {
        graph_val v = (graph_val)throw_dice(d, graph_n_values(g));
        int32_t def = graph_value_at(g, v)->def;
        if (def == GRAPH_NONE || graph_node_at(g, def)->out[0] == v)
            return v;
    }
}

static graph_shape random_shape(dice *d, int64_t side)
{
    switch (throw_dice(d, 6)) {
    case 0:
        return DIMS(side);
    case 1:
        return DIMS(side, 1);
    case 2:
        return DIMS(2, side / 2, side);
    default:
        return DIMS(side, side);
    }
}

static void add_outer(graph *g, dice *d, int64_t side, int32_t number)
{
    static const tensor_kind kinds[] = {TENSOR_TRAINABLE, TENSOR_TRAINABLE, TENSOR_TRAINABLE,
                                        TENSOR_FROZEN, TENSOR_STATE};
    char name[32];
    snprintf(name, sizeof name, "outer%d", (int)number);
    if (throw_dice(d, 5) == 0)
        make_input(g, name, DT_F32, random_shape(d, side));
    else
        make_param(g, name, kinds[throw_dice(d, 5)], random_shape(d, side));
}

static status try_batch_norm(graph *g, dice *d, graph_val x, int64_t side, int32_t number,
                             graph_val *out, error *err)
{
    graph_val in[5] = {x};
    char name[32];
    for (int i = 1; i < 5; i++) {
        snprintf(name, sizeof name, "bn%d.%d", (int)number, i);
        in[i] = make_param(g, name, i < 3 ? TENSOR_TRAINABLE : TENSOR_STATE, DIMS(side));
    }
    return graph_add(g, OP_BATCH_NORMALIZATION, NULL, in, 5,
                     &(batch_norm_attr){.training = throw_dice(d, 3) > 0}, out, err);
}

/* What is tried on a random value, and with it on the others an operator takes. */
static const struct attempt {
    graph_op op;
    int32_t n_in;
    const void *attr;
} attempts[] = {
    {OP_ADD, 2, NULL},
    {OP_ADD, 2, NULL},
    {OP_SUB, 2, NULL},
    {OP_MUL, 2, NULL},
    {OP_DIV, 2, NULL},
    {OP_RELU, 1, NULL},
    {OP_RELU, 1, NULL},
    {OP_TANH, 1, NULL},
    {OP_SIGMOID, 1, NULL},
    {OP_GELU, 1, NULL},
    {OP_IDENTITY, 1, NULL},
    {OP_SOFTMAX, 1, &(const axis_attr){0}},
    {OP_LOG_SOFTMAX, 1, &(const axis_attr){-1}},
    {OP_MATMUL, 2, NULL},
    {OP_MATMUL, 2, &(const matmul_attr){.trans_a = true}},
    {OP_MATMUL, 2, &(const matmul_attr){.trans_b = true}},
    {OP_GEMM, 3, NULL},
    {OP_GEMM, 2, &(const gemm_attr){GEMM_UNSCALED, .trans_a = true}},
    {OP_GEMM, 3, &(const gemm_attr){.trans_b = true, .alpha = 2, .beta = 1}},
    {OP_RESHAPE, 1, &(const shape_attr){.shape = {.rank = 1, .dim = {-1}}}},
    {OP_RESHAPE, 1, &(const shape_attr){.shape = {2, {0, -1}}, .zero_copies = true}},
    {OP_RESHAPE, 1, &(const shape_attr){.shape = {.rank = 2, .dim = {-1, 4}}}},
    {OP_FLATTEN, 1, &(const axis_attr){0}},
    {OP_CONCAT, 1, &(const axis_attr){0}},
    {OP_CONCAT, 2, &(const axis_attr){0}},
    {OP_TRANSPOSE, 1, &(const transpose_attr){.reverse = true}},
    {OP_REDUCE_MEAN, 1, &(const reduce_attr){.n_axes = 1}},
    {OP_REDUCE_SUM, 1, &(const reduce_attr){.n_axes = 1, .drop_dims = true}},
    {OP_EXPAND, 1, &(const shape_attr){.shape = {.rank = 3, .dim = {2, 1, 1}}}},
    {OP_SLICE, 1, &(const slice_attr){.n_axes = 1, .begin = {1}, .end = {INT64_MAX}, .step = {1}}},
    {OP_SLICE, 1, &(const slice_attr){.n_axes = 1, .begin = {1}, .end = {-1}, .step = {1}}},
    {OP_DROPOUT, 2, &(const dropout_attr){.ratio = 0.5f}},
    {OP_BATCH_NORMALIZATION, 5, NULL},
};

/* One attempt; true if a node was added. */
static bool try_node(graph *g, dice *d, int64_t side, int32_t number)
{
    const struct attempt *t = &attempts[throw_dice(d, COUNT_OF(attempts))];
    graph_val in[3] = {pick(g, d), pick(g, d), pick(g, d)}, out[3];
    graph_shape s = graph_value_at(g, in[0])->shape;
    error err = ERROR_INIT;
    for (int i = 0; i < 3; i++) {
        if (graph_value_at(g, in[i])->dtype != DT_F32)
            return false;
    }
    if (t->op != OP_SLICE && graph_shape_elements(&s) > 4 * side * side)
        return false;
    if (t->op == OP_BATCH_NORMALIZATION)
        return s.rank >= 2 && s.dim[1] == side &&
               try_batch_norm(g, d, in[0], side, number, out, &err) == OK;
    if (t->op == OP_DROPOUT)
        in[1] = graph_find(g, "batch.id");
    return graph_add(g, t->op, NULL, in, t->n_in, t->attr, out, &err) == OK;
}

/* The sum of the means of the last values, so that most of the graph matters. */
static graph_val random_loss(graph *g)
{
    graph_val sum = GRAPH_NONE;
    int32_t n_nodes = graph_n_nodes(g);
    for (int32_t i = n_nodes > 6 ? n_nodes - 6 : 0; i < n_nodes; i++) {
        graph_val v = graph_node_at(g, i)->out[0];
        v = make_node(g, OP_REDUCE_MEAN, NULL, IN(v), &(reduce_attr){.drop_dims = true});
        sum = sum == GRAPH_NONE ? v : make_node(g, OP_ADD, NULL, IN(sum, v), NULL);
    }
    return make_loss(g, sum);
}

graph *random_graph(uint64_t seed, int32_t n_nodes, int64_t side, bool with_backward)
{
    dice d = {.stream = rng_make(seed, RNG_TEST, 0)};
    graph *g = make_graph();
    make_input(g, "batch.id", DT_I64, DIMS(1));
    make_input(g, "x", DT_F32, DIMS(side, side));
    make_param(g, "w", TENSOR_TRAINABLE, DIMS(side, side));
    for (int32_t i = 0; i < 5; i++)
        add_outer(g, &d, side, i);
    for (int32_t added = 0; added < n_nodes;)
        added += try_node(g, &d, side, added);
    for (int i = 0; i < 3; i++) {
        graph_val v = pick(g, &d);
        if (graph_value_at(g, v)->kind == VAL_TEMP)
            graph_keep(g, v);
    }
    graph_val loss = random_loss(g);
    if (with_backward)
        make_backward(g, loss);
    return g;
}
