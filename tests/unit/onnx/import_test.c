/* Imported models: what becomes a node and what is known, weights, ties, modes, functions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "graph/attrs.h"
#include "unit/onnx/support_import.h"

#include <stdio.h>
#include <string.h>

static file *linear(void)
{
    file *f = file_create(17);
    file_input(f, "x", FILE_FLOAT, "N,6");
    file_weights(f, "fc.weight", "3,6");
    file_weights(f, "fc.bias", "3");
    Onnx__NodeProto *n = file_node(f, "Gemm", "x fc.weight fc.bias", "h");
    file_int(f, n, "transB", 1);
    return f;
}

static void weights_become_parameters(void **state)
{
    (void)state;
    file *f = linear();
    file_node(f, "Relu", "h", "y");
    file_output(f, "y");
    imported p = import_ok(f, ONNX_TRAIN);
    expect_shape(&p, 0, "[4,3]");
    assert_int_equal(p.i.n_weights, 2);
    const graph_value *w = graph_value_at(p.g, graph_find(p.g, "fc.weight"));
    assert_int_equal(w->param->kind, TENSOR_TRAINABLE);
    assert_int_equal(w->param->init.kind, INIT_PUSHED);
    float values[18];
    error err = ERROR_INIT;
    assert_int_equal(onnx_weight_read(p.m, &p.i.weights[0], values, 18, &err), OK);
    assert_true(values[17] == 17.5f);
    imported_fini(&p);
    file_destroy(&f);
}

/* It is one of the graph's only because it is asked for. */
static void output_that_no_node_makes(void **state)
{
    (void)state;
    file *f = linear();
    file_weights(f, "table", "5,2");
    file_node(f, "Relu", "h", "y");
    file_node(f, "Dropout", "table", "z");
    file_output(f, "table");
    file_output(f, "y");
    file_output(f, "z");
    imported p = import_ok(f, ONNX_EVAL);
    expect_shape(&p, 0, "[5,2]");
    expect_shape(&p, 1, "[4,3]");
    expect_shape(&p, 2, "[5,2]");
    imported_fini(&p);
    file_destroy(&f);
}

/* The reshape that exporters write for x.view(x.shape[0], -1, 3). */
static void shapes_fold(void **state)
{
    (void)state;
    file *f = file_create(13);
    file_input(f, "x", FILE_FLOAT, "N,6");
    file_ints(f, "zero", "0");
    file_ints(f, "rest", "-1");
    file_ints(f, "three", "3");
    file_node(f, "Shape", "x", "shape");
    file_node(f, "Gather", "shape zero", "n");
    file_int(f, file_node(f, "Concat", "n rest three", "wanted"), "axis", 0);
    file_node(f, "Reshape", "x wanted", "y");
    file_output(f, "y");
    file_output(f, "wanted");
    imported p = import_ok(f, ONNX_EVAL);
    expect_shape(&p, 0, "[4,2,3]");
    assert_int_equal(graph_n_nodes(p.g), 1);
    const host_tensor *wanted = p.i.outputs[1].host;
    assert_non_null(wanted);
    assert_int_equal(wanted->n, 3);
    assert_int_equal(host_get_int(wanted, 0), 4);
    assert_int_equal(host_get_int(wanted, 1), -1);
    imported_fini(&p);
    file_destroy(&f);
}

static void dead_nodes_are_dropped(void **state)
{
    (void)state;
    file *f = linear();
    file_node(f, "NobodyKnowsThis", "h", "dead");
    file_node(f, "Tanh", "h", "dead_too");
    file_node(f, "Relu", "h", "y");
    file_output(f, "y");
    imported p = import_ok(f, ONNX_TRAIN);
    assert_int_equal(graph_n_nodes(p.g), 2);
    imported_fini(&p);
    file_destroy(&f);
}

static file *two_identities(void)
{
    file *f = file_create(17);
    file_input(f, "x", FILE_FLOAT, "N,6");
    file_weights(f, "bias", "6");
    file_node(f, "Identity", "bias", "other.bias");
    file_node(f, "Add", "x bias", "h");
    file_node(f, "Add", "h other.bias", "i");
    file_node(f, "Add", "i bias", "y");
    file_output(f, "y");
    return f;
}

static void identity_of_a_weight_is_a_weight(void **state)
{
    (void)state;
    file *f = two_identities();
    imported p = import_ok(f, ONNX_TRAIN);
    assert_int_equal(p.i.n_weights, 2);
    assert_string_equal(p.i.weights[1].name, "other.bias");
    assert_int_equal(p.i.weights[1].initializer, 0);
    imported_fini(&p);
    assert_int_equal(import(f, ONNX_TRAIN, true, &p, NULL), OK);
    assert_int_equal(p.i.n_weights, 1);
    imported_fini(&p);
    file_destroy(&f);
}

static file *normalised(void)
{
    file *f = file_create(15);
    file_input(f, "x", FILE_FLOAT, "N,6");
    file_weights(f, "bn.weight", "6");
    file_weights(f, "bn.bias", "6");
    file_weights(f, "bn.running_mean", "6");
    file_weights(f, "bn.running_var", "6");
    Onnx__NodeProto *n = file_node(f, "BatchNormalization",
                                   "x bn.weight bn.bias bn.running_mean bn.running_var", "h m v");
    file_int(f, n, "training_mode", 1);
    file_float(f, n, "momentum", 0.8f);
    file_ints(f, "no use", "1");
    file_node(f, "Dropout", "h", "y");
    file_output(f, "y");
    return f;
}

static void modes_are_ours(void **state)
{
    (void)state;
    file *f = normalised();
    imported p = import_ok(f, ONNX_TRAIN);
    const tensor_decl *mean = graph_value_at(p.g, graph_find(p.g, "bn.running_mean"))->param;
    assert_int_equal(mean->kind, TENSOR_STATE);
    assert_true(mean->momentum == 0.8f);
    assert_int_equal(count_ops(&p, OP_DROPOUT), 1);
    const batch_norm_attr *attr = graph_node_at(p.g, 0)->attr;
    assert_true(attr->training);
    imported_fini(&p);

    p = import_ok(f, ONNX_EVAL);
    assert_int_equal(p.i.n_weights, 4);
    assert_int_equal(count_ops(&p, OP_DROPOUT), 0);
    attr = graph_node_at(p.g, 0)->attr;
    assert_false(attr->training);
    imported_fini(&p);
    file_destroy(&f);
}

/* The second call reads what the first has moved, as the file has it in each exporter's way. */
static void calls_of_a_layer_share_statistics(void **state)
{
    (void)state;
    static const char *const ways[][2] = {{"bn.running_mean", "bn.running_var"},
                                          {"getitem_3", "getitem_4"},
                                          {"m", "v"}};
    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        file *f = normalised();
        file_node(f, "Identity", "bn.running_mean", "getitem_3");
        file_node(f, "Identity", "bn.running_var", "getitem_4");
        char inputs[128];
        snprintf(inputs, sizeof inputs, "y bn.weight bn.bias %s %s", ways[i][0], ways[i][1]);
        Onnx__NodeProto *n = file_node(f, "BatchNormalization", inputs, "z");
        file_float(f, n, "momentum", 0.8f);
        file_output(f, "z");
        for (onnx_mode mode = ONNX_TRAIN; mode <= ONNX_EVAL; mode++) {
            imported p = import_ok(f, mode);
            graph_val mean = graph_find(p.g, "bn.running_mean");
            int found = 0;
            for (int32_t k = 0; k < graph_n_nodes(p.g); k++)
                found += graph_node_at(p.g, k)->op == OP_BATCH_NORMALIZATION &&
                         graph_node_at(p.g, k)->in[3] == mean;
            assert_int_equal(found, 2);
            assert_int_equal(p.i.n_weights, 4);
            imported_fini(&p);
        }
        file_destroy(&f);
    }
}

static void calls_with_other_momentums_are_refused(void **state)
{
    (void)state;
    file *f = normalised();
    file_node(f, "BatchNormalization", "y bn.weight bn.bias bn.running_mean bn.running_var", "z");
    file_output(f, "z");
    expect_error(f, E_UNSUPPORTED, "it moves 'bn.running_mean' with momentum 0.9, another node with "
                                   "0.8; give both the same");
    file_destroy(&f);
}

static void functions_are_inlined(void **state)
{
    (void)state;
    file *f = linear(), *body = file_create(17);
    file_node(body, "Relu", "a", "positive");
    file_node(body, "Add", "positive b", "c");
    file_opset(f, "local", 1);
    file_function(f, "local", "ReluAdd", "a b", "c", body);
    file_node(f, "ReluAdd", "h fc.bias", "i")->domain = (char[]){"local"};
    file_node(f, "ReluAdd", "i h", "y")->domain = (char[]){"local"};
    file_output(f, "y");
    imported p = import_ok(f, ONNX_TRAIN);
    assert_int_equal(count_ops(&p, OP_RELU), 2);
    assert_int_equal(count_ops(&p, OP_ADD), 2);
    expect_shape(&p, 0, "[4,3]");
    imported_fini(&p);
    file_destroy(&f);
    file_destroy(&body);
}

static void all_that_is_unsupported_is_listed(void **state)
{
    (void)state;
    file *f = linear();
    file_node(f, "Det", "h", "a");
    file_node(f, "Relu", "a", "b");
    file_node(f, "Unheard", "b", "c");
    file_node(f, "Bernoulli", "c", "y")->domain = (char[]){"com.microsoft"};
    file_output(f, "y");
    expect_error(f, E_UNSUPPORTED, "3 nodes cannot be imported: node 'Det_1' (Det): ");
    expect_error(f, E_UNSUPPORTED, "node 'Unheard_3' (Unheard): ONNX has no such operator, up to opset 28");
    expect_error(f, E_UNSUPPORTED,
                 "node 'Bernoulli_4' (Bernoulli): no such operator in the domain "
                 "'com.microsoft' here");
    file_destroy(&f);
}

static void cycles_are_refused(void **state)
{
    (void)state;
    file *f = linear();
    file_node(f, "Add", "h b", "a");
    file_node(f, "Relu", "a", "b");
    file_output(f, "b");
    expect_error(f, E_DATA, "reads 'b', which depends on its own output: a cycle");
    file_destroy(&f);
}

static void nodes_may_stand_in_any_order(void **state)
{
    (void)state;
    file *f = linear();
    file_node(f, "Relu", "late", "y");
    file_node(f, "Tanh", "h", "late");
    file_output(f, "y");
    imported p = import_ok(f, ONNX_TRAIN);
    assert_int_equal(graph_n_nodes(p.g), 3);
    imported_fini(&p);
    file_destroy(&f);
}

/* Reductions of what is only known in the run: the shape that comes out, and by which operator. */
static void reductions_become_nodes(void **state)
{
    (void)state;
    static const struct {
        const char *type, *attribute;
        int64_t value;
        const char *shape;
        graph_op op;
    } rows[] = {
        {"ReduceMax", "keepdims", 0, "[]", OP_REDUCE_MAX},
        {"ReduceMin", "keepdims", 1, "[1,1]", OP_REDUCE_MIN},
        {"ReduceProd", "keepdims", 0, "[]", OP_REDUCE_PROD},
        {"ReduceL1", "noop_with_empty_axes", 1, "[4,6]", OP_REDUCE_L1},
        {"ReduceL2", "keepdims", 1, "[1,1]", OP_REDUCE_L2},
        {"ReduceSumSquare", "keepdims", 1, "[1,1]", OP_REDUCE_SUM_SQUARE},
        {"ReduceLogSum", "keepdims", 1, "[1,1]", OP_REDUCE_LOG_SUM},
        {"ReduceLogSumExp", "keepdims", 1, "[1,1]", OP_REDUCE_LOG_SUM_EXP},
        {"ArgMax", "axis", 1, "[4,1]", OP_ARG_MAX},
        {"ArgMin", "keepdims", 0, "[6]", OP_ARG_MIN},
        {"Hardmax", "axis", 0, "[4,6]", OP_HARDMAX},
        {"LpNormalization", "p", 1, "[4,6]", OP_REDUCE_L1},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        file *f = file_create(18);
        file_input(f, "x", FILE_FLOAT, "N,6");
        file_int(f, file_node(f, rows[i].type, "x", "y"), rows[i].attribute, rows[i].value);
        file_output(f, "y");
        imported p = import_ok(f, ONNX_TRAIN);
        expect_shape(&p, 0, rows[i].shape);
        assert_int_equal(count_ops(&p, rows[i].op), 1);
        imported_fini(&p);
        file_destroy(&f);
    }
}

static void a_running_sum_knows_its_axis(void **state)
{
    (void)state;
    file *f = file_create(14);
    file_input(f, "x", FILE_FLOAT, "N,6");
    file_ints(f, "axis", "-1");
    file_int(f, file_node(f, "CumSum", "x axis", "y"), "reverse", 1);
    file_output(f, "y");
    imported p = import_ok(f, ONNX_TRAIN);
    const cum_sum_attr *a = graph_node_at(p.g, 0)->attr;
    assert_true(a->axis == 1 && a->reverse && !a->exclusive);
    imported_fini(&p);
    file_destroy(&f);
}

static void bits_of_data_become_nodes(void **state)
{
    (void)state;
    file *f = file_create(18);
    file_input(f, "x", FILE_FLOAT, "N,6");
    file_ints(f, "low", "3");
    file_int(f, file_node(f, "Cast", "x", "whole"), "to", FILE_INT64);
    file_node(f, "BitwiseAnd", "whole low", "masked");
    file_node(f, "BitwiseXor", "whole masked", "mixed");
    file_node(f, "BitwiseOr", "mixed low", "y");
    file_output(f, "y");
    imported p = import_ok(f, ONNX_EVAL);
    assert_int_equal(count_ops(&p, OP_BITWISE_AND), 1);
    assert_int_equal(count_ops(&p, OP_BITWISE_XOR), 1);
    assert_int_equal(count_ops(&p, OP_BITWISE_OR), 1);
    expect_shape(&p, 0, "[4,6]");
    imported_fini(&p);
    file_destroy(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_become_parameters),
        cmocka_unit_test(output_that_no_node_makes),
        cmocka_unit_test(shapes_fold),
        cmocka_unit_test(reductions_become_nodes),
        cmocka_unit_test(a_running_sum_knows_its_axis),
        cmocka_unit_test(bits_of_data_become_nodes),
        cmocka_unit_test(dead_nodes_are_dropped),
        cmocka_unit_test(identity_of_a_weight_is_a_weight),
        cmocka_unit_test(modes_are_ours),
        cmocka_unit_test(calls_of_a_layer_share_statistics),
        cmocka_unit_test(calls_with_other_momentums_are_refused),
        cmocka_unit_test(functions_are_inlined),
        cmocka_unit_test(all_that_is_unsupported_is_listed),
        cmocka_unit_test(cycles_are_refused),
        cmocka_unit_test(nodes_may_stand_in_any_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
