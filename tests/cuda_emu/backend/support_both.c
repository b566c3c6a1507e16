#include "cuda_emu/backend/support_both.h"

#include "backend/cuda/cuda.h"
#include "common/base/alloc.h"
#include "common/base/rng.h"
#include "cuda_emu/kernel_test.h"
#include "graph/index_positions.h"

#include <stdio.h>
#include <string.h>

void must(status st, const error *err)
{
    if (st != OK)
        fail_msg("%s: %s", status_name(st), err->text);
}

static exec *engine_on(const backend_ops *ops, const graph *g, const flat *f, int threads)
{
    error err = ERROR_INIT;
    exec *e = NULL;
    exec_options o = {
        .backend = ops, .device = {.threads = threads}, .flat = f, .graphs = &g, .n_graphs = 1};
    must(exec_create(&o, &e, &err), &err);
    return e;
}

exec *both_engine(const backend_ops *ops, const graph *g, const flat *f)
{
    return engine_on(ops, g, f, 1);
}

static graph_val negated(graph *g, const char *name, graph_val x)
{
    error err = ERROR_INIT;
    graph_val y;
    must(graph_add_1(g, OP_NEG, name, &x, 1, NULL, &y, &err), &err);
    return y;
}

/* Which operand the output may take the place of, -1 if none. */
static int32_t replaced(const both_case *c)
{
    const graph_op_info *op = graph_op_of(c->op);
    if (op->traits & OP_INPLACE)
        return 0;
    return op->traits & OP_ADDS && c->n_in == op->max_in ? c->n_in - 1 : -1;
}

graph *both_graph(const both_case *c, bool amid)
{
    error err = ERROR_INIT;
    graph *g = NULL;
    graph_val in[BOTH_OPERANDS], out[BOTH_OPERANDS];
    must(graph_create(&g, &err), &err);
    for (int32_t i = 0; i < c->n_in; i++) {
        char name[] = {(char)('0' + i), '\0'};
        must(graph_input(g, name, c->in[i].type, c->in[i].shape, &in[i], &err), &err);
        if (amid && i == replaced(c))
            in[i] = negated(g, "begin", in[i]);
    }
    must(graph_add(g, c->op, "y", in, c->n_in, c->attr, out, &err), &err);
    if (amid)
        graph_keep(g, negated(g, "end", out[0]));
    for (int32_t i = amid; i < graph_op_of(c->op)->n_out; i++)
        if (out[i] != GRAPH_NONE)
            graph_keep(g, out[i]);
    return g;
}

static const graph_node *node_of(const both_case *c, const graph *g)
{
    for (int32_t i = 0; i < graph_n_nodes(g); i++)
        if (graph_node_at(g, i)->op == c->op)
            return graph_node_at(g, i);
    fail_msg("%s: no node", c->name);
    return NULL;
}

/* How many positions number k of an index may name; 0: input i is no index. */
static int64_t positions_named(const both_case *c, const graph *g, int32_t i, int64_t k)
{
    switch (c->op) {
    case OP_GATHER:
    case OP_GATHER_BWD:
    case OP_GATHER_ELEMENTS:
    case OP_GATHER_ND:
    case OP_SCATTER_ELEMENTS:
    case OP_SCATTER_ND:
        break;
    default:
        return 0;
    }
    index_positions p = index_positions_of(g, node_of(c, g));
    return i == 1 ? p.size[k % p.depth] : 0;
}

static void put(void *to, dtype type, int64_t i, float x, int64_t whole)
{
    switch (type) {
    case DT_F32:
        ((float *)to)[i] = x;
        break;
    case DT_I64:
        ((int64_t *)to)[i] = whole;
        break;
    case DT_I32:
        ((int32_t *)to)[i] = (int32_t)whole;
        break;
    default:
        ((uint8_t *)to)[i] = (uint8_t)(type == DT_BOOL ? whole & 1 : whole & 255);
        break;
    }
}

/* Rows take turns as long as they have picks. */
static void fill_picks(const both_case *c, int32_t i, int64_t *at)
{
    int64_t left = graph_shape_elements(&c->in[i].shape);
    for (int64_t turn = 0; left > 0; turn++)
        for (int64_t row = 0; row < BOTH_ROWS && left > 0; row++)
            if (turn < c->in[i].picks[row]) {
                *at++ = row;
                left--;
            }
}

static bool has_picks(const both_case *c)
{
    for (int32_t i = 0; i < c->n_in; i++)
        if (c->in[i].picks)
            return true;
    return false;
}

void both_fill(const both_case *c, const graph *g, exec *e)
{
    static const float special[] = {
        0.0f,
        -0.0f,
        1.0f,
        -1.0f,
        1e30f,
        -1e30f,
        __builtin_inff(),
        -__builtin_inff(),
        __builtin_nanf(""),
    };
    for (int32_t i = 0; i < c->n_in; i++) {
        char name[] = {(char)('0' + i), '\0'};
        void *to = exec_input(e, 0, name, NULL);
        rng r = rng_make(11, RNG_TEST, (uint64_t)i);
        for (int64_t k = 0; k < graph_shape_elements(&c->in[i].shape); k++) {
            int64_t size = positions_named(c, g, i, k);
            uint64_t at = (uint64_t)(4 * k);
            int64_t whole = size ? (int64_t)rng_below(&r, at, (uint64_t)(2 * size)) - size
                                 : (int64_t)rng_below(&r, at, 19) - 9;
            float x = rng_below(&r, at + 1, 12) ? rng_normal(&r, (uint64_t)k)
                                                : special[rng_below(&r, at + 2, COUNT_OF(special))];
            put(to, c->in[i].type, k, has_picks(c) ? 1 + rng_normal(&r, (uint64_t)k) / 128 : x, whole);
        }
        if (c->in[i].picks)
            fill_picks(c, i, to);
    }
}

static void compare(const both_case *c, const graph_value *v, const void *got, const void *want)
{
    size_t bytes = dtype_bytes(v->dtype);
    const float *x = got, *y = want;
    for (int64_t i = 0; i < graph_shape_elements(&v->shape); i++) {
        size_t at = (size_t)i * bytes;
        if (memcmp((const char *)got + at, (const char *)want + at, bytes) == 0)
            continue;
        if (v->dtype != DT_F32)
            fail_msg("%s: element %lld of '%s' differs", c->name, (long long)i, v->name);
        if (x[i] == x[i] || y[i] == y[i])
            fail_msg("%s: element %lld of '%s' is %a and not %a", c->name, (long long)i, v->name,
                     (double)x[i], (double)y[i]);
    }
}

static void run_frame(const both_case *c, bool amid, int threads)
{
    error err = ERROR_INIT;
    graph *g = both_graph(c, amid);
    exec *cpu = engine_on(&backend_cpu, g, NULL, threads);
    exec *gpu = both_engine(&backend_cuda, g, NULL);
    for (int turn = 0; turn < 2; turn++) {
        both_fill(c, g, cpu);
        both_fill(c, g, gpu);
        must(exec_run(cpu, 0, NULL, &err), &err);
        must(exec_run(gpu, 0, NULL, &err), &err);
        for (graph_val v = 0; v < graph_n_values(g); v++) {
            const graph_value *value = graph_value_at(g, v);
            if (value->keep)
                compare(c, value, exec_value(gpu, 0, value->name, NULL),
                        exec_value(cpu, 0, value->name, NULL));
        }
    }
    exec_destroy(&cpu);
    exec_destroy(&gpu);
    graph_destroy(&g);
}

void assert_both_agree_on(const both_case *c, int threads)
{
    run_frame(c, false, threads);
    if (replaced(c) >= 0 && c->in[replaced(c)].type == DT_F32)
        run_frame(c, true, threads);
}

void assert_both_agree(const both_case *c)
{
    assert_both_agree_on(c, 1);
}
