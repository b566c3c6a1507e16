#include "unit/onnx/support_import.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <string.h>

status import(const file *f, onnx_mode mode, bool keep_tied, imported *ret, error *err)
{
    imported p = {.m = file_open(f)};
    graph_val x, id;
    assert_int_equal(graph_create(&p.g, NULL), OK);
    assert_int_equal(
        graph_input(p.g, "fed", DT_F32, (graph_shape){.rank = 2, .dim = {4, 6}}, &x, NULL), OK);
    assert_int_equal(
        graph_input(p.g, "batch.id", DT_I64, (graph_shape){.rank = 1, .dim = {1}}, &id, NULL), OK);
    onnx_binding bound = {.input = "x", .value = x};
    onnx_request r = {.mode = mode,
                      .inputs = &bound,
                      .n_inputs = 1,
                      .seed = 7,
                      .batch_id = id,
                      .keep_tied = keep_tied};
    status st = onnx_import(p.m, p.g, &r, &p.i, err);
    *ret = p;
    return st;
}

imported import_ok(const file *f, onnx_mode mode)
{
    imported p;
    error err = ERROR_INIT;
    if (import(f, mode, false, &p, &err) != OK)
        fail_msg("%s", err.text);
    return p;
}

void imported_fini(imported *p)
{
    onnx_imported_fini(&p->i);
    graph_destroy(&p->g);
    onnx_close(&p->m);
}

void expect_shape(const imported *p, size_t output, const char *text)
{
    char is[SHAPE_TEXT];
    const graph_value *v = graph_value_at(p->g, p->i.outputs[output].value);
    assert_string_equal(graph_shape_text(&v->shape, is, sizeof is), text);
}

int count_ops(const imported *p, graph_op op)
{
    int n = 0;
    for (int32_t i = 0; i < graph_n_nodes(p->g); i++)
        n += graph_node_at(p->g, i)->op == op;
    return n;
}

void expect_error(const file *f, status code, const char *text)
{
    imported p;
    error err = ERROR_INIT;
    assert_int_equal(import(f, ONNX_TRAIN, false, &p, &err), code);
    if (!strstr(err.text, text))
        fail_msg("'%s' does not hold '%s'", err.text, text);
    imported_fini(&p);
}
