#include "unit/exec/support_rig.h"

#include "graph/attrs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

enum { MOST_PARAMS = 64 };

void must(status st, const error *err)
{
    if (st != OK)
        fail_msg("%s: %s", status_name(st), err->text);
}

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

model make_model(int64_t batch, bool backward)
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

flat *layout_of(const graph *g)
{
    error err = ERROR_INIT;
    graph_val order[MOST_PARAMS];
    tensor_decl tensors[MOST_PARAMS];
    int32_t n = graph_n_params(g);
    assert_in_range(n, 1, MOST_PARAMS);
    graph_param_order(g, order);
    for (int32_t i = 0; i < n; i++)
        tensors[i] = *graph_value_at(g, order[i])->param;
    flat *f = NULL;
    must(flat_create(tensors, (size_t)n, &f, &err), &err);
    return f;
}

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

static status on_need(void *user, int32_t part, int64_t *ret_edition, error *err)
{
    (void)ret_edition, (void)err;
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
    stub_reset();
    *r = (rig){.backend = &backend_stub, .cancel_at = STUB_NEVER};
    r->model = make_model(4, true);
    r->small = make_model(3, true);
    r->flat = layout_of(r->model.graph);
    r->params = xcalloc((size_t)r->flat->n_elements, sizeof(float));
    stub.ran = on_node;
    stub.user = r;
    r->hooks = (exec_hooks){.need = on_need, .ready = on_ready, .user = r, .cancel = &r->cancel};
}

status rig_create(rig *r, const graph *first, const graph *second, const flat *f, error *err)
{
    const graph *graphs[] = {first, second};
    return exec_create(&(exec_options){.backend = r->backend,
                                       .device = {.threads = 3},
                                       .flat = f,
                                       .graphs = graphs,
                                       .traces = r->traces,
                                       .n_graphs = second ? 2 : 1},
                       &r->exec, err);
}

int set_up(void **state)
{
    error err = ERROR_INIT;
    rig *r = xcalloc(1, sizeof *r);
    rig_prepare(r);
    must(rig_create(r, r->model.graph, r->small.graph, r->flat, &err), &err);
    exec_bind_params(r->exec, r->params);
    *state = r;
    return 0;
}

int set_up_without_exec(void **state)
{
    rig *r = xcalloc(1, sizeof *r);
    rig_prepare(r);
    *state = r;
    return 0;
}

int tear_down(void **state)
{
    rig *r = *state;
    exec_destroy(&r->exec);
    graph_destroy(&r->model.graph);
    graph_destroy(&r->small.graph);
    flat_destroy(&r->flat);
    free(r->params);
    free(r);
    return stub.n_open;
}

void run(rig *r, size_t variant)
{
    error err = ERROR_INIT;
    r->n_events = 0;
    must(exec_run(r->exec, variant, &r->hooks, &err), &err);
}

int find_event(const rig *r, event_kind kind, int32_t index)
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

void part_span(const rig *r, const graph *g, int32_t part, bool reads_only, int32_t *ret_first,
               int32_t *ret_last)
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
