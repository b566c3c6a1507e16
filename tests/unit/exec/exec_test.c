/*
 * The walk over the nodes, with a backend that only writes down what it is asked to do: order of
 * nodes and hooks, cancelling, errors on the way.
 */
#include "unit/exec/support_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

static void test_nodes_run_in_order(void **state)
{
    rig *r = *state;
    run(r, 0);
    int32_t next = 0;
    for (size_t i = 0; i < r->n_events; i++)
        if (r->events[i].kind == NODE)
            assert_int_equal(r->events[i].index, next++);
    assert_int_equal(next, graph_n_nodes(r->model.graph));
}

static void test_need_stands_right_before_the_first_reader(void **state)
{
    rig *r = *state;
    run(r, 0);
    assert_true(r->flat->n_parts >= 4);
    for (int32_t part = 0; part < r->flat->n_parts; part++) {
        int32_t first, last;
        part_span(r, r->model.graph, part, true, &first, &last);
        int at = find_event(r, NEED, part);
        assert_int_equal(at >= 0, first >= 0);
        if (first < 0)
            continue;
        assert_true(at < find_event(r, NODE, first));
        assert_true(first == 0 || at > find_event(r, NODE, first - 1));
    }
}

static void test_ready_stands_right_after_the_last_touch(void **state)
{
    rig *r = *state;
    for (size_t variant = 0; variant < 2; variant++) {
        const graph *g = variant ? r->small.graph : r->model.graph;
        run(r, variant);
        for (int32_t part = 0; part < r->flat->n_live_parts; part++) {
            int32_t first, last;
            part_span(r, g, part, false, &first, &last);
            int at = find_event(r, READY, part);
            assert_true(at > find_event(r, NODE, last));
            assert_true(last == graph_n_nodes(g) - 1 || at < find_event(r, NODE, last + 1));
            assert_ptr_equal(r->events[at].grad, exec_grad(r->exec) + r->flat->parts[part].begin);
        }
        for (int32_t part = r->flat->n_live_parts; part < r->flat->n_parts; part++)
            assert_int_equal(find_event(r, READY, part), -1);
    }
}

static void test_parts_of_one_node_come_in_order(void **state)
{
    rig *r = *state;
    run(r, 0);
    int together = 0;
    for (size_t i = 1; i < r->n_events; i++) {
        if (r->events[i].kind == NODE || r->events[i].kind != r->events[i - 1].kind)
            continue;
        together++;
        assert_true(r->events[i - 1].index < r->events[i].index);
    }
    assert_true(together > 0);
}

static void test_hooks_may_be_absent(void **state)
{
    rig *r = *state;
    error err = ERROR_INIT;
    must(exec_run(r->exec, 0, NULL, &err), &err);
    r->hooks = (exec_hooks){.user = r};
    run(r, 0);
    assert_int_equal(r->n_events, graph_n_nodes(r->model.graph));
}

static void test_cancelling_stops_before_the_next_node(void **state)
{
    rig *r = *state;
    error err = ERROR_INIT;
    r->cancel_at = 2;
    assert_int_equal(exec_run(r->exec, 0, &r->hooks, &err), E_LOST);
    assert_string_equal(err.text, "cancelled");
    assert_int_not_equal(find_event(r, NODE, 2), -1);
    assert_int_equal(find_event(r, NODE, 3), -1);
    r->cancel_at = STUB_NEVER;
    atomic_store(&r->cancel, false);
    run(r, 0);
    assert_int_not_equal(find_event(r, NODE, 3), -1);
}

static void test_a_kernels_error_names_its_node(void **state)
{
    rig *r = *state;
    error err = ERROR_INIT;
    stub.run_fails = 2;
    assert_int_equal(exec_run(r->exec, 0, &r->hooks, &err), E_DEVICE);
    assert_string_equal(err.text, "fc2: the pen is dry");
}

static void test_a_hooks_error_comes_as_it_is(void **state)
{
    rig *r = *state;
    error err = ERROR_INIT;
    r->ready_status = E_TIMEOUT;
    assert_int_equal(exec_run(r->exec, 0, &r->hooks, &err), E_TIMEOUT);
    assert_string_equal(err.text, "the server is gone");
    assert_int_equal(r->events[r->n_events - 1].kind, READY);
}

/* Evaluation: forward alone, over the flat vector of the training graph. */
static void test_forward_alone_reports_untouched_parts_at_the_end(void **state)
{
    rig *r = *state;
    error err = ERROR_INIT;
    model forward = make_model(2, false);
    must(rig_create(r, forward.graph, NULL, r->flat, &err), &err);
    exec_bind_params(r->exec, r->params);
    run(r, 0);
    int last_node = find_event(r, NODE, graph_n_nodes(forward.graph) - 1);
    int untouched = 0;
    for (int32_t part = 0; part < r->flat->n_live_parts; part++) {
        int at = find_event(r, READY, part);
        assert_int_not_equal(at, -1);
        assert_null(r->events[at].grad);
        size_t n;
        const part_segment *segments = flat_part_segments(r->flat, part, &n);
        if (n > 1 || strcmp(r->flat->tensors[segments->tensor].name, "spare") != 0)
            continue;
        untouched++;
        assert_true(at > last_node);
    }
    assert_true(untouched > 0);
    exec_destroy(&r->exec);
    graph_destroy(&forward.graph);
}

int main(void)
{
#define WITH(test)    cmocka_unit_test_setup_teardown(test, set_up, tear_down)
#define WITHOUT(test) cmocka_unit_test_setup_teardown(test, set_up_without_exec, tear_down)
    const struct CMUnitTest tests[] = {
        WITH(test_nodes_run_in_order),
        WITH(test_need_stands_right_before_the_first_reader),
        WITH(test_ready_stands_right_after_the_last_touch),
        WITH(test_parts_of_one_node_come_in_order),
        WITH(test_hooks_may_be_absent),
        WITH(test_cancelling_stops_before_the_next_node),
        WITH(test_a_kernels_error_names_its_node),
        WITH(test_a_hooks_error_comes_as_it_is),
        WITHOUT(test_forward_alone_reports_untouched_parts_at_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
