/* Symbols in the shapes of inputs: what they are bound to, by the data and by the request. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/onnx/support_import.h"

#include <string.h>

/* A sum over the tokens that a mask keeps: two inputs of [N,S]. */
static file *masked(const char *mask)
{
    file *f = file_create(17);
    file_input(f, "x", FILE_FLOAT, "N,S");
    file_input(f, "mask", FILE_FLOAT, mask);
    file_node(f, "Mul", "x mask", "kept");
    file_ints(f, "last", "-1");
    file_node(f, "ReduceSum", "kept last", "y");
    file_output(f, "y");
    return f;
}

/* Fed [4,6] and [rows,columns]. */
static status feed(const file *f, int64_t rows, int64_t columns, const onnx_dim *dims,
                   size_t n_dims, error *err)
{
    onnx_model *m = file_open(f);
    graph *g = NULL;
    onnx_imported i = {.memory = NULL};
    onnx_binding bound[2] = {{.input = "x"}, {.input = "mask"}};
    graph_shape mask = {.rank = 2, .dim = {rows, columns}};
    assert_int_equal(graph_create(&g, NULL), OK);
    assert_int_equal(graph_input(g, "a", DT_F32, (graph_shape){2, {4, 6}}, &bound[0].value, NULL),
                     OK);
    assert_int_equal(graph_input(g, "b", DT_F32, mask, &bound[1].value, NULL), OK);
    onnx_request r = {.inputs = bound,
                      .n_inputs = 2,
                      .dims = dims,
                      .n_dims = n_dims,
                      .batch_id = GRAPH_NONE};
    status st = onnx_import(m, g, &r, &i, err);
    onnx_imported_fini(&i);
    graph_destroy(&g);
    onnx_close(&m);
    return st;
}

static void expect(const char *mask, int64_t rows, int64_t columns, onnx_dim dim, const char *text)
{
    error err = ERROR_INIT;
    file *f = masked(mask);
    status st = feed(f, rows, columns, &dim, dim.param != NULL, &err);
    assert_int_equal(st, *text ? E_CONFIG : OK);
    if (!strstr(err.text, text))
        fail_msg("'%s' does not hold '%s'", err.text, text);
    file_destroy(&f);
}

static void bound_by_the_data(void **state)
{
    (void)state;
    const onnx_dim none = {.param = NULL};
    expect("N,S", 4, 6, none, "");
    expect("N,T", 4, 1, none, "");
    expect("N,S", 4, 1, none,
           "axis 1 of input 'mask' is 'S', which is fed 1 there and 6 by input 'x'");
    expect("N,S", 1, 6, none, "axis 0 of input 'mask' is 'N', which is fed 1 there and 4");
}

static void bound_by_the_request(void **state)
{
    (void)state;
    expect("N,S", 4, 6, (onnx_dim){"S", 6}, "");
    expect("N,T", 4, 1, (onnx_dim){"T", 1}, "");
    expect("N,S", 4, 6, (onnx_dim){"N", 4}, "");
    expect("N,S", 4, 6, (onnx_dim){"S", 7},
           "model.dims says 'S' = 7, but axis 1 of input 'x' is fed 6");
    expect("N,6", 4, 6, (onnx_dim){"T", 6},
           "model.dims: no axis of an input is called 'T'; one is called 'N'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bound_by_the_data),
        cmocka_unit_test(bound_by_the_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
