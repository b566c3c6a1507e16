/* Imported tensors without elements: cut off, put together, folded, and as initializers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/onnx/support_import.h"

static file *begin(int64_t opset)
{
    file *f = file_create(opset);
    file_input(f, "x", FILE_FLOAT, "N,6");
    return f;
}

static void expect_known(const imported *p, size_t output, const char *shape)
{
    char text[SHAPE_TEXT];
    const host_tensor *h = p->i.outputs[output].host;
    assert_non_null(h);
    assert_string_equal(graph_shape_text(&h->shape, text, sizeof text), shape);
}

static void pieces_may_be_empty(void **state)
{
    (void)state;
    file *f = begin(13);
    file_ints(f, "rows", "4");
    file_ints(f, "end", "9");
    file_ints(f, "zero", "0");
    file_ints(f, "sizes", "0,6");
    file_ints(f, "times", "0,1");
    file_node(f, "Slice", "x rows end zero", "none");
    file_int(f, file_node(f, "Concat", "none x none", "all"), "axis", 0);
    file_int(f, file_node(f, "Split", "x sizes", "left right"), "axis", 1);
    file_node(f, "Tile", "x times", "never");
    const char *const outputs[] = {"none", "all", "left", "right", "never"};
    const char *const shapes[] = {"[0,6]", "[4,6]", "[4,0]", "[4,6]", "[0,6]"};
    for (size_t i = 0; i < COUNT_OF(outputs); i++)
        file_output(f, outputs[i]);
    imported p = import_ok(f, ONNX_EVAL);
    for (size_t i = 0; i < COUNT_OF(outputs); i++)
        expect_shape(&p, i, shapes[i]);
    imported_fini(&p);
    file_destroy(&f);
}

static void a_zero_copies_or_is_a_size(void **state)
{
    (void)state;
    file *f = begin(14);
    file_ints(f, "start", "4");
    file_ints(f, "end", "9");
    file_ints(f, "copied", "0,3,-1");
    file_ints(f, "said", "5,0");
    file_node(f, "Slice", "x start end", "none");
    file_node(f, "Reshape", "x copied", "y");
    file_int(f, file_node(f, "Reshape", "none said", "z"), "allowzero", 1);
    file_output(f, "y");
    file_output(f, "z");
    imported p = import_ok(f, ONNX_EVAL);
    expect_shape(&p, 0, "[4,3,2]");
    expect_shape(&p, 1, "[5,0]");
    imported_fini(&p);
    file_destroy(&f);
}

static void an_open_size_beside_nothing_is_refused(void **state)
{
    (void)state;
    file *f = begin(14);
    file_ints(f, "start", "4");
    file_ints(f, "end", "9");
    file_ints(f, "copied", "0,-1");
    file_node(f, "Slice", "x start end", "none");
    file_node(f, "Reshape", "none copied", "y");
    file_output(f, "y");
    expect_error(f, E_CONFIG, "the input [0,6] cannot take the shape [0,-1]");
    file_destroy(&f);
    f = begin(14);
    file_ints(f, "none", "");
    file_ints(f, "copied", "0,-1");
    file_node(f, "Reshape", "none copied", "y");
    file_output(f, "y");
    expect_error(f, E_DATA, "nothing tells what its -1 stands for beside a 0");
    file_destroy(&f);
}

static void what_is_known_may_be_empty(void **state)
{
    (void)state;
    file *f = begin(13);
    file_ints(f, "zeros", "0,0,0");
    file_ints(f, "none", "");
    file_ints(f, "wide", "1,0");
    file_ints(f, "end", "-2");
    file_node(f, "NonZero", "zeros", "places");
    file_node(f, "Gather", "x places", "rows");
    file_node(f, "Gather", "zeros none", "picked");
    file_node(f, "Expand", "end wide", "spread");
    file_int(f, file_node(f, "ReduceProd", "none", "product"), "keepdims", 0);
    file_int(f, file_node(f, "ReduceSum", "none", "sum"), "keepdims", 0);
    const char *const known[] = {"places", "picked", "spread", "product", "sum"};
    const char *const shapes[] = {"[1,0]", "[0]", "[1,0]", "[]", "[]"};
    for (size_t i = 0; i < COUNT_OF(known); i++)
        file_output(f, known[i]);
    file_output(f, "rows");
    imported p = import_ok(f, ONNX_EVAL);
    for (size_t i = 0; i < COUNT_OF(known); i++)
        expect_known(&p, i, shapes[i]);
    assert_int_equal(host_get_int(p.i.outputs[3].host, 0), 1);
    assert_int_equal(host_get_int(p.i.outputs[4].host, 0), 0);
    expect_shape(&p, COUNT_OF(known), "[1,0,6]");
    imported_fini(&p);
    file_destroy(&f);
}

static void an_empty_initializer_is_no_weight(void **state)
{
    (void)state;
    file *f = begin(13);
    file_weights(f, "past", "0,6");
    file_int(f, file_node(f, "Concat", "past x", "y"), "axis", 0);
    file_output(f, "y");
    imported p = import_ok(f, ONNX_TRAIN);
    expect_shape(&p, 0, "[4,6]");
    assert_int_equal(p.i.n_weights, 0);
    assert_int_equal(graph_n_params(p.g), 0);
    imported_fini(&p);
    file_destroy(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_may_be_empty),
        cmocka_unit_test(a_zero_copies_or_is_a_size),
        cmocka_unit_test(an_open_size_beside_nothing_is_refused),
        cmocka_unit_test(what_is_known_may_be_empty),
        cmocka_unit_test(an_empty_initializer_is_no_weight),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
