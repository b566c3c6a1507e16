/* What exporters write out becomes the operator it means, and what only looks like it does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "graph/attrs.h"
#include "unit/onnx/support_import.h"

#include <math.h>
#include <stdio.h>

/* A constant number of the model. */
static void number(file *f, const char *name, float value)
{
    file_float(f, file_node(f, "Constant", "", name), "value_float", value);
}

static file *begin(void)
{
    file *f = file_create(17);
    file_input(f, "x", FILE_FLOAT, "N,6");
    return f;
}

/* The model ends at y, and is one node of that operator. */
static imported ends_as(file *f, graph_op op, int32_t n_nodes)
{
    file_output(f, "y");
    imported p = import_ok(f, ONNX_TRAIN);
    assert_int_equal(count_ops(&p, op), 1);
    assert_int_equal(graph_n_nodes(p.g), n_nodes);
    return p;
}

static void finish(file *f, imported *p)
{
    imported_fini(p);
    file_destroy(&f);
}

static void linear(void **state)
{
    (void)state;
    file *f = begin();
    file_weights(f, "fc.weight", "3,6");
    file_weights(f, "fc.bias", "3");
    file_list(f, file_node(f, "Transpose", "fc.weight", "t"), "perm", "1,0");
    file_node(f, "MatMul", "x t", "product");
    file_node(f, "Add", "fc.bias product", "y");
    imported p = ends_as(f, OP_GEMM, 1);
    const gemm_attr *a = graph_node_at(p.g, 0)->attr;
    assert_true(a->trans_b);
    expect_shape(&p, 0, "[4,3]");
    finish(f, &p);
}

/* A Transpose that leaves the axes where they are: the shape of a square says nothing. */
static void product_with_no_transpose(void **state)
{
    (void)state;
    file *f = begin();
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
    finish(f, &p);
}

static void linear_of_rows(void **state)
{
    (void)state;
    file *f = begin();
    file_weights(f, "fc.weight", "3,5");
    file_weights(f, "fc.bias", "5");
    file_ints(f, "shape", "4,2,3");
    file_node(f, "Reshape", "x shape", "rows");
    file_node(f, "MatMul", "rows fc.weight", "product");
    file_node(f, "Add", "product fc.bias", "y");
    imported p = ends_as(f, OP_GEMM, 4);
    expect_shape(&p, 0, "[4,2,5]");
    finish(f, &p);
}

/* Between two of them what treats all rows alike works on the matrix. */
static void rows_stay_rows(void **state)
{
    (void)state;
    file *f = begin();
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
    finish(f, &p);
}

static void product_with_a_transpose(void **state)
{
    (void)state;
    file *f = begin();
    file_list(f, file_node(f, "Transpose", "x", "t"), "perm", "1,0");
    file_node(f, "MatMul", "x t", "y");
    imported p = ends_as(f, OP_MATMUL, 1);
    const matmul_attr *a = graph_node_at(p.g, 0)->attr;
    assert_true(!a->trans_a && a->trans_b);
    expect_shape(&p, 0, "[4,4]");
    finish(f, &p);
}

/* Read from outside the pattern, the product must stay. */
static void product_read_twice(void **state)
{
    (void)state;
    file *f = begin();
    file_weights(f, "fc.weight", "6,6");
    file_weights(f, "fc.bias", "6");
    file_node(f, "MatMul", "x fc.weight", "product");
    file_node(f, "Add", "product fc.bias", "sum");
    file_node(f, "Mul", "sum product", "y");
    imported p = ends_as(f, OP_MATMUL, 3);
    finish(f, &p);
}

/* x/2 (1 + erf(x / root)) */
static file *by_erf(float root)
{
    file *f = begin();
    number(f, "root", root);
    number(f, "one", 1.0f);
    number(f, "half", 0.5f);
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
    imported p = ends_as(f, OP_GELU, 1);
    const gelu_attr *a = graph_node_at(p.g, 0)->attr;
    assert_false(a->tanh);
    finish(f, &p);
}

static void gelu_by_tanh(void **state)
{
    (void)state;
    file *f = begin();
    number(f, "half", 0.5f);
    number(f, "three", 3.0f);
    number(f, "small", 0.044715f);
    number(f, "root", 0.79788456f);
    number(f, "one", 1.0f);
    file_node(f, "Mul", "half x", "a");
    file_node(f, "Pow", "x three", "b");
    file_node(f, "Mul", "small b", "c");
    file_node(f, "Add", "x c", "d");
    file_node(f, "Mul", "root d", "e");
    file_node(f, "Tanh", "e", "f");
    file_node(f, "Add", "f one", "g");
    file_node(f, "Mul", "a g", "y");
    imported p = ends_as(f, OP_GELU, 1);
    const gelu_attr *a = graph_node_at(p.g, 0)->attr;
    assert_true(a->tanh);
    finish(f, &p);
}

static void not_quite_gelu(void **state)
{
    (void)state;
    file *f = by_erf(1.5f);
    imported p = ends_as(f, OP_ERF, 5);
    finish(f, &p);
}

static void no_gelu_of_more_axes(void **state)
{
    (void)state;
    file *f = begin();
    number(f, "root", 1.41421356f);
    number(f, "one", 1.0f);
    file_weights(f, "val_9", "1,1,1"); /* 0.5 */
    file_node(f, "Div", "x root", "a");
    file_node(f, "Erf", "a", "b");
    file_node(f, "Add", "b one", "c");
    file_node(f, "Mul", "x c", "d");
    file_node(f, "Mul", "d val_9", "y");
    imported p = ends_as(f, OP_ERF, 5);
    expect_shape(&p, 0, "[1,4,6]");
    finish(f, &p);
}

/* Roots of two that are other numbers from the fifth digit on, or the sixth. */
static void no_gelu_of_other_numbers(void **state)
{
    static const float roots[] = {1.414f, 1.41423f};
    (void)state;
    for (int i = 0; i < 2; i++) {
        file *f = begin();
        number(f, "root", roots[i]);
        number(f, "one", 1.0f);
        number(f, "half", 0.5f);
        file_node(f, "Div", "x root", "a");
        file_node(f, "Erf", "a", "b");
        file_node(f, "Add", "b one", "c");
        file_node(f, "Mul", "x c", "d");
        file_node(f, "Mul", "d half", "y");
        imported p = ends_as(f, OP_ERF, 5);
        finish(f, &p);
    }
}

static void layer_norm(void **state)
{
    (void)state;
    file *f = begin();
    file_weights(f, "norm.weight", "6");
    file_weights(f, "norm.bias", "6");
    number(f, "two", 2.0f);
    number(f, "epsilon", 0.001f);
    file_list(f, file_node(f, "ReduceMean", "x", "mean"), "axes", "-1");
    file_node(f, "Sub", "x mean", "d");
    file_node(f, "Pow", "d two", "square");
    file_list(f, file_node(f, "ReduceMean", "square", "variance"), "axes", "-1");
    file_node(f, "Add", "variance epsilon", "sum");
    file_node(f, "Sqrt", "sum", "deviation");
    file_node(f, "Div", "d deviation", "normal");
    file_node(f, "Mul", "normal norm.weight", "scaled");
    file_node(f, "Add", "scaled norm.bias", "y");
    imported p = ends_as(f, OP_LAYER_NORMALIZATION, 1);
    const row_norm_attr *a = graph_node_at(p.g, 0)->attr;
    assert_true(a->epsilon == 0.001f);
    finish(f, &p);
}

/* softmax(q k^T / 2 + mask) v, dropout of the probabilities, heads first */
static void attention(void **state)
{
    (void)state;
    file *f = begin();
    number(f, "two", 2.0f);
    file_ints(f, "heads", "1,2,4,3");
    file_weights(f, "val_9", "4,4");
    file_node(f, "Reshape", "x heads", "q");
    file_list(f, file_node(f, "Transpose", "q", "kt"), "perm", "0,1,3,2");
    file_node(f, "MatMul", "q kt", "scores");
    file_node(f, "Div", "scores two", "scaled");
    file_node(f, "Add", "scaled val_9", "masked");
    file_int(f, file_node(f, "Softmax", "masked", "p"), "axis", -1);
    file_node(f, "Dropout", "p", "dropped mask");
    file_node(f, "MatMul", "dropped q", "y");
    imported p = ends_as(f, OP_ATTENTION, 2);
    const graph_node *n = graph_node_at(p.g, 1);
    const attention_attr *a = n->attr;
    assert_true(a->scale == 0.5f);
    assert_true(a->ratio == 0.5f);
    assert_int_equal(n->in[0], n->in[1]);
    expect_shape(&p, 0, "[1,2,4,3]");
    finish(f, &p);
}

/* A single query and a mask for four: four rows of results, which Attention would not make. */
static void no_attention_of_a_mask_that_broadcasts(void **state)
{
    (void)state;
    file *f = begin();
    file_ints(f, "one", "2,1,12");
    file_weights(f, "val_9", "4,1");
    file_node(f, "Reshape", "x one", "q");
    file_list(f, file_node(f, "Transpose", "q", "kt"), "perm", "0,2,1");
    file_node(f, "MatMul", "q kt", "scores");
    file_node(f, "Add", "scores val_9", "masked");
    file_int(f, file_node(f, "Softmax", "masked", "p"), "axis", -1);
    file_node(f, "MatMul", "p q", "y");
    file_output(f, "y");
    imported p = import_ok(f, ONNX_TRAIN);
    assert_int_equal(count_ops(&p, OP_ATTENTION), 0);
    expect_shape(&p, 0, "[2,4,12]");
    finish(f, &p);
}

/* A learned mask, and zeros for a row that may look at nothing. */
static void guarded_attention(void **state)
{
    (void)state;
    file *f = begin();
    number(f, "nothing", 0.0f);
    file_ints(f, "heads", "1,2,4,3");
    file_weights(f, "bias.weight", "2,4,4");
    file_node(f, "Reshape", "x heads", "q");
    file_list(f, file_node(f, "Transpose", "q", "kt"), "perm", "0,1,3,2");
    file_node(f, "MatMul", "q kt", "scores");
    file_node(f, "Add", "scores bias.weight", "masked");
    file_int(f, file_node(f, "Softmax", "masked", "p"), "axis", -1);
    file_node(f, "IsNaN", "p", "blind");
    file_node(f, "Where", "blind nothing p", "seen");
    file_node(f, "MatMul", "seen q", "y");
    imported p = ends_as(f, OP_ATTENTION, 2);
    const graph_value *mask = graph_value_at(p.g, graph_node_at(p.g, 1)->in[3]);
    assert_int_equal(mask->kind, VAL_PARAM);
    finish(f, &p);
}

/* One mask is learned, one hides: their sum is the mask. */
static void attention_of_two_masks(void **state)
{
    (void)state;
    file *f = begin();
    file_ints(f, "heads", "1,2,4,3");
    file_weights(f, "bias.weight", "2,4,4");
    file_weights(f, "val_9", "4");
    file_node(f, "Reshape", "x heads", "q");
    file_list(f, file_node(f, "Transpose", "q", "kt"), "perm", "0,1,3,2");
    file_node(f, "MatMul", "q kt", "scores");
    file_node(f, "Add", "bias.weight scores", "biased");
    file_node(f, "Add", "biased val_9", "masked");
    file_int(f, file_node(f, "Softmax", "masked", "p"), "axis", -1);
    file_node(f, "MatMul", "p q", "y");
    imported p = ends_as(f, OP_ATTENTION, 3);
    const graph_value *mask = graph_value_at(p.g, graph_node_at(p.g, 2)->in[3]);
    assert_int_equal(graph_node_at(p.g, mask->def)->op, OP_ADD);
    finish(f, &p);
}

/* What replaces NaN is no zero, or the probabilities are read elsewhere too. */
static void not_quite_guarded(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        file *f = begin();
        number(f, "other", i ? 0.0f : 1.0f);
        file_ints(f, "heads", "1,2,4,3");
        file_node(f, "Reshape", "x heads", "q");
        file_list(f, file_node(f, "Transpose", "q", "kt"), "perm", "0,1,3,2");
        file_node(f, "MatMul", "q kt", "scores");
        file_int(f, file_node(f, "Softmax", "scores", "p"), "axis", -1);
        file_node(f, "IsNaN", "p", "blind");
        file_node(f, "Where", "blind other p", "seen");
        file_node(f, "MatMul", i ? "seen p" : "seen q", "y");
        imported p = ends_as(f, OP_SOFTMAX, 6);
        finish(f, &p);
    }
}

/* Where a position may look at no later one, written as masked_fill does. */
static void causal_attention(void **state)
{
    (void)state;
    file *f = begin();
    number(f, "two", 2.0f);
    number(f, "never", -INFINITY);
    file_ints(f, "heads", "1,2,4,3");
    file_ints(f, "square", "4,4");
    file_ints(f, "above", "0,1,1,1,0,0,1,1,0,0,0,1,0,0,0,0");
    file_node(f, "Reshape", "above square", "behind");
    file_int(f, file_node(f, "Cast", "behind", "hidden"), "to", FILE_BOOL);
    file_node(f, "Reshape", "x heads", "q");
    file_list(f, file_node(f, "Transpose", "q", "kt"), "perm", "0,1,3,2");
    file_node(f, "MatMul", "q kt", "scores");
    file_node(f, "Div", "scores two", "scaled");
    file_node(f, "Where", "hidden never scaled", "masked");
    file_int(f, file_node(f, "Softmax", "masked", "p"), "axis", -1);
    file_node(f, "MatMul", "p q", "y");
    imported p = ends_as(f, OP_ATTENTION, 2);
    const graph_node *n = graph_node_at(p.g, 1);
    assert_true(((const attention_attr *)n->attr)->causal);
    assert_int_equal(n->in[3], GRAPH_NONE);
    finish(f, &p);
}

/* Three cuts of one value, taken apart into heads and put together again. */
static file *packed_model(bool reversed)
{
    static const char *const parts[] = {"q", "k", "v"};
    static const char *const orders[] = {"0,2,1,3", "0,2,3,1", "0,2,1,3"};
    file *f = begin();
    number(f, "root", 1.41421356f);
    file_ints(f, "whole", "2,1,12");
    file_ints(f, "heads", "2,1,2,2");
    file_ints(f, "together", "2,1,4");
    file_node(f, "Reshape", "x whole", "packed");
    file_int(f, file_node(f, "Split", "packed", "cut_q cut_k third"), "axis", 2);
    file_ints(f, "starts", reversed ? "1,8" : "0,8");
    file_ints(f, "ends", reversed ? "-3,12" : "2,12");
    file_ints(f, "axes", "0,2");
    file_ints(f, "steps", reversed ? "-1,1" : "1,1");
    file_node(f, "Slice", "packed starts ends axes steps", "cut_v");
    for (int i = 0; i < 3; i++) {
        char in[16], apart[16];
        snprintf(in, sizeof in, "cut_%s heads", parts[i]);
        snprintf(apart, sizeof apart, "apart_%s", parts[i]);
        file_node(f, "Reshape", in, apart);
        file_list(f, file_node(f, "Transpose", apart, parts[i]), "perm", orders[i]);
    }
    file_node(f, "MatMul", "q k", "scores");
    file_node(f, "Div", "scores root", "scaled");
    file_int(f, file_node(f, "Softmax", "scaled", "p"), "axis", -1);
    file_node(f, "MatMul", "p v", "by_head");
    file_list(f, file_node(f, "Transpose", "by_head", "by_position"), "perm", "0,2,1,3");
    file_node(f, "Reshape", "by_position together", "y");
    return f;
}

static void packed_heads(void **state)
{
    (void)state;
    file *f = packed_model(false);
    imported p = ends_as(f, OP_ATTENTION, 2);
    const graph_node *n = graph_node_at(p.g, 1);
    const attention_attr *a = n->attr;
    assert_int_equal(n->in[1], GRAPH_NONE);
    assert_int_equal(a->q_heads, 2);
    assert_true(a->scale == 0.0f);
    expect_shape(&p, 0, "[2,1,4]");
    finish(f, &p);
}

/* One of the cuts has the examples in reverse. */
static void heads_that_are_not_packed(void **state)
{
    (void)state;
    file *f = packed_model(true);
    file_output(f, "y");
    imported p = import_ok(f, ONNX_TRAIN);
    assert_int_equal(count_ops(&p, OP_ATTENTION), 1);
    assert_int_equal(count_ops(&p, OP_SLICE), 3);
    finish(f, &p);
}

static void average_pool(void **state)
{
    (void)state;
    file *f = begin();
    file_ints(f, "planes", "2,3,2,2");
    file_node(f, "Reshape", "x planes", "image");
    file_list(f, file_node(f, "ReduceMean", "image", "y"), "axes", "-1,2");
    imported p = ends_as(f, OP_GLOBAL_AVERAGE_POOL, 2);
    expect_shape(&p, 0, "[2,3,1,1]");
    finish(f, &p);
}

/* What chunk becomes. */
static void sequence_of_parts(void **state)
{
    (void)state;
    file *f = begin();
    file_int(f, file_node(f, "Constant", "", "size"), "value_int", 4);
    file_ints(f, "last", "-1");
    file_int(f, file_node(f, "SplitToSequence", "x size", "parts"), "axis", -1);
    file_node(f, "SequenceAt", "parts last", "y");
    imported p = ends_as(f, OP_SLICE, 1);
    expect_shape(&p, 0, "[4,2]");
    finish(f, &p);
}

static void sequence_read_by_others(void **state)
{
    (void)state;
    file *f = begin();
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
    file *f = begin();
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
        cmocka_unit_test(not_quite_gelu),
        cmocka_unit_test(no_gelu_of_more_axes),
        cmocka_unit_test(no_gelu_of_other_numbers),
        cmocka_unit_test(layer_norm),
        cmocka_unit_test(attention),
        cmocka_unit_test(no_attention_of_a_mask_that_broadcasts),
        cmocka_unit_test(guarded_attention),
        cmocka_unit_test(not_quite_guarded),
        cmocka_unit_test(attention_of_two_masks),
        cmocka_unit_test(causal_attention),
        cmocka_unit_test(packed_heads),
        cmocka_unit_test(heads_that_are_not_packed),
        cmocka_unit_test(average_pool),
        cmocka_unit_test(sequence_of_parts),
        cmocka_unit_test(sequence_read_by_others),
        cmocka_unit_test(sequence_of_nothing_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
