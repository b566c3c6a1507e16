#include "numeric/onnx_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { MOST_IN = 8 };

static graph_val put_input(graph *g, const run_input *in)
{
    graph_val v;
    error err = ERROR_INIT;
    tensor_decl decl = {.name = in->name, .rank = in->shape.rank};
    memcpy(decl.dim, in->shape.dim, sizeof decl.dim);
    must(in->trained ? graph_param(g, &decl, &v, &err)
                     : graph_input(g, in->name, in->type, in->shape, &v, &err),
         &err);
    return v;
}

/* The graph, whose kept values are called "out.0" and so on. */
static graph *build(const file *f, const run_input *in, size_t n_in, run_result *r)
{
    const graph_shape one = {.rank = 1, .dim = {1}};
    error err = ERROR_INIT;
    graph *g = NULL;
    onnx_binding bound[MOST_IN];
    onnx_imported imported;
    onnx_model *m = file_open(f);
    onnx_request request = {
        .mode = ONNX_TRAIN, .inputs = bound, .n_inputs = n_in, .seed = RUN_SEED};
    assert_true(n_in <= MOST_IN);
    must(graph_create(&g, &err), &err);
    for (size_t i = 0; i < n_in; i++)
        bound[i] = (onnx_binding){.input = in[i].name, .value = put_input(g, &in[i])};
    must(graph_input(g, "batch.id", DT_I64, one, &request.batch_id, &err), &err);
    must(onnx_import(m, g, &request, &imported, &err), &err);
    r->n = imported.n_outputs;
    assert_true(r->n <= RUN_MOST_OUT);
    for (size_t k = 0; k < r->n; k++) {
        char name[32];
        graph_val v = imported.outputs[k].value;
        snprintf(name, sizeof name, "out.%zu", k);
        if (v == GRAPH_NONE)
            fail_msg("output %zu is known before the run", k);
        must(graph_add_1(g, OP_IDENTITY, name, &v, 1, NULL, &v, &err), &err);
        graph_keep(g, v);
        r->shape[k] = graph_value_at(g, v)->shape;
        r->type[k] = graph_value_at(g, v)->dtype;
        assert_true(graph_shape_elements(&r->shape[k]) <= RUN_MOST_ELEMENTS);
    }
    onnx_imported_fini(&imported);
    onnx_close(&m);
    return g;
}

run_result *run_file(const file *f, const run_input *in, size_t n_in, int64_t batch)
{
    lane l;
    run_result *r = xcalloc(1, sizeof *r);
    graph *g = build(f, in, n_in, r);
    lane_init(&l, (const graph *const *)&g, 1, 2);
    for (size_t i = 0; i < n_in; i++)
        lane_set(&l, 0, in[i].name, in[i].x);
    lane_set(&l, 0, "batch.id", &(double){(double)batch});
    lane_run(&l, 0, NULL);
    for (size_t k = 0; k < r->n; k++) {
        char name[32];
        snprintf(name, sizeof name, "out.%zu", k);
        lane_get(&l, 0, name, r->y[k]);
    }
    lane_fini(&l);
    graph_destroy(&g);
    return r;
}
