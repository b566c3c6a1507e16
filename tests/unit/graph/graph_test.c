/* The list of values and nodes: names, refusals that leave it as it was, order, flops, the dump. */
#include "graph/graph.h"
#include "graph/print.h"

#include "support/window_attrs.h"
#include "unit/graph/support_graph.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

static void every_operator_stands_in_the_table(void **state)
{
    (void)state;
    for (int op = 0; op < OP_COUNT; op++) {
        const graph_op_info *info = graph_op_of((graph_op)op);
        assert_int_equal(info->op, op);
        assert_non_null(info->name);
        assert_non_null(info->infer);
        assert_true(info->n_out >= 1);
        assert_true(info->min_in >= 0 && info->max_in >= info->min_in);
        if (info->traits & OP_BACKWARD)
            assert_null(info->grad);
    }
    assert_string_equal(graph_op_of(OP_CONV)->name, "Conv");
}

static void values_are_found_by_name(void **state)
{
    (void)state;
    graph *g = make_graph();
    char name[] = "x";
    graph_val x = make_input(g, name, DT_F32, DIMS(2, 3));
    name[0] = 'y'; /* the graph has its own copy */
    graph_val y = make_node(g, OP_RELU, "relu1", IN(x), NULL);
    graph_val z = make_node(g, OP_RELU, NULL, IN(y), NULL);
    assert_int_equal(graph_find(g, "x"), x);
    assert_int_equal(graph_find(g, "relu1"), y);
    assert_int_equal(graph_find(g, "Relu.1"), z);
    assert_int_equal(graph_find(g, "y"), GRAPH_NONE);
    assert_string_equal(graph_node_at(g, 1)->name, "Relu.1");
    assert_int_equal(graph_value_at(g, y)->def, 0);
    assert_int_equal(graph_value_at(g, x)->def, GRAPH_NONE);
    for (int i = 0; i < 500; i++)
        z = make_node(g, OP_RELU, NULL, IN(z), NULL);
    assert_int_equal(graph_find(g, graph_value_at(g, z)->name), z);
    assert_int_equal(graph_find(g, "x"), x);
    graph_destroy(&g);
    graph_destroy(&g);
}

static void made_names_give_way_to_given_ones(void **state)
{
    (void)state;
    graph *g = make_graph();
    graph_val x = make_input(g, "Relu.0", DT_F32, DIMS(2, 3));
    graph_val batch = make_input(g, "drop.1", DT_I64, DIMS(1));
    graph_val y = make_node(g, OP_RELU, NULL, IN(x), NULL);
    make_node(g, OP_DROPOUT, "drop", IN(y, batch), NULL);
    for (graph_val a = 0; a < graph_n_values(g); a++)
        assert_int_equal(graph_find(g, graph_value_at(g, a)->name), a);
    graph_destroy(&g);
}

static void doubled_and_empty_names_are_refused(void **state)
{
    (void)state;
    graph *g = make_graph();
    graph_val x = make_input(g, "x", DT_F32, DIMS(2, 3)), v;
    make_node(g, OP_RELU, "relu1", IN(x), NULL);
    error err = ERROR_INIT;
    assert_int_equal(graph_input(g, "x", DT_F32, DIMS(1), &v, &err), E_CONFIG);
    assert_string_equal(err.text, "input 'x': the name is taken already");
    error_clear(&err);
    assert_int_equal(graph_param(g, &(tensor_decl){.name = "relu1"}, &v, &err), E_CONFIG);
    assert_string_equal(err.text, "parameter 'relu1': the name is taken already");
    error_clear(&err);
    assert_int_equal(graph_param(g, &(tensor_decl){.name = ""}, &v, &err), E_CONFIG);
    assert_string_equal(err.text, "parameter needs a name");
    assert_refused(g, OP_RELU, "relu1", IN(x), NULL,
                   "node 'relu1' (Relu): another node has that name");
    assert_refused(g, OP_RELU, "x", IN(x), NULL, "node 'x' (Relu): another value has that name");
    graph_destroy(&g);
}

static void impossible_shapes_are_refused(void **state)
{
    (void)state;
    graph *g = make_graph();
    graph_val v;
    error err = ERROR_INIT;
    assert_int_equal(graph_input(g, "x", DT_F32, DIMS(8, -1), &v, &err), E_CONFIG);
    assert_string_equal(err.text, "input 'x': the shape [8,-1] has a negative axis");
    error_clear(&err);
    assert_int_equal(graph_input(g, "x", DT_F32, DIMS(INT64_MAX, 8), &v, &err), E_CONFIG);
    assert_string_equal(err.text,
                        "input 'x': the shape [9223372036854775807,8] is larger than 16 TB");
    error_clear(&err); /* strides are products of the others */
    assert_int_equal(graph_input(g, "x", DT_F32, DIMS(1 << 30, 0, 1 << 30), &v, &err), E_CONFIG);
    assert_string_equal(err.text,
                        "input 'x': the shape [1073741824,0,1073741824] is larger than 16 TB");
    error_clear(&err);
    assert_int_equal(graph_param(g, &(tensor_decl){.name = "p", .rank = 9}, &v, &err), E_CONFIG);
    assert_string_equal(err.text,
                        "parameter 'p': the shape [0,0,0,0,0,0,0,0] has more than 8 axes");
    assert_int_equal(graph_n_values(g), 0);
    graph_destroy(&g);
}

static void wrong_inputs_are_refused(void **state)
{
    (void)state;
    graph *g = make_graph();
    graph_val x = make_input(g, "x", DT_F32, DIMS(2, 2));
    assert_refused(g, OP_GEMM, "fc", IN(x), NULL, "fc (Gemm): has 1 input, takes at least 2");
    assert_refused(g, OP_GEMM, "fc", IN(x, x, x, x), NULL,
                   "fc (Gemm): has 4 inputs, takes at most 3");
    assert_refused(g, OP_GEMM, "fc", IN(x, 7), NULL,
                   "fc (Gemm): input 1 is not a value of this graph");
    assert_refused(g, OP_GEMM, "fc", IN(GRAPH_NONE, x), NULL,
                   "fc (Gemm): input 0 is not a value of this graph");
    make_node(g, OP_GEMM, "fc", IN(x, x, GRAPH_NONE), NULL);
    assert_int_equal(graph_node_at(g, 0)->n_in, 2);
    graph_destroy(&g);
}

static void values_can_be_renamed(void **state)
{
    (void)state;
    graph *g = make_graph();
    graph_val x = make_input(g, "x", DT_F32, DIMS(2, 2));
    graph_val y = make_node(g, OP_RELU, "relu1", IN(x), NULL);
    error err = ERROR_INIT;
    assert_int_equal(graph_rename(g, y, "logits", &err), OK);
    assert_int_equal(graph_rename(g, y, "logits", &err), OK);
    assert_int_equal(graph_find(g, "logits"), y);
    assert_int_equal(graph_find(g, "relu1"), GRAPH_NONE);
    assert_string_equal(graph_node_at(g, 0)->name, "relu1");
    assert_int_equal(graph_rename(g, y, "x", &err), E_CONFIG);
    assert_string_equal(err.text, "value 'logits' cannot be called 'x': the name is taken already");
    graph_destroy(&g);
}

static void constants_are_copied(void **state)
{
    (void)state;
    graph *g = make_graph();
    float data[] = {1, 2, 3};
    graph_val a, b;
    error err = ERROR_INIT;
    assert_int_equal(graph_const(g, "three", DT_F32, DIMS(3), data, &a, &err), OK);
    assert_int_equal(graph_const(g, NULL, DT_F32, SCALAR, data, &b, &err), OK);
    data[0] = 9;
    assert_true(((const float *)graph_value_at(g, a)->data)[0] == 1);
    assert_true(((const float *)graph_value_at(g, a)->data)[2] == 3);
    assert_int_equal(graph_value_at(g, b)->kind, VAL_CONST);
    graph_destroy(&g);
}

static void shapes_are_written_out(void **state)
{
    (void)state;
    char text[SHAPE_TEXT], small[6];
    graph_shape big = {.rank = GRAPH_RANK};
    for (int i = 0; i < GRAPH_RANK; i++)
        big.dim[i] = INT64_MIN;
    assert_string_equal(graph_shape_text(&SCALAR, text, sizeof text), "[]");
    assert_string_equal(graph_shape_text(&DIMS(8, 1, 28), text, sizeof text), "[8,1,28]");
    assert_string_equal(graph_shape_text(&DIMS(800, 100), small, sizeof small), "[800,");
    assert_int_equal(strlen(graph_shape_text(&big, text, sizeof text)), 8 * 20 + 7 + 2);
    assert_int_equal(graph_shape_elements(&SCALAR), 1);
    assert_true(graph_shape_equal(&DIMS(2, 3), &DIMS(2, 3)));
    assert_false(graph_shape_equal(&DIMS(2, 3), &DIMS(2, 3, 1)));
    assert_false(graph_shape_equal(&DIMS(2, 3), &DIMS(3, 2)));
}

static void flops_are_multiply_adds_times_two(void **state)
{
    (void)state;
    graph *g = make_graph();
    graph_val x = make_param(g, "x", TENSOR_TRAINABLE, DIMS(8, 4, 10, 10));
    graph_val w = make_param(g, "w", TENSOR_TRAINABLE, DIMS(6, 2, 3, 3));
    graph_val v = make_param(g, "v", TENSOR_TRAINABLE, DIMS(5, 384));
    graph_val y = make_node(g, OP_CONV, "conv", IN(x, w), &CONV_ATTR(.group = 2));
    double conv = 2.0 * 8 * 6 * 8 * 8 * 2 * 9;
    assert_true(graph_flops(g) == conv);
    y = make_node(g, OP_FLATTEN, "flat", IN(y), &(axis_attr){1});
    y = make_node(g, OP_GEMM, "fc", IN(y, v), &(gemm_attr){GEMM_UNSCALED, .trans_b = true});
    double gemm = 2.0 * 8 * 384 * 5;
    assert_true(graph_flops(g) == conv + gemm);
    make_backward(g, make_loss(g, y));
    assert_true(graph_flops(g) == 3 * conv + 3 * gemm);
    graph_destroy(&g);

    g = make_graph();
    x = make_input(g, "x", DT_F32, DIMS(3, 4, 5));
    w = make_input(g, "w", DT_F32, DIMS(2, 1, 6, 5));
    make_node(g, OP_MATMUL, "mm", IN(x, w), &(matmul_attr){.trans_b = true});
    assert_true(graph_flops(g) == 2.0 * 2 * 3 * 4 * 6 * 5);
    graph_destroy(&g);
}

static void without_gradients_parameters_stand_as_they_were_made(void **state)
{
    (void)state;
    graph *g = make_graph();
    graph_val order[4];
    graph_val a = make_param(g, "a", TENSOR_FROZEN, DIMS(1));
    graph_val b = make_param(g, "b", TENSOR_STATE, DIMS(1));
    make_input(g, "x", DT_F32, DIMS(1));
    graph_val c = make_param(g, "c", TENSOR_TRAINABLE, DIMS(1));
    graph_val d = make_param(g, "d", TENSOR_FROZEN, DIMS(1));
    assert_int_equal(graph_n_params(g), 4);
    graph_param_order(g, order);
    assert_int_equal(order[0], b);
    assert_int_equal(order[1], c);
    assert_int_equal(order[2], a);
    assert_int_equal(order[3], d);
    graph_destroy(&g);
}

static void the_dump_has_a_line_a_node(void **state)
{
    (void)state;
    graph *g = make_graph();
    graph_val x = make_input(g, "x", DT_F32, DIMS(8, 4));
    graph_val w = make_param(g, "w", TENSOR_TRAINABLE, DIMS(5, 4));
    graph_val id = make_input(g, "batch.id", DT_I64, DIMS(1));
    const gemm_attr attr = {GEMM_UNSCALED, .trans_b = true};
    graph_val y = make_node(g, OP_GEMM, "fc", IN(x, w), &attr);
    y = make_node(g, OP_DROPOUT, "drop", IN(y, id), &(dropout_attr){.ratio = 0.5f});
    make_backward(g, make_loss(g, y));
    buf out = BUF_INIT;
    graph_print(g, &out);
    assert_string_equal(out.data,
                        "input x float32 [8,4]\n"
                        "param w float32 [5,4] trainable, gradient fc.Gemm\n"
                        "input batch.id int64 [1]\n"
                        "input weight float32 [1]\n"
                        "const const float32 []\n"
                        "0 fc = Gemm(x, w) -> float32 [8,5]\n"
                        "1 drop = Dropout(fc, batch.id) -> float32 [8,5], uint8 [8,5]\n"
                        "2 loss = ReduceMean(drop) -> float32 []*\n"
                        "3 loss.Reshape = Reshape(weight) -> float32 []\n"
                        "4 loss.Reshape.4 = Reshape(loss.Reshape) -> float32 [1,1]\n"
                        "5 loss.Mul = Mul(loss.Reshape.4, const) -> float32 [1,1]\n"
                        "6 loss.Expand = Expand(loss.Mul) -> float32 [8,5]\n"
                        "7 drop.DropoutBwd = DropoutBwd(loss.Expand, drop.1) -> float32 [8,5]\n"
                        "8 fc.Gemm = Gemm(drop.DropoutBwd, x) -> float32 [5,4]\n");
    buf_fini(&out);
    graph_destroy(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operator_stands_in_the_table),
        cmocka_unit_test(values_are_found_by_name),
        cmocka_unit_test(made_names_give_way_to_given_ones),
        cmocka_unit_test(doubled_and_empty_names_are_refused),
        cmocka_unit_test(impossible_shapes_are_refused),
        cmocka_unit_test(wrong_inputs_are_refused),
        cmocka_unit_test(values_can_be_renamed),
        cmocka_unit_test(constants_are_copied),
        cmocka_unit_test(shapes_are_written_out),
        cmocka_unit_test(flops_are_multiply_adds_times_two),
        cmocka_unit_test(without_gradients_parameters_stand_as_they_were_made),
        cmocka_unit_test(the_dump_has_a_line_a_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
