/*
 * Groups of nodes that are one kernel: which are found, and that what they make are the bits of the
 * kernels alone.
 */
#include "cuda_emu/kernel_test.h"

#include "backend/cuda/cuda.h"
#include "common/base/alloc.h"
#include "common/base/rng.h"
#include "cuda_emu/backend/support_both.h"
#include "cuda_emu/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INPUTS = 6, NODES = 16, OPERANDS = 5, NONE = -1 };

/* Output o of node k; smaller numbers are the graph's inputs. */
#define OUT(k, o) (INPUTS + 4 * (k) + (o))
#define Y(k)      OUT(k, 0)

/* A graph of a few nodes. Those that nobody reads are kept, and those marked. */
typedef struct scene {
    const char *name;
    struct {
        dtype type;
        graph_shape shape;
    } in[INPUTS];
    struct {
        graph_op op;
        int n_in, in[OPERANDS];
        const void *attr;
        bool is_kept;
    } node[NODES];
    int n_nodes;
    unsigned saved; /* kernels of a run */
} scene;

static const cast_attr to_bf16 = {.to = DT_BF16}, to_f16 = {.to = DT_F16};
static const dropout_attr half = {.ratio = 0.5f, .seed = 3, .stream = 9};

#define ONE(op, a)                                                                                 \
    {                                                                                              \
        OP_##op, 1, {a}, NULL, false                                                               \
    }
#define TWO(op, a, b)                                                                              \
    {                                                                                              \
        OP_##op, 2, {a, b}, NULL, false                                                            \
    }
#define THREE(op, a, b, c)                                                                         \
    {                                                                                              \
        OP_##op, 3, {a, b, c}, NULL, false                                                         \
    }
#define WITH(op, n, attr, ...)                                                                     \
    {                                                                                              \
        OP_##op, n, {__VA_ARGS__}, attr, false                                                     \
    }

static const scene chains[] = {
    {"one behind the other",
     {F32(6, 8), F32(6, 8), F32(8), F32(6, 1)},
     {ONE(RELU, 0), TWO(ADD, Y(0), 1), TWO(MUL, 2, Y(1)), TWO(SUB, 3, Y(2)), ONE(TANH, Y(3))},
     5,
     4},
    {"odd sizes",
     {F32(5, 7), F32(5, 7), F32(7), F32(5, 1)},
     {ONE(EXP, 0), TWO(DIV, Y(0), 1), TWO(MUL, 2, Y(1)), TWO(SUB, 3, Y(2))},
     4,
     3},
    {"one channel between", {F32(2, 3, 4), F32(3, 1)}, {TWO(ADD, 0, 1), ONE(RELU, Y(0))}, 2, 1},
    {"a middle axis stays",
     {F32(2, 3, 4), F32(2, 1, 4)},
     {ONE(RELU, 0), TWO(ADD, Y(0), 1), ONE(NEG, Y(1))},
     3,
     0},
    {"a copy of what is stored rounded",
     {F32(3, 40)},
     {ONE(GELU, 0), ONE(ABS, Y(0)), WITH(TO_HALF, 1, &to_bf16, Y(1))},
     3,
     1},
    {"a rounded copy beside",
     {F32(40), F32(40)},
     {ONE(GELU, 0), WITH(TO_HALF, 1, &to_f16, Y(0)), ONE(ABS, Y(0)), TWO(RELU_BWD, 1, Y(1))},
     4,
     2},
    {"a rounded copy alone", {F32(3, 40)}, {WITH(TO_HALF, 1, &to_bf16, 0)}, 1, 0},
    {"a gradient of what was rounded",
     {F32(40), F32(40)},
     {WITH(TO_HALF, 1, &to_bf16, 0), TWO(RELU_BWD, 1, Y(0)), ONE(NEG, Y(1))},
     3,
     1},
    {"a value that others read behind",
     {F32(50), F32(50)},
     {ONE(RELU, 0), TWO(ADD, Y(0), 1), ONE(SIN, Y(0))},
     3,
     1},
    {"a value that others read before",
     {F32(5, 5)},
     {ONE(RELU, 0), ONE(SOFTMAX, Y(0)), TWO(ADD, Y(0), Y(1))},
     3,
     0},
    {"what is kept is not waited for",
     {F32(9)},
     {{OP_RELU, 1, {0}, NULL, true}, ONE(NEG, Y(0))},
     2,
     0},
    {"a number twice", {F32(9)}, {ONE(RELU, 0), TWO(MUL, Y(0), Y(0))}, 2, 0},
    {"the source twice", {F32(9)}, {TWO(MUL, 0, 0), ONE(NEG, Y(0))}, 2, 1},
    {"views between",
     {F32(2, 4, 8), F32(4, 8), I64(1)},
     {TWO(ADD, 0, 1), ONE(FLATTEN, Y(0)), ONE(RELU, Y(1)), WITH(DROPOUT, 2, &half, Y(2), 2)},
     4,
     2},
    {"a view that others read",
     {F32(2, 4, 8)},
     {ONE(RELU, 0), ONE(FLATTEN, Y(0)), ONE(NEG, Y(1)), ONE(SIN, Y(1))},
     4,
     0},
    {"masks",
     {F32(33), F32(33), I64(1)},
     {WITH(DROPOUT, 2, &half, 0, 2), TWO(ADD, OUT(0, 0), 1),
      WITH(DROPOUT_BWD, 2, &half, 0, OUT(0, 1)), ONE(RELU, Y(2))},
     4,
     2},
    {"choices",
     {F32(30), F32(30), BOOL(30), F32(30)},
     {ONE(RELU, 0), THREE(WHERE, 2, 1, Y(0)), THREE(MAX_BWD, 3, Y(1), 0), ONE(NEG, Y(2))},
     4,
     3},
    {"wide functions stay alone",
     {F32(30)},
     {ONE(RELU, 0), ONE(SIN, Y(0)), ONE(NEG, Y(1))},
     3,
     0},
    {"nothing of nothing", {F32(0, 3)}, {ONE(RELU, 0), ONE(NEG, Y(0))}, 2, 0},
    {"more than a chain takes",
     {F32(12)},
     {ONE(RELU, 0), ONE(NEG, Y(0)), ONE(ABS, Y(1)), ONE(NEG, Y(2)), ONE(EXP, Y(3)), ONE(NEG, Y(4)),
      ONE(TANH, Y(5)), ONE(NEG, Y(6)), ONE(SIGMOID, Y(7)), ONE(NEG, Y(8))},
     10,
     8},
};

static const batch_norm_attr of_batch = {.training = true}, of_state = {.epsilon = 0.1f};
static const row_norm_attr rows = {.axis = 1}, planes = {.axis = 2};

#define NORM(x)              WITH(BATCH_NORMALIZATION, 5, &of_batch, x, 2, 2, 2, 3)
#define NORM_AND_RELU(x)     WITH(BATCH_NORMALIZATION, 5, &of_batch, x, 2, 3, 2, 3), ONE(RELU, Y(0))
#define BATCH_BWD(x, d)      WITH(BATCH_NORMALIZATION_BWD, 5, &of_batch, x, 2, OUT(0, 1), OUT(0, 2), d)
#define NORM_BWD(x, m, i, d) WITH(LAYER_NORMALIZATION_BWD, 5, &rows, x, 3, m, i, d)

static const scene norms[] = {
    {"a residual and the rows' norm",
     {F32(5, 36), F32(5, 36), F32(36), F32(36)},
     {TWO(ADD, 0, 1), WITH(LAYER_NORMALIZATION, 3, &rows, Y(0), 2, 3), ONE(SIN, Y(0))},
     3,
     1},
    {"dropout and long odd rows",
     {F32(3, 1203), F32(3, 1203), F32(1203), I64(1)},
     {WITH(DROPOUT, 2, &half, 0, 3), TWO(ADD, 1, OUT(0, 0)),
      WITH(RMS_NORMALIZATION, 2, &rows, Y(1), 2), WITH(DROPOUT_BWD, 2, &half, 1, OUT(0, 1))},
     4,
     2},
    {"rows of planes",
     {F32(2, 3, 4, 5), F32(3, 1, 1), F32(4, 5)},
     {TWO(MUL, 0, 1), WITH(RMS_NORMALIZATION, 2, &planes, Y(0), 2)},
     2,
     1},
    {"functions that are too much in front",
     {F32(5, 36), F32(36)},
     {ONE(GELU, 0), ONE(NEG, Y(0)), WITH(RMS_NORMALIZATION, 2, &rows, Y(1), 1)},
     3,
     1},
    {"channels and Relu",
     {F32(4, 6, 3, 5), F32(6, 1, 1), F32(6), F32(6)},
     {NORM(0), ONE(RELU, Y(0)), TWO(MUL, 1, Y(1)), ONE(SIN, OUT(0, 1)), ONE(SIN, OUT(0, 2))},
     5,
     2},
    {"channels last and a residual",
     {F32(40, 6), F32(40, 6), F32(6), F32(6)},
     {NORM(0), TWO(ADD, Y(0), 1), ONE(RELU, Y(1)), ONE(SIN, OUT(0, 1)), ONE(SIN, OUT(0, 2))},
     5,
     2},
    {"a norm that others read too",
     {F32(4, 5, 8), F32(4, 5, 8), F32(5), F32(5)},
     {WITH(BATCH_NORMALIZATION, 5, &of_state, 0, 2, 2, 3, 3), TWO(ADD, Y(0), 1), ONE(TANH, Y(0))},
     3,
     1},
    {"two norms and their sum",
     {F32(4, 5, 8), F32(4, 5, 8), F32(5), F32(5)},
     {WITH(BATCH_NORMALIZATION, 5, &of_state, 0, 2, 2, 3, 3),
      WITH(BATCH_NORMALIZATION, 5, &of_state, 1, 2, 2, 3, 3), TWO(ADD, Y(0), Y(1)),
      ONE(RELU, Y(2))},
     4,
     2},
    {"a row's gradient and what is added",
     {F32(6, 44), F32(6, 44), F32(6, 44), F32(44), F32(44)},
     {WITH(LAYER_NORMALIZATION, 3, &rows, 0, 3, 4), NORM_BWD(0, OUT(0, 1), OUT(0, 2), 1),
      TWO(ADD, 2, Y(1)), WITH(TO_HALF, 1, &to_bf16, Y(2)), ONE(SIN, OUT(1, 1)),
      ONE(SIN, OUT(1, 2))},
     6,
     1},
    {"slopes of a Relu that others read too",
     {F32(50, 7), F32(50, 7), F32(7), F32(7)},
     {NORM_AND_RELU(0), TWO(RELU_BWD, 1, Y(1)), BATCH_BWD(0, Y(2)), ONE(SIN, Y(2))},
     5,
     2},
    {"a Relu of another norm",
     {F32(4, 6, 5), F32(4, 6, 5), F32(6), F32(6)},
     {NORM_AND_RELU(0), TWO(RELU_BWD, 1, Y(1)), BATCH_BWD(1, Y(2))},
     4,
     1},
    {"a residual and Relu, backward",
     {F32(50, 7), F32(50, 7), F32(7), F32(7)},
     {NORM(0), TWO(ADD, Y(0), 1), ONE(RELU, Y(1)), TWO(ADD, 0, 1), TWO(RELU_BWD, Y(3), Y(2)),
      BATCH_BWD(0, Y(4)), ONE(SIN, Y(4))},
     7,
     4},
    {"a residual and Relu, backward, channels first",
     {F32(4, 6, 5), F32(4, 6, 5), F32(6), F32(6)},
     {NORM(0), TWO(ADD, Y(0), 1), ONE(RELU, Y(1)), TWO(ADD, 0, 1), TWO(RELU_BWD, Y(3), Y(2)),
      BATCH_BWD(0, Y(4))},
     6,
     3},
    {"halves, whose rows have no chains",
     {F32(6, 8), F32(8, 36), F32(36), F32(36)},
     {WITH(TO_HALF, 1, &to_bf16, 0), WITH(TO_HALF, 1, &to_bf16, 1), TWO(MATMUL, Y(0), Y(1)),
      ONE(NEG, Y(2)), WITH(LAYER_NORMALIZATION, 3, &rows, Y(3), 2, 3),
      NORM_BWD(Y(3), OUT(4, 1), OUT(4, 2), Y(2)), ONE(ABS, Y(5)), ONE(SIN, OUT(5, 1)),
      ONE(SIN, OUT(5, 2)), WITH(BATCH_NORMALIZATION, 5, &of_state, Y(2), 2, 2, 3, 3),
      ONE(RELU, Y(9))},
     11,
     1},
};

/* Relu's gradient between, of which nothing is stored. */
static const scene relus[] = {
    {"channels first",
     {F32(4, 6, 3, 5), F32(4, 6, 3, 5), F32(6), F32(6)},
     {NORM_AND_RELU(0), TWO(RELU_BWD, 1, Y(1)), BATCH_BWD(0, Y(2))},
     4,
     1},
    {"channels last",
     {F32(50, 7), F32(50, 7), F32(7), F32(7)},
     {NORM_AND_RELU(0), TWO(RELU_BWD, 1, Y(1)), BATCH_BWD(0, Y(2)), ONE(SIN, OUT(3, 1)),
      ONE(SIN, OUT(3, 2))},
     6,
     1},
    {"of halves",
     {F32(40, 8), F32(8, 36), F32(36), F32(36)},
     {WITH(TO_HALF, 1, &to_bf16, 0), WITH(TO_HALF, 1, &to_bf16, 1), TWO(MATMUL, Y(0), Y(1)),
      ONE(ABS, 3), WITH(BATCH_NORMALIZATION, 5, &of_state, Y(2), 2, 3, 2, Y(3)), ONE(RELU, Y(4)),
      WITH(TO_HALF, 1, &to_bf16, Y(5)), TWO(RELU_BWD, Y(2), Y(6)),
      WITH(BATCH_NORMALIZATION_BWD, 5, &of_state, Y(2), 2, 2, Y(3), Y(7)), ONE(NEG, Y(8))},
     10,
     1},
};

/* --- graphs --- */

static graph_val value_of(const graph_val *in, graph_val out[NODES][OPERANDS], int number)
{
    if (number == NONE)
        return GRAPH_NONE;
    return number < INPUTS ? in[number] : out[(number - INPUTS) / 4][(number - INPUTS) % 4];
}

static bool is_read(const graph *g, graph_val v)
{
    for (int32_t i = 0; i < graph_n_nodes(g); i++)
        for (int32_t k = 0; k < graph_node_at(g, i)->n_in; k++)
            if (graph_node_at(g, i)->in[k] == v)
                return true;
    return false;
}

static graph *graph_of(const scene *s)
{
    error err = ERROR_INIT;
    graph *g = NULL;
    graph_val in[INPUTS], out[NODES][OPERANDS];
    must(graph_create(&g, &err), &err);
    for (int i = 0; i < INPUTS && s->in[i].shape.rank > 0; i++) {
        char name[] = {(char)('0' + i), '\0'};
        must(graph_input(g, name, s->in[i].type, s->in[i].shape, &in[i], &err), &err);
    }
    for (int k = 0; k < s->n_nodes; k++) {
        graph_val operand[OPERANDS];
        for (int i = 0; i < s->node[k].n_in; i++)
            operand[i] = value_of(in, out, s->node[k].in[i]);
        must(graph_add(g, s->node[k].op, NULL, operand, s->node[k].n_in, s->node[k].attr, out[k],
                       &err),
             &err);
        if (s->node[k].is_kept)
            graph_keep(g, out[k][0]);
    }
    for (graph_val v = 0; v < graph_n_values(g); v++)
        if (graph_value_at(g, v)->kind == VAL_TEMP && !is_read(g, v))
            graph_keep(g, v);
    return g;
}

/* --- runs --- */

static void feed(const scene *s, exec *e)
{
    for (int i = 0; i < INPUTS && s->in[i].shape.rank > 0; i++) {
        char name[] = {(char)('0' + i), '\0'};
        void *to = exec_input(e, 0, name, NULL);
        rng r = rng_make(7, RNG_TEST, (uint64_t)i);
        for (int64_t k = 0; k < graph_shape_elements(&s->in[i].shape); k++)
            if (s->in[i].type == DT_F32)
                ((float *)to)[k] = rng_normal(&r, (uint64_t)k);
            else if (s->in[i].type == DT_I64)
                ((int64_t *)to)[k] = 5;
            else
                ((uint8_t *)to)[k] = (uint8_t)(k % 3 == 1);
    }
}

static exec *engine(const graph *g, bool fuses)
{
    setenv("TEQUIO_CUDA_FUSION", fuses ? "1" : "0", 1);
    exec *e = both_engine(&backend_cuda, g, NULL);
    unsetenv("TEQUIO_CUDA_FUSION");
    return e;
}

static unsigned kernels_of_a_run(const scene *s, exec *e)
{
    error err = ERROR_INIT;
    uint64_t before = emu_kernels_run();
    feed(s, e);
    must(exec_run(e, 0, NULL, &err), &err);
    return (unsigned)(emu_kernels_run() - before);
}

static void expect_same(const scene *s, const graph *g, exec *fused, exec *alone)
{
    for (graph_val v = 0; v < graph_n_values(g); v++) {
        const graph_value *value = graph_value_at(g, v);
        size_t bytes = (size_t)graph_shape_elements(&value->shape) * dtype_bytes(value->dtype);
        if (value->keep && memcmp(exec_value(fused, 0, value->name, NULL),
                                  exec_value(alone, 0, value->name, NULL), bytes) != 0)
            fail_msg("%s: '%s' is not what the nodes make alone", s->name, value->name);
    }
}

static void expect_scene(const scene *s)
{
    graph *g = graph_of(s);
    exec *fused = engine(g, true), *alone = engine(g, false);
    for (int turn = 0; turn < 2; turn++) {
        unsigned few = kernels_of_a_run(s, fused), all = kernels_of_a_run(s, alone);
        if (few + s->saved != all)
            fail_msg("%s: %u kernels instead of %u, %u less are expected", s->name, few, all,
                     s->saved);
        expect_same(s, g, fused, alone);
    }
    exec_destroy(&fused);
    exec_destroy(&alone);
    graph_destroy(&g);
}

/* What nodes of this operator make is in no memory. */
static void expect_fused_away(const scene *s, graph_op op)
{
    error err = ERROR_INIT;
    graph *g = graph_of(s);
    backend *b = NULL;
    backend_program *p = NULL;
    must(backend_cuda.open(&(backend_options){0}, &b, &err), &err);
    must(backend_cuda.load(b, g, &p, &err), &err);
    for (int32_t i = 0; i < graph_n_nodes(g); i++)
        if (graph_node_at(g, i)->op == op)
            assert_int_equal(backend_cuda.value_bytes(p, graph_node_at(g, i)->out[0]), 0);
    backend_cuda.unload(&p);
    backend_cuda.close(&b);
    graph_destroy(&g);
}

static void test_chains_are_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(chains); i++)
        expect_scene(&chains[i]);
}

static void test_norms_have_chains_around_them(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(norms); i++)
        expect_scene(&norms[i]);
}

static void test_slopes_of_relu_are_not_stored(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(relus); i++) {
        expect_scene(&relus[i]);
        expect_fused_away(&relus[i], OP_RELU_BWD);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(test_chains_are_found),
        KERNEL_TEST(test_norms_have_chains_around_them),
        KERNEL_TEST(test_slopes_of_relu_are_not_stored),
    };
    return kernel_tests_run(tests, COUNT_OF(tests));
}
