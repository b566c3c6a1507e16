#include "numeric/support_lane.h"

#include "numeric/support_tested.h"
#include "numeric/support_values.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

void must(status st, const error *err)
{
    if (st != OK)
        fail_msg("%s: %s", status_name(st), err->text);
}

flat *lane_layout(const graph *g)
{
    size_t n = (size_t)graph_n_params(g);
    if (n == 0)
        return NULL;
    graph_val *order = xcalloc(n, sizeof *order);
    tensor_decl *tensors = xcalloc(n, sizeof *tensors);
    graph_param_order(g, order);
    for (size_t i = 0; i < n; i++)
        tensors[i] = *graph_value_at(g, order[i])->param;
    flat *layout = NULL;
    error err = ERROR_INIT;
    must(flat_create(tensors, n, &layout, &err), &err);
    free(order);
    free(tensors);
    return layout;
}

void lane_init(lane *l, const graph *const *graphs, size_t n_graphs, int threads)
{
    lane_init_on(l, tested_backend, graphs, n_graphs, threads);
}

void lane_init_on(lane *l, const backend_ops *ops, const graph *const *graphs, size_t n_graphs,
                  int threads)
{
    error err = ERROR_INIT;
    *l = (lane){.graphs = graphs, .layout = lane_layout(graphs[0])};
    size_t elements = l->layout ? (size_t)l->layout->n_elements : 0;
    void *params = NULL;
    must(mem_alloc(elements * sizeof(float), "parameters", &params, &err), &err);
    l->params = params;
    exec_options options = {
        .backend = ops,
        .device = {.threads = threads},
        .flat = l->layout,
        .graphs = graphs,
        .n_graphs = n_graphs,
    };
    must(exec_create(&options, &l->exec, &err), &err);
    exec_bind_params(l->exec, l->params);
}

void lane_fini(lane *l)
{
    exec_destroy(&l->exec);
    flat_destroy(&l->layout);
    mem_free(l->params);
    *l = (lane){0};
}

void lane_set(lane *l, size_t variant, const char *name, const double *values)
{
    int32_t tensor = l->layout ? flat_find(l->layout, name) : -1;
    if (tensor >= 0) {
        values_store(DT_F32, l->layout->count[tensor], values,
                     l->params + l->layout->offset[tensor]);
        return;
    }
    const graph_value *value = NULL;
    void *to = exec_input(l->exec, variant, name, &value);
    if (!to)
        fail_msg("no input '%s'", name);
    values_store(value->dtype, graph_shape_elements(&value->shape), values, to);
}

void lane_run(lane *l, size_t variant, const exec_hooks *hooks)
{
    error err = ERROR_INIT;
    must(exec_run(l->exec, variant, hooks, &err), &err);
}

void lane_get(lane *l, size_t variant, const char *name, double *ret)
{
    const graph_value *value = NULL;
    const void *from = exec_value(l->exec, variant, name, &value);
    if (!from)
        fail_msg("no kept value '%s'", name);
    values_load(value->dtype, graph_shape_elements(&value->shape), from, ret);
}

const float *lane_grad(const lane *l, const char *param)
{
    return exec_grad(l->exec) + l->layout->offset[flat_find(l->layout, param)];
}
