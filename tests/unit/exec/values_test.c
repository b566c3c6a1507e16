/*
 * Where values lie: gradients, bound parameters, what is found by name, constants, and how much
 * memory all of that is.
 */
#include "unit/exec/support_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

static void test_gradients_lie_like_the_parameters(void **state)
{
    rig *r = *state;
    run(r, 0);
    const float *grad = exec_grad(r->exec);
    int64_t at = 0;
    for (int32_t t = 0; t < r->flat->n_tensors; t++) {
        if (r->flat->tensors[t].kind == TENSOR_FROZEN)
            continue;
        const graph *g = r->model.graph;
        const graph_value *param = graph_value_at(g, graph_find(g, r->flat->tensors[t].name));
        int32_t maker = graph_value_at(g, param->grad)->def;
        for (; at < r->flat->offset[t]; at++)
            assert_true(grad[at] == 0);
        for (int64_t end = at + r->flat->count[t]; at < end; at++)
            assert_true(grad[at] == (float)(maker + 1));
    }
    for (; at < r->flat->n_live; at++)
        assert_true(grad[at] == 0);
}

static void test_parameters_are_read_where_they_are_bound(void **state)
{
    rig *r = *state;
    float *other = xcalloc((size_t)r->flat->n_elements, sizeof *other);
    for (int turn = 0; turn < 2; turn++) {
        float *bound = turn ? other : r->params;
        exec_bind_params(r->exec, bound);
        for (size_t variant = 0; variant < 2; variant++) {
            run(r, variant);
            const graph *g = variant ? r->small.graph : r->model.graph;
            for (int32_t t = 0; t < r->flat->n_tensors; t++) {
                graph_val v = graph_find(g, r->flat->tensors[t].name);
                if (r->addresses[v])
                    assert_ptr_equal(r->addresses[v], bound + r->flat->offset[t]);
            }
        }
    }
    free(other);
}

static void test_values_are_found_by_name(void **state)
{
    rig *r = *state;
    const graph_value *value = NULL;
    float *x = exec_input(r->exec, 0, "x", &value);
    assert_non_null(x);
    assert_int_equal(value->shape.dim[0], 4);
    assert_non_null(exec_input(r->exec, 1, "x", &value));
    assert_int_equal(value->shape.dim[0], 3);
    run(r, 0);
    assert_ptr_equal(r->addresses[r->model.x], x);
    const float *loss = exec_value(r->exec, 0, "loss", NULL);
    assert_true(*loss == (float)(graph_value_at(r->model.graph, r->model.loss)->def + 1));
    static const char *const others[] = {"relu", "w1", "nobody"};
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        assert_null(exec_input(r->exec, 0, others[i], NULL));
        assert_null(exec_value(r->exec, 0, others[i], NULL));
    }
    assert_null(exec_value(r->exec, 0, "x", NULL));
    assert_null(exec_input(r->exec, 0, "loss", NULL));
}

static void test_constants_are_there(void **state)
{
    rig *r = *state;
    run(r, 0);
    assert_memory_equal(r->addresses[r->model.factor], ((float[]){4, 5}), 2 * sizeof(float));
    run(r, 1);
    assert_memory_equal(r->addresses[r->small.factor], ((float[]){4, 5}), 2 * sizeof(float));
}

static void test_memory_is_that_of_the_largest_variant(void **state)
{
    rig *r = *state;
    error err = ERROR_INIT;
    exec_memory both = exec_memory_use(r->exec);
    exec_destroy(&r->exec);
    must(rig_create(r, r->model.graph, NULL, r->flat, &err), &err);
    exec_memory large = exec_memory_use(r->exec);
    assert_int_equal(both.param, (size_t)r->flat->n_elements * sizeof(float));
    assert_int_equal(both.grad, large.grad);
    assert_int_equal(both.io, large.io);
    assert_int_equal(both.temp, large.temp);
    assert_int_equal(both.workspace, STUB_WORKSPACE);
    assert_true(both.constant >= 2 * 2 * sizeof(float));
    exec_bind_params(r->exec, r->params);
    run(r, 0);
    assert_non_null(r->workspace);
    assert_int_equal((uintptr_t)r->workspace % MEM_ALIGN, 0);
}

/* Measured is what is then taken. */
static void test_memory_can_be_measured_before(void **state)
{
    rig *r = *state;
    error err = ERROR_INIT;
    exec_memory taken = exec_memory_use(r->exec), measured = {0};
    const exec_options options = {
        .backend = r->backend,
        .flat = r->flat,
        .graphs = (const graph *const[]){r->model.graph, r->small.graph},
        .n_graphs = 2,
    };
    must(exec_measure(&options, &measured, &err), &err);
    assert_memory_equal(&measured, &taken, sizeof taken);
}

static void test_fingerprint_is_the_backends(void **state)
{
    rig *r = *state;
    char text[32];
    exec_fingerprint(r->exec, text, sizeof text);
    assert_string_equal(text, "stub x3");
}

int main(void)
{
#define WITH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH(test_gradients_lie_like_the_parameters),
        WITH(test_parameters_are_read_where_they_are_bound),
        WITH(test_values_are_found_by_name),
        WITH(test_constants_are_there),
        WITH(test_memory_is_that_of_the_largest_variant),
        WITH(test_memory_can_be_measured_before),
        WITH(test_fingerprint_is_the_backends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
