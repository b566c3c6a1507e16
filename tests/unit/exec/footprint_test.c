/* An exec with a budget takes less memory of its backend, and its gradients and loss are the same to the last bit;
 * a batch's mean and variance, and dropout's masks, too. What cannot be had is refused with what can. */
#include "exec/footprint.h"
#include "graph/attrs.h"
#include "unit/exec/support_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 8, FEATURES = 24, BATCH = 40 };

static size_t allocated; /* of the slabs of the exec at hand */

static status counting_alloc(backend *b, backend_space space, size_t bytes, const char *what, void **ret, error *err)
{
    allocated += bytes;
    return backend_cpu.alloc(b, space, bytes, what, ret, err);
}

static graph_val param(graph *g, const char *base, int i, tensor_kind kind, int32_t rank)
{
    error err = ERROR_INIT;
    char name[32];
    graph_val v;
    snprintf(name, sizeof name, "%s%d", base, i);
    tensor_decl decl = {.name = name, .rank = rank, .dim = {FEATURES, FEATURES}, .kind = kind};
    must(graph_param(g, &decl, &v, &err), &err);
    return v;
}

static graph_val node(graph *g, graph_op op, const graph_val *in, int32_t n, const void *attr)
{
    error err = ERROR_INIT;
    graph_val out[3];
    must(graph_add(g, op, NULL, in, n, attr, out, &err), &err);
    return out[0];
}

/* Blocks of a product, a norm of the batch, Tanh and Dropout. */
static graph *deep(int64_t batch)
{
    error err = ERROR_INIT;
    graph *g = NULL;
    graph_val x, id, weight;
    must(graph_create(&g, &err), &err);
    must(graph_input(g, "x", DT_F32, (graph_shape){2, {batch, FEATURES}}, &x, &err), &err);
    must(graph_input(g, "batch.id", DT_I64, (graph_shape){1, {1}}, &id, &err), &err);
    must(graph_input(g, "weight", DT_F32, (graph_shape){1, {1}}, &weight, &err), &err);
    for (int i = 0; i < BLOCKS; i++) {
        x = node(g, OP_MATMUL, (graph_val[]){x, param(g, "w", i, TENSOR_TRAINABLE, 2)}, 2, NULL);
        graph_val in[] = {x, param(g, "scale", i, TENSOR_TRAINABLE, 1), param(g, "shift", i, TENSOR_TRAINABLE, 1),
                          param(g, "mean", i, TENSOR_STATE, 1), param(g, "var", i, TENSOR_STATE, 1)};
        x = node(g, OP_BATCH_NORMALIZATION, in, 5, &(batch_norm_attr){.training = true, .epsilon = 1e-5f});
        x = node(g, OP_TANH, &x, 1, NULL);
        x = node(g, OP_DROPOUT, (graph_val[]){x, id}, 2, &(dropout_attr){.ratio = 0.25f, .stream = (uint64_t)i});
    }
    graph_val loss = node(g, OP_REDUCE_MEAN, &x, 1, &(reduce_attr){.drop_dims = true});
    must(graph_rename(g, loss, "loss", &err), &err);
    graph_keep(g, loss);
    must(graph_backward(g, loss, weight, &err), &err);
    return g;
}

typedef struct outcome {
    exec_memory memory;
    size_t allocated;
    float *grad, loss[2];
} outcome;

static status engine(const graph *const *graphs, const flat *f, size_t budget, exec **ret, error *err)
{
    backend_ops counting = backend_cpu;
    counting.alloc = counting_alloc;
    static backend_ops kept; /* the exec keeps it */
    kept = counting;
    exec_options options = {.backend = &kept,
                            .device = {.threads = 1},
                            .flat = f,
                            .graphs = graphs,
                            .n_graphs = 2,
                            .budget = budget};
    allocated = 0;
    return exec_create(&options, ret, err);
}

static void fill(exec *e, size_t which)
{
    const graph_value *value;
    float *x = exec_input(e, which, "x", &value);
    for (int64_t i = 0; i < graph_shape_elements(&value->shape); i++)
        x[i] = (float)(i * 7 % 31) / 16.0f - 1.0f;
    *(int64_t *)exec_input(e, which, "batch.id", NULL) = 5;
    *(float *)exec_input(e, which, "weight", NULL) = 0.5f;
}

/* Gradients of the full batch, behind a run of the small one. */
static outcome run_with(const graph *const *graphs, const flat *f, const float *params, size_t budget)
{
    error err = ERROR_INIT;
    exec *e = NULL;
    outcome o = {.grad = calloc((size_t)f->n_live, sizeof *o.grad)};
    must(engine(graphs, f, budget, &e, &err), &err);
    o.memory = exec_memory_use(e);
    o.allocated = allocated;
    exec_bind_params(e, params);
    for (size_t i = 2; i-- > 0;) {
        fill(e, i);
        must(exec_run(e, i, NULL, &err), &err);
        o.loss[i] = *(const float *)exec_value(e, i, "loss", NULL);
    }
    memcpy(o.grad, exec_grad(e), (size_t)f->n_live * sizeof *o.grad);
    exec_destroy(&e);
    return o;
}

static void assert_alike(const outcome *a, const outcome *b, const flat *f)
{
    assert_memory_equal(a->loss, b->loss, sizeof a->loss);
    assert_memory_equal(a->grad, b->grad, (size_t)f->n_live * sizeof *a->grad);
    assert_true(a->loss[0] == a->loss[0] && a->loss[0] != 0);
}

static void less_memory_and_the_same_bits(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    exec *e = NULL;
    graph *full = deep(BATCH), *small = deep(BATCH - 9);
    const graph *const graphs[] = {full, small};
    flat *f = layout_of(full);
    float *params = calloc((size_t)f->n_elements, sizeof *params);
    for (int64_t i = 0; i < f->n_elements; i++)
        params[i] = (float)(i * 13 % 17) / 34.0f - 0.2f;
    outcome whole = run_with(graphs, f, params, 0);
    assert_int_equal(whole.memory.saved, 0);
    const size_t all = exec_memory_total(&whole.memory);

    assert_int_equal(engine(graphs, f, 1, &e, &err), E_NOMEM);
    const char *least_text = strstr(err.text, "are computed again ");
    assert_non_null(least_text);
    const size_t least = strtoull(least_text + strlen("are computed again "), NULL, 10);
    assert_true(least > 0 && least < all);

    const size_t budgets[] = {all - 1, (all + least) / 2, least};
    size_t before = whole.allocated;
    for (size_t i = 0; i < sizeof budgets / sizeof budgets[0]; i++) {
        outcome o = run_with(graphs, f, params, budgets[i]);
        assert_alike(&o, &whole, f);
        assert_true(exec_memory_total(&o.memory) <= budgets[i]);
        assert_true(o.allocated < before);
        assert_int_equal(o.memory.temp + o.memory.saved, whole.memory.temp);
        assert_true(o.memory.again.n_nodes > 0);
        before = o.allocated;
        free(o.grad);
    }
    outcome fits = run_with(graphs, f, params, all);
    assert_int_equal(fits.memory.again.n_nodes, 0);
    free(fits.grad);
    free(whole.grad);
    free(params);
    flat_destroy(&f);
    graph_destroy(&full);
    graph_destroy(&small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(less_memory_and_the_same_bits),
    };
    return cmocka_run_group_tests_name("footprint", tests, NULL, NULL);
}
