/* What exporters write out becomes the operator it means, and what only looks like it does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "graph/attrs.h"
#include "unit/onnx/support_fusing.h"

static void linear(void **state)
{
    (void)state;
    file *f = fusing_begin();
    file_weights(f, "fc.weight", "3,6");
    file_weights(f, "fc.bias", "3");
    file_list(f, file_node(f, "Transpose", "fc.weight", "t"), "perm", "1,0");
    file_node(f, "MatMul", "x t", "product");
    file_node(f, "Add", "fc.bias product", "y");
    imported p = fusing_ends_as(f, OP_GEMM, 1);
    const gemm_attr *a = graph_node_at(p.g, 0)->attr;
    assert_true(a->trans_b);
    expect_shape(&p, 0, "[4,3]");
    fusing_finish(f, &p);
}

/* A Transpose that leaves the axes where they are: the shape of a square says nothing. */
static void product_with_no_transpose(void **state)
{
    (void)state;
    file *f = fusing_begin();
    file_weights(f, "fc.weight", "6,6");
    file_list(f, file_node(f, "Transpose", "fc.weight", "t"), "perm", "0,1");
    file_node(f, "MatMul", "x t", "y");
    file_output(f, "y");
    imported p = import_ok(f, ONNX_TRAIN);
    for (int32_t i = 0; i < graph_n_nodes(p.g); i++) {
        const graph_node *n = graph_node_at(p.g, i);
        assert_false(n->op == OP_GEMM && ((const gemm_attr *)n->attr)->trans_b);
        assert_false(n->op == OP_MATMUL && ((const matmul_attr *)n->attr)->trans_b);
    }
    fusing_finish(f, &p);
}

static void linear_of_rows(void **state)
{
    (void)state;
    file *f = fusing_begin();
    file_weights(f, "fc.weight", "3,5");
    file_weights(f, "fc.bias", "5");
    file_ints(f, "shape", "4,2,3");
    file_node(f, "Reshape", "x shape", "rows");
    file_node(f, "MatMul", "rows fc.weight", "product");
    file_node(f, "Add", "product fc.bias", "y");
    imported p = fusing_ends_as(f, OP_GEMM, 4);
    expect_shape(&p, 0, "[4,2,5]");
    fusing_finish(f, &p);
}

/* Between two of them what treats all rows alike works on the matrix. */
static void rows_stay_rows(void **state)
{
    (void)state;
    file *f = fusing_begin();
    file_weights(f, "fc.weight", "3,3");
    file_weights(f, "fc.bias", "3");
    file_ints(f, "shape", "4,2,3");
    file_node(f, "Reshape", "x shape", "rows");
    file_node(f, "MatMul", "rows fc.weight", "product");
    file_node(f, "Add", "product fc.bias", "a");
    file_node(f, "Tanh", "a", "b");
    file_node(f, "Add", "rows b", "c");
    file_node(f, "MatMul", "c fc.weight", "y");
    file_output(f, "y");
    imported p = import_ok(f, ONNX_TRAIN);
    assert_int_equal(count_ops(&p, OP_GEMM), 2);
    assert_int_equal(count_ops(&p, OP_RESHAPE), 3);
    assert_int_equal(graph_n_nodes(p.g), 7);
    expect_shape(&p, 0, "[4,2,3]");
    fusing_finish(f, &p);
}

static void product_with_a_transpose(void **state)
{
    (void)state;
    file *f = fusing_begin();
    file_list(f, file_node(f, "Transpose", "x", "t"), "perm", "1,0");
    file_node(f, "MatMul", "x t", "y");
    imported p = fusing_ends_as(f, OP_MATMUL, 1);
    const matmul_attr *a = graph_node_at(p.g, 0)->attr;
    assert_true(!a->trans_a && a->trans_b);
    expect_shape(&p, 0, "[4,4]");
    fusing_finish(f, &p);
}

/* Read from outside the pattern, the product must stay. */
static void product_read_twice(void **state)
{
    (void)state;
    file *f = fusing_begin();
    file_weights(f, "fc.weight", "6,6");
    file_weights(f, "fc.bias", "6");
    file_node(f, "MatMul", "x fc.weight", "product");
    file_node(f, "Add", "product fc.bias", "sum");
    file_node(f, "Mul", "sum product", "y");
    imported p = fusing_ends_as(f, OP_MATMUL, 3);
    fusing_finish(f, &p);
}

/* x/2 (1 + erf(x / root)) */
static file *by_erf(float root)
{
    file *f = fusing_begin();
    fusing_number(f, "root", root);
    fusing_number(f, "one", 1.0f);
    fusing_number(f, "half", 0.5f);
    file_node(f, "Div", "x root", "a");
    file_node(f, "Erf", "a", "b");
    file_node(f, "Add", "b one", "c");
    file_node(f, "Mul", "x c", "d");
    file_node(f, "Mul", "d half", "y");
    return f;
}

static void gelu_by_erf(void **state)
{
    (void)state;
    file *f = by_erf(1.41421356f);
    imported p = fusing_ends_as(f, OP_GELU, 1);
    const gelu_attr *a = graph_node_at(p.g, 0)->attr;
    assert_false(a->tanh);
    fusing_finish(f, &p);
}

static void gelu_by_tanh(void **state)
{
    (void)state;
    file *f = fusing_begin();
    fusing_number(f, "half", 0.5f);
    fusing_number(f, "three", 3.0f);
    fusing_number(f, "small", 0.044715f);
    fusing_number(f, "root", 0.79788456f);
    fusing_number(f, "one", 1.0f);
    file_node(f, "Mul", "half x", "a");
    file_node(f, "Pow", "x three", "b");
    file_node(f, "Mul", "small b", "c");
    file_node(f, "Add", "x c", "d");
    file_node(f, "Mul", "root d", "e");
    file_node(f, "Tanh", "e", "f");
    file_node(f, "Add", "f one", "g");
    file_node(f, "Mul", "a g", "y");
    imported p = fusing_ends_as(f, OP_GELU, 1);
    const gelu_attr *a = graph_node_at(p.g, 0)->attr;
    assert_true(a->tanh);
    fusing_finish(f, &p);
}

static void no_gelu_of_more_axes(void **state)
{
    (void)state;
    file *f = fusing_begin();
    fusing_number(f, "root", 1.41421356f);
    fusing_number(f, "one", 1.0f);
    file_weights(f, "val_9", "1,1,1"); /* 0.5 */
    file_node(f, "Div", "x root", "a");
    file_node(f, "Erf", "a", "b");
    file_node(f, "Add", "b one", "c");
    file_node(f, "Mul", "x c", "d");
    file_node(f, "Mul", "d val_9", "y");
    imported p = fusing_ends_as(f, OP_ERF, 5);
    expect_shape(&p, 0, "[1,4,6]");
    fusing_finish(f, &p);
}

/* Roots of two that are other numbers from the fifth digit on, or the sixth. */
static void no_gelu_of_other_numbers(void **state)
{
    static const float roots[] = {1.414f, 1.41423f, 1.5f};
    (void)state;
    for (int i = 0; i < 3; i++) {
        file *f = by_erf(roots[i]);
        imported p = fusing_ends_as(f, OP_ERF, 5);
        fusing_finish(f, &p);
    }
}

static void layer_norm(void **state)
{
    (void)state;
    file *f = fusing_begin();
    file_weights(f, "norm.weight", "6");
    file_weights(f, "norm.bias", "6");
    fusing_number(f, "two", 2.0f);
    fusing_number(f, "epsilon", 0.001f);
    file_list(f, file_node(f, "ReduceMean", "x", "mean"), "axes", "-1");
    file_node(f, "Sub", "x mean", "d");
    file_node(f, "Pow", "d two", "square");
    file_list(f, file_node(f, "ReduceMean", "square", "variance"), "axes", "-1");
    file_node(f, "Add", "variance epsilon", "sum");
    file_node(f, "Sqrt", "sum", "deviation");
    file_node(f, "Div", "d deviation", "normal");
    file_node(f, "Mul", "normal norm.weight", "scaled");
    file_node(f, "Add", "scaled norm.bias", "y");
    imported p = fusing_ends_as(f, OP_LAYER_NORMALIZATION, 1);
    const row_norm_attr *a = graph_node_at(p.g, 0)->attr;
    assert_true(a->epsilon == 0.001f);
    fusing_finish(f, &p);
}

static void average_pool(void **state)
{
    (void)state;
    file *f = fusing_begin();
    file_ints(f, "planes", "2,3,2,2");
    file_node(f, "Reshape", "x planes", "image");
    file_list(f, file_node(f, "ReduceMean", "image", "y"), "axes", "-1,2");
    imported p = fusing_ends_as(f, OP_GLOBAL_AVERAGE_POOL, 2);
    expect_shape(&p, 0, "[2,3,1,1]");
    fusing_finish(f, &p);
}

/* What chunk becomes. */
static void sequence_of_parts(void **state)
{
    (void)state;
    file *f = fusing_begin();
    file_int(f, file_node(f, "Constant", "", "size"), "value_int", 4);
    file_ints(f, "last", "-1");
    file_int(f, file_node(f, "SplitToSequence", "x size", "parts"), "axis", -1);
    file_node(f, "SequenceAt", "parts last", "y");
    imported p = fusing_ends_as(f, OP_SLICE, 1);
    expect_shape(&p, 0, "[4,2]");
    fusing_finish(f, &p);
}

static void sequence_read_by_others(void **state)
{
    (void)state;
    file *f = fusing_begin();
    file_ints(f, "size", "4");
    file_node(f, "SplitToSequence", "x size", "parts");
    file_node(f, "Relu", "parts", "y");
    file_output(f, "y");
    expect_error(f, E_DATA, "(Relu): its input 0 is a sequence, must be a tensor");
    file_destroy(&f);
}

static void sequence_of_nothing_there(void **state)
{
    (void)state;
    file *f = fusing_begin();
    file_ints(f, "sizes", "4,2");
    file_ints(f, "last", "2");
    file_int(f, file_node(f, "SplitToSequence", "x sizes", "parts"), "axis", 1);
    file_node(f, "SequenceAt", "parts last", "y");
    file_output(f, "y");
    expect_error(f, E_DATA, "it names place 2 of a sequence of 2");
    file_destroy(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear),
        cmocka_unit_test(product_with_no_transpose),
        cmocka_unit_test(linear_of_rows),
        cmocka_unit_test(rows_stay_rows),
        cmocka_unit_test(product_with_a_transpose),
        cmocka_unit_test(product_read_twice),
        cmocka_unit_test(gelu_by_erf),
        cmocka_unit_test(gelu_by_tanh),
        cmocka_unit_test(no_gelu_of_more_axes),
        cmocka_unit_test(no_gelu_of_other_numbers),
        cmocka_unit_test(layer_norm),
        cmocka_unit_test(average_pool),
        cmocka_unit_test(sequence_of_parts),
        cmocka_unit_test(sequence_read_by_others),
        cmocka_unit_test(sequence_of_nothing_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
