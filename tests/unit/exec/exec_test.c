/*
 * The walk over the nodes, with a backend that only writes down what it is asked to do: order of
 * nodes and hooks, places of values, binding, cancelling, every error with its text.
 */
#include "exec/exec.h"

#include "graph/attrs.h"
#include "unit/exec/support_paper.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { WIDE = 700, EVENTS = 512 };

static void must(status st, const error *err)
{
    if (st != OK)
        fail_msg("%s: %s", status_name(st), err->text);
}

/* Two layers, a frozen factor, a parameter nothing reads that fills whole parts. */
typedef struct model {
    graph *graph;
    graph_val x, factor, loss;
} model;

static graph_val add_param(graph *g, const char *name, tensor_kind kind, int64_t rows, int64_t n)
{
    error err = ERROR_INIT;
    graph_val v;
    tensor_decl decl = {.name = name, .rank = 2, .dim = {rows, n}, .kind = kind};
    must(graph_param(g, &decl, &v, &err), &err);
    return v;
}

static graph_val add_node(graph *g, graph_op op, const char *name, graph_val a, graph_val b,
                          const void *attr)
{
    error err = ERROR_INIT;
    graph_val out;
    must(graph_add_1(g, op, name, (graph_val[]){a, b}, b == GRAPH_NONE ? 1 : 2, attr, &out, &err),
         &err);
    return out;
}

static model make_model(int64_t batch, bool backward)
{
    static const float four[] = {4, 5};
    error err = ERROR_INIT;
    model m;
    must(graph_create(&m.graph, &err), &err);
    graph *g = m.graph;
    graph_val weight;
    must(graph_input(g, "x", DT_F32, (graph_shape){2, {batch, 100}}, &m.x, &err), &err);
    graph_val w1 = add_param(g, "w1", TENSOR_TRAINABLE, 100, WIDE);
    graph_val w2 = add_param(g, "w2", TENSOR_TRAINABLE, WIDE, 200);
    graph_val frozen = add_param(g, "frozen", TENSOR_FROZEN, 1, 200);
    must(graph_const(g, "four", DT_F32, (graph_shape){1, {2}}, four, &m.factor, &err), &err);
    if (backward)
        add_param(g, "spare", TENSOR_TRAINABLE, 300, WIDE);
    graph_val h = add_node(g, OP_GEMM, "fc1", m.x, w1, NULL);
    h = add_node(g, OP_RELU, "relu", h, GRAPH_NONE, NULL);
    h = add_node(g, OP_GEMM, "fc2", h, w2, NULL);
    h = add_node(g, OP_MUL, "scaled", h, frozen, NULL);
    m.loss = add_node(g, OP_REDUCE_MEAN, "loss", h, GRAPH_NONE, &(reduce_attr){.drop_dims = true});
    graph_val four_sum = add_node(g, OP_REDUCE_SUM, "four.sum", m.factor, GRAPH_NONE, NULL);
    graph_keep(g, m.loss);
    graph_keep(g, four_sum);
    if (backward) {
        must(graph_input(g, "weight", DT_F32, (graph_shape){.rank = 0}, &weight, &err), &err);
        must(graph_backward(g, m.loss, weight, &err), &err);
    }
    return m;
}

static flat *layout_of(const graph *g)
{
    error err = ERROR_INIT;
    graph_val order[8];
    tensor_decl tensors[8];
    int32_t n = graph_n_params(g);
    assert_in_range(n, 1, 8);
    graph_param_order(g, order);
    for (int32_t i = 0; i < n; i++)
        tensors[i] = *graph_value_at(g, order[i])->param;
    flat *f = NULL;
    must(flat_create(tensors, (size_t)n, &f, &err), &err);
    return f;
}

typedef enum event_kind { NODE, NEED, READY } event_kind;

typedef struct event {
    event_kind kind;
    int32_t index;
    const float *grad;
} event;

typedef struct rig {
    model model, small; /* full batch, smaller last batch */
    flat *flat;
    float *params;
    exec *exec;
    exec_hooks hooks;
    event events[EVENTS];
    size_t n_events;
    int32_t cancel_at; /* node */
    atomic_bool cancel;
    status ready_status;
    void *workspace;
    void *const *addresses;
} rig;

static void note(rig *r, event e)
{
    assert_true(r->n_events < EVENTS);
    r->events[r->n_events++] = e;
}

static void on_node(void *user, int32_t node, void *const *addresses, void *workspace)
{
    rig *r = user;
    note(r, (event){NODE, node, NULL});
    r->workspace = workspace;
    r->addresses = addresses;
    if (node == r->cancel_at)
        atomic_store(&r->cancel, true);
}

static status on_need(void *user, int32_t part, error *err)
{
    (void)err;
    note(user, (event){NEED, part, NULL});
    return OK;
}

static status on_ready(void *user, int32_t part, const float *grad, error *err)
{
    rig *r = user;
    note(r, (event){READY, part, grad});
    return r->ready_status == OK ? OK : FAIL(err, r->ready_status, "the server is gone");
}

static void rig_prepare(rig *r)
{
    paper_reset();
    *r = (rig){.cancel_at = PAPER_NEVER};
    r->model = make_model(4, true);
    r->small = make_model(3, true);
    r->flat = layout_of(r->model.graph);
    r->params = xcalloc((size_t)r->flat->n_elements, sizeof(float));
    paper.ran = on_node;
    paper.user = r;
    r->hooks = (exec_hooks){.need = on_need, .ready = on_ready, .user = r, .cancel = &r->cancel};
}

static status rig_create(rig *r, const graph *first, const graph *second, const flat *f, error *err)
{
    const graph *graphs[] = {first, second};
    return exec_create(&(exec_options){.backend = &backend_paper,
                                       .device = {.threads = 3},
                                       .flat = f,
                                       .graphs = graphs,
                                       .n_graphs = second ? 2 : 1},
                       &r->exec, err);
}

static int set_up(void **state)
{
    error err = ERROR_INIT;
    rig *r = xcalloc(1, sizeof *r);
    rig_prepare(r);
    must(rig_create(r, r->model.graph, r->small.graph, r->flat, &err), &err);
    exec_bind_params(r->exec, r->params);
    *state = r;
    return 0;
}

static int set_up_without_exec(void **state)
{
    rig *r = xcalloc(1, sizeof *r);
    rig_prepare(r);
    *state = r;
    return 0;
}

static int tear_down(void **state)
{
    rig *r = *state;
    exec_destroy(&r->exec);
    graph_destroy(&r->model.graph);
    graph_destroy(&r->small.graph);
    flat_destroy(&r->flat);
    free(r->params);
    free(r);
    return paper.n_open;
}

static void run(rig *r, size_t variant)
{
    error err = ERROR_INIT;
    r->n_events = 0;
    must(exec_run(r->exec, variant, &r->hooks, &err), &err);
}

/* Whether a node reads the parameter, or makes its gradient. */
static bool touches(const graph_node *node, graph_val param, graph_val made)
{
    for (int32_t k = 0; k < node->n_in; k++)
        if (node->in[k] == param)
            return true;
    for (int32_t k = 0; k < node->n_out && made != GRAPH_NONE; k++)
        if (node->out[k] == made)
            return true;
    return false;
}

/* First and last node that touch a part, straight from the graph. With `reads_only`, gradients do
 * not count. */
static void part_span(const rig *r, const graph *g, int32_t part, bool reads_only,
                      int32_t *ret_first, int32_t *ret_last)
{
    *ret_first = *ret_last = -1;
    size_t n;
    const part_segment *segments = flat_part_segments(r->flat, part, &n);
    for (int32_t i = 0; i < graph_n_nodes(g); i++) {
        for (size_t k = 0; k < n; k++) {
            graph_val v = graph_find(g, r->flat->tensors[segments[k].tensor].name);
            graph_val made = reads_only ? GRAPH_NONE : graph_value_at(g, v)->grad;
            if (!touches(graph_node_at(g, i), v, made))
                continue;
            *ret_first = *ret_first < 0 ? i : *ret_first;
            *ret_last = i;
        }
    }
}

/* Index of the only such event; -1 if there is none. */
static int find_event(const rig *r, event_kind kind, int32_t index)
{
    int found = -1;
    for (size_t i = 0; i < r->n_events; i++) {
        if (r->events[i].kind != kind || r->events[i].index != index)
            continue;
        assert_int_equal(found, -1);
        found = (int)i;
    }
    return found;
}

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
    float *x = exec_value(r->exec, 0, "x", &value);
    assert_non_null(x);
    assert_int_equal(value->shape.dim[0], 4);
    assert_non_null(exec_value(r->exec, 1, "x", &value));
    assert_int_equal(value->shape.dim[0], 3);
    run(r, 0);
    assert_ptr_equal(r->addresses[r->model.x], x);
    const float *loss = exec_value(r->exec, 0, "loss", NULL);
    assert_true(*loss == (float)(graph_value_at(r->model.graph, r->model.loss)->def + 1));
    assert_null(exec_value(r->exec, 0, "relu", NULL));
    assert_null(exec_value(r->exec, 0, "w1", NULL));
    assert_null(exec_value(r->exec, 0, "nobody", NULL));
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
    assert_int_equal(both.workspace, PAPER_WORKSPACE);
    assert_true(both.constant >= 2 * 2 * sizeof(float));
    exec_bind_params(r->exec, r->params);
    run(r, 0);
    assert_non_null(r->workspace);
    assert_int_equal((uintptr_t)r->workspace % MEM_ALIGN, 0);
}

static void test_fingerprint_is_the_backends(void **state)
{
    rig *r = *state;
    char text[32];
    exec_fingerprint(r->exec, text, sizeof text);
    assert_string_equal(text, "paper x3");
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
    r->cancel_at = PAPER_NEVER;
    atomic_store(&r->cancel, false);
    run(r, 0);
    assert_int_not_equal(find_event(r, NODE, 3), -1);
}

static void test_a_kernels_error_names_its_node(void **state)
{
    rig *r = *state;
    error err = ERROR_INIT;
    paper.run_fails = 2;
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

static void expect_refusal(rig *r, const graph *second, const flat *f, status expected,
                           const char *text)
{
    error err = ERROR_INIT;
    assert_int_equal(rig_create(r, r->model.graph, second, f, &err), expected);
    assert_string_equal(err.text, text);
    assert_null(r->exec);
    assert_int_equal(paper.n_open, 0);
}

static void test_backend_errors_name_what_failed(void **state)
{
    rig *r = *state;
    paper.open_fails = true;
    expect_refusal(r, NULL, r->flat, E_DEVICE, "backend paper: no paper left");
    paper.open_fails = false;
    paper.load_fails = true;
    expect_refusal(r, NULL, r->flat, E_UNSUPPORTED, "cannot be written down");
    expect_refusal(r, r->small.graph, r->flat, E_UNSUPPORTED, "variant 0: cannot be written down");
    paper.load_fails = false;
    paper.prepare_fails = 2;
    expect_refusal(r, NULL, r->flat, E_UNSUPPORTED, "fc2: no such word");
}

/* The flat vector of a graph whose tensors were changed. */
static void expect_layout_refusal(rig *r, int64_t rows, tensor_kind kind, const char *name,
                                  const char *text)
{
    error err = ERROR_INIT;
    flat *other = NULL;
    tensor_decl tensors[8];
    for (int32_t i = 0; i < r->flat->n_tensors; i++) {
        tensors[i] = r->flat->tensors[i];
        if (strcmp(tensors[i].name, "w2") != 0)
            continue;
        tensors[i].name = name;
        tensors[i].dim[0] = rows;
        tensors[i].kind = kind;
    }
    must(flat_create(tensors, (size_t)r->flat->n_tensors, &other, &err), &err);
    expect_refusal(r, NULL, other, E_CONFIG, text);
    flat_destroy(&other);
}

static void test_a_foreign_flat_vector_is_refused(void **state)
{
    rig *r = *state;
    expect_layout_refusal(r, WIDE, TENSOR_TRAINABLE, "w3",
                          "parameter 'w2' is not in the flat vector");
    expect_layout_refusal(r, 9, TENSOR_TRAINABLE, "w2",
                          "parameter 'w2' is [700,200] here and [9,200] in the flat vector");
    expect_layout_refusal(r, WIDE, TENSOR_STATE, "w2",
                          "parameter 'w2' is of another kind in the flat vector");
    expect_refusal(r, NULL, NULL, E_CONFIG,
                   "parameter 'w1': there is no flat vector to read it from");
}

static void test_a_variant_without_a_gradient_is_refused(void **state)
{
    rig *r = *state;
    error err = ERROR_INIT;
    graph_val v;
    tensor_decl more = {.name = "more", .rank = 1, .dim = {3}};
    must(graph_param(r->model.graph, &more, &v, &err), &err);
    flat *longer = layout_of(r->model.graph);
    expect_refusal(r, NULL, longer, E_CONFIG, "no gradient is made for 'more' of the flat vector");
    flat_destroy(&longer);
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
        WITH(test_gradients_lie_like_the_parameters),
        WITH(test_parameters_are_read_where_they_are_bound),
        WITH(test_values_are_found_by_name),
        WITH(test_constants_are_there),
        WITH(test_memory_is_that_of_the_largest_variant),
        WITH(test_fingerprint_is_the_backends),
        WITH(test_cancelling_stops_before_the_next_node),
        WITH(test_a_kernels_error_names_its_node),
        WITH(test_a_hooks_error_comes_as_it_is),
        WITHOUT(test_forward_alone_reports_untouched_parts_at_the_end),
        WITHOUT(test_backend_errors_name_what_failed),
        WITHOUT(test_a_foreign_flat_vector_is_refused),
        WITHOUT(test_a_variant_without_a_gradient_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
