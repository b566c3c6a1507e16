/* Operators whose result, or what they choose, must be known before the run; and old opsets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "graph/attrs.h"
#include "unit/onnx/support_import.h"

#include <stdio.h>

static file *begin(int64_t opset)
{
    file *f = file_create(opset);
    file_input(f, "x", FILE_FLOAT, "N,6");
    return f;
}

static void expect_ints(const imported *p, size_t output, const char *values)
{
    const host_tensor *h = p->i.outputs[output].host;
    char is[256] = "";
    size_t used = 0;
    assert_non_null(h);
    for (int64_t i = 0; i < h->n && used < sizeof is; i++)
        used += (size_t)snprintf(is + used, sizeof is - used, "%s%lld", i ? "," : "",
                                 (long long)host_get_int(h, i));
    assert_string_equal(is, values);
}

static void compress_is_a_gather(void **state)
{
    (void)state;
    file *f = begin(11);
    file_ints(f, "which", "0,1,0,1");
    file_int(f, file_node(f, "Compress", "x which", "rows"), "axis", 0);
    file_int(f, file_node(f, "Compress", "x which", "columns"), "axis", -1);
    file_node(f, "Compress", "x which", "elements");
    file_output(f, "rows");
    file_output(f, "columns");
    file_output(f, "elements");
    imported p = import_ok(f, ONNX_TRAIN);
    expect_shape(&p, 0, "[2,6]");
    expect_shape(&p, 1, "[4,2]");
    expect_shape(&p, 2, "[2]");
    assert_int_equal(count_ops(&p, OP_GATHER), 3);
    imported_fini(&p);
    file_destroy(&f);
}

static void a_condition_that_reaches_too_far_is_refused(void **state)
{
    (void)state;
    file *f = begin(11);
    file_ints(f, "which", "0,0,0,0,1");
    file_int(f, file_node(f, "Compress", "x which", "y"), "axis", 0);
    file_output(f, "y");
    expect_error(f, E_DATA, "its condition holds at 4, behind an axis of 4");
    file_destroy(&f);
    f = begin(13);
    file_weights(f, "bound", "6");
    file_node(f, "Greater", "x bound", "which");
    file_node(f, "Compress", "x which", "y");
    file_output(f, "y");
    expect_error(f, E_UNSUPPORTED, "depends on data, but must be known before the run");
    file_destroy(&f);
}

static void unique_tells_places_and_counts(void **state)
{
    (void)state;
    static const char *const expected[][4] = {
        {"7,3,9", "0,1,4", "0,1,1,0,2", "2,2,1"},
        {"3,7,9", "1,0,4", "1,0,0,1,2", "2,2,1"},
    };
    for (int sorted = 0; sorted < 2; sorted++) {
        file *f = begin(11);
        file_ints(f, "list", "7,3,3,7,9");
        file_int(f, file_node(f, "Unique", "list", "y first of count"), "sorted", sorted);
        file_output(f, "y");
        file_output(f, "first");
        file_output(f, "of");
        file_output(f, "count");
        imported p = import_ok(f, ONNX_EVAL);
        for (size_t i = 0; i < 4; i++)
            expect_ints(&p, i, expected[sorted][i]);
        imported_fini(&p);
        file_destroy(&f);
    }
}

static void a_diagonal_may_lie_outside(void **state)
{
    (void)state;
    const struct {
        int64_t k;
        const char *values;
    } rows[] = {{0, "1,0,0,0,1,0"},
                {-1, "0,0,0,1,0,0"},
                {2, "0,0,1,0,0,0"},
                {INT64_MAX, "0,0,0,0,0,0"},
                {INT64_MIN, "0,0,0,0,0,0"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        file *f = begin(9);
        file_ints(f, "list", "8,8,8,8,8,8");
        file_ints(f, "sides", "2,3");
        file_node(f, "Reshape", "list sides", "matrix");
        file_int(f, file_node(f, "EyeLike", "matrix", "y"), "k", rows[i].k);
        file_output(f, "y");
        imported p = import_ok(f, ONNX_EVAL);
        expect_ints(&p, 0, rows[i].values);
        imported_fini(&p);
        file_destroy(&f);
    }
}

static file *unpool(const char *sizes)
{
    file *f = begin(11);
    file_ints(f, "apart", "2,2,2,3");
    file_ints(f, "sizes", sizes);
    file_node(f, "Reshape", "x apart", "images");
    Onnx__NodeProto *pool = file_node(f, "MaxPool", "images", "small places");
    file_list(f, pool, "kernel_shape", "1,2");
    Onnx__NodeProto *n = file_node(f, "MaxUnpool", "small places sizes", "y");
    file_list(f, n, "kernel_shape", "1,2");
    file_output(f, "y");
    return f;
}

static void unpooled_images_may_be_longer(void **state)
{
    (void)state;
    file *f = unpool("2,2,2,4");
    imported p = import_ok(f, ONNX_TRAIN);
    expect_shape(&p, 0, "[2,2,2,4]");
    imported_fini(&p);
    file_destroy(&f);
    f = unpool("2,2,2,2");
    expect_error(f, E_DATA, "its output_shape is shorter than what it makes");
    file_destroy(&f);
    f = unpool("2,2");
    expect_error(f, E_DATA, "its output_shape has 2 axes, its input 4");
    file_destroy(&f);
}

static void old_operands_begin_at_an_axis(void **state)
{
    (void)state;
    file *f = begin(6);
    file_weights(f, "column", "4");
    Onnx__NodeProto *n = file_node(f, "Pow", "x column", "y");
    file_int(f, n, "broadcast", 1);
    file_int(f, n, "axis", 0);
    file_output(f, "y");
    imported p = import_ok(f, ONNX_TRAIN);
    expect_shape(&p, 0, "[4,6]");
    imported_fini(&p);
    file_destroy(&f);
    f = begin(6);
    file_weights(f, "matrix", "6,2");
    n = file_node(f, "Add", "x matrix", "y");
    file_int(f, n, "broadcast", 1);
    file_int(f, n, "axis", 1);
    file_output(f, "y");
    expect_error(f, E_DATA, "its second input has too many axes to begin at axis 1");
    file_destroy(&f);
}

/* Whatever the exponent is: a product, a root, nothing at all. */
static void an_exponent_may_have_more_axes(void **state)
{
    (void)state;
    static const float exponents[] = {1.0f, 2.0f, 0.5f, -1.0f, 1.7f};
    for (size_t i = 0; i < COUNT_OF(exponents); i++) {
        file *f = begin(13);
        file_weights(f, "val_9", "1,1,1")->float_data[0] = exponents[i];
        file_node(f, "Pow", "x val_9", "y");
        file_output(f, "y");
        imported p = import_ok(f, ONNX_TRAIN);
        expect_shape(&p, 0, "[1,4,6]");
        imported_fini(&p);
        file_destroy(&f);
    }
}

static void a_power_of_nothing_is_refused(void **state)
{
    (void)state;
    file *f = begin(13);
    file_node(f, "Pow", "x", "y");
    file_output(f, "y");
    expect_error(f, E_DATA, "its input 1 is missing");
    file_destroy(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compress_is_a_gather),
        cmocka_unit_test(a_condition_that_reaches_too_far_is_refused),
        cmocka_unit_test(unique_tells_places_and_counts),
        cmocka_unit_test(a_diagonal_may_lie_outside),
        cmocka_unit_test(unpooled_images_may_be_longer),
        cmocka_unit_test(old_operands_begin_at_an_axis),
        cmocka_unit_test(an_exponent_may_have_more_axes),
        cmocka_unit_test(a_power_of_nothing_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
