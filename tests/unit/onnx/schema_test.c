/* What a node says is known in its opset and done, or refused by name before anything begins. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "graph/schema.h"
#include "onnx/import.h"
#include "onnx/ops.h"
#include "onnx/schema.h"
#include "unit/onnx/support_import.h"

#include <stdlib.h>
#include <string.h>

/* A file of one node between x [N,6] and y. */
static Onnx__NodeProto *one(file **ret, int64_t opset, const char *type)
{
    file *f = *ret = file_create(opset);
    file_input(f, "x", FILE_FLOAT, "N,6");
    file_output(f, "y");
    return file_node(f, type, "x", "y");
}

static void expect_and_destroy(file **f, status code, const char *text)
{
    expect_error(*f, code, text);
    file_destroy(f);
}

static void accept_and_destroy(file **f)
{
    imported p = import_ok(*f, ONNX_TRAIN);
    imported_fini(&p);
    file_destroy(f);
}

static void attributes_of_other_opsets_are_refused(void **state)
{
    (void)state;
    file *f;
    file_int(f, one(&f, 14, "Shape"), "start", 1);
    expect_and_destroy(
        &f, E_UNSUPPORTED,
        "node 'Shape_0' (Shape): its attribute 'start' is not in opset 14; since 15");

    file_string(f, one(&f, 27, "SpaceToDepth"), "mode", "CRD");
    file_int(f, f->graph.node[0], "blocksize", 2);
    expect_and_destroy(&f, E_UNSUPPORTED, "its attribute 'mode' is not in opset 27; since 28");

    file_list(f, one(&f, 13, "ReduceSum"), "axes", "1");
    expect_and_destroy(&f, E_UNSUPPORTED, "its attribute 'axes' is not in opset 13; up to 12");

    file_float(f, one(&f, 17, "Relu"), "alpha", 0.1f);
    expect_and_destroy(&f, E_UNSUPPORTED, "its attribute 'alpha' is none that the operator has");
}

/* In a file of the right opset an attribute is either carried out or refused. */
static void attributes_are_not_passed_over(void **state)
{
    (void)state;
    file *f = file_create(17);
    file_input(f, "x", FILE_FLOAT, "N,6");
    file_weights(f, "scale", "6");
    Onnx__NodeProto *n = file_node(f, "LayerNormalization", "x scale", "y");
    file_int(f, n, "stash_type", 10);
    file_output(f, "y");
    expect_error(
        f, E_UNSUPPORTED,
        "node 'LayerNormalization_0' (LayerNormalization): its attribute 'stash_type' is not "
        "supported");
    n->attribute[0]->i = 1; /* the default */
    accept_and_destroy(&f);
}

static void attributes_are_of_their_type_and_there_once(void **state)
{
    (void)state;
    file *f;
    file_int(f, one(&f, 17, "LeakyRelu"), "alpha", 1);
    expect_and_destroy(&f, E_DATA, "its attribute 'alpha' is of type int, must be float");

    Onnx__NodeProto *n = one(&f, 17, "Softmax");
    file_int(f, n, "axis", 1);
    file_int(f, n, "axis", 0);
    expect_and_destroy(&f, E_DATA, "its attribute 'axis' is there twice");

    one(&f, 17, "Cast");
    expect_and_destroy(&f, E_DATA, "node 'Cast_0' (Cast): its attribute 'to' is missing");
}

static void operators_and_operands_of_later_opsets_are_refused(void **state)
{
    (void)state;
    file *f;
    one(&f, 19, "Gelu");
    expect_and_destroy(&f, E_UNSUPPORTED,
                       "node 'Gelu_0' (Gelu): this operator is not in opset 19; since 20");
    one(&f, 28, "Geluu");
    expect_and_destroy(&f, E_UNSUPPORTED, "ONNX has no such operator, up to opset 28");

    f = file_create(10);
    file_input(f, "x", FILE_FLOAT, "N,6");
    file_weights(f, "low", "");
    file_node(f, "Clip", "x low", "y");
    file_output(f, "y");
    expect_and_destroy(&f, E_UNSUPPORTED, "it has 2 inputs, in opset 10 at most 1; more since 11");

    f = file_create(17);
    file_input(f, "x", FILE_FLOAT, "N,6");
    file_node(f, "Relu", "x x", "y");
    file_output(f, "y");
    expect_and_destroy(&f, E_UNSUPPORTED, "it has 2 inputs, the operator has at most 1");

    f = file_create(17);
    file_input(f, "x", FILE_FLOAT, "N,6");
    file_node(f, "Relu", "x", "y z");
    file_output(f, "y");
    expect_and_destroy(&f, E_UNSUPPORTED, "it has 2 outputs, the operator has at most 1");
}

/* node.attribute of a function's body, with the name of the function's. */
static void stands_for(file *f, Onnx__NodeProto *n, const char *name, const char *of_function)
{
    file_int(f, n, name, 0);
    n->attribute[n->n_attribute - 1]->ref_attr_name =
        arena_strndup(f->a, of_function, strlen(of_function));
}

static void attributes_of_functions_are_declared(void **state)
{
    (void)state;
    file *f;
    stands_for(f, one(&f, 17, "Softmax"), "axis", "which");
    expect_and_destroy(&f, E_DATA,
                       "its attribute 'axis' stands for 'which' of a function, but is in none");

    f = file_create(17);
    file *body = file_inside(f);
    file_input(f, "x", FILE_FLOAT, "N,6");
    stands_for(body, file_node(body, "Softmax", "a", "b"), "axis", "which");
    file_function(f, "own", "Soft", "a", "b", body);
    Onnx__NodeProto *n = file_node(f, "Soft", "x", "y");
    n->domain = (char[]){"own"};
    file_opset(f, "own", 1);
    file_output(f, "y");
    expect_error(f, E_DATA, "stands for 'which', which the function Soft does not have");
    file_int(f, n, "which", 1);
    expect_and_destroy(&f, E_DATA, "its attribute 'which' is none that the function has");
}

static void fields_are_of_their_words_and_lengths(void **state)
{
    (void)state;
    file *f = file_create(17);
    file_input(f, "x", FILE_FLOAT, "N,6");
    file_weights(f, "image", "2,3,8,8");
    Onnx__NodeProto *n = file_node(f, "AveragePool", "image", "y");
    file_output(f, "y");
    file_list(f, n, "kernel_shape", "2");
    expect_error(f, E_DATA, "its attribute 'kernel_shape' has 1 numbers, needs 2");
    n->n_attribute = 0;
    file_list(f, n, "kernel_shape", "2,2");
    file_list(f, n, "strides", "0,1");
    expect_error(f, E_CONFIG, "stride 0 and dilation 1 of spatial axis 0 must be positive");
    n->n_attribute = 1;
    file_string(f, n, "auto_pad", "SAME");
    expect_and_destroy(
        &f, E_UNSUPPORTED,
        "its auto_pad is 'SAME', which is none of: NOTSET SAME_UPPER SAME_LOWER VALID");
}

/* An epsilon of 0 is 0, and an alpha of 0 leaves the bias. */
static void zero_is_a_number(void **state)
{
    (void)state;
    file *f = file_create(17);
    file_input(f, "x", FILE_FLOAT, "N,6");
    file_weights(f, "s", "6");
    file_weights(f, "w", "6,3");
    file_weights(f, "b", "3");
    file_float(f, file_node(f, "LayerNormalization", "x s", "n"), "epsilon", 0.0f);
    file_float(f, file_node(f, "Gemm", "n w b", "y"), "alpha", 0.0f);
    file_output(f, "y");
    imported p = import_ok(f, ONNX_TRAIN);
    const row_norm_attr *norm = graph_node_at(p.g, 0)->attr;
    assert_int_equal(graph_node_at(p.g, 0)->op, OP_LAYER_NORMALIZATION);
    assert_true(norm->epsilon == 0.0f);
    assert_int_equal(graph_node_at(p.g, 1)->op, OP_MUL); /* by 0 */
    imported_fini(&p);
    file_destroy(&f);
}

/* Nor is it "as the weights have it", where a file can leave that out. */
static void zero_is_no_size(void **state)
{
    (void)state;
    file *f = file_create(17);
    file_input(f, "x", FILE_FLOAT, "N,6");
    file_ints(f, "first", "0");
    file_weights(f, "w", "1,5,6");
    file_weights(f, "r", "1,5,5");
    file_node(f, "Unsqueeze", "x first", "steps");
    file_int(f, file_node(f, "RNN", "steps w r", "y"), "hidden_size", 0);
    file_output(f, "y");
    expect_and_destroy(&f, E_CONFIG, "hidden_size is 0 but the weights [1,5,6] make it 5");

    f = file_create(17);
    file_input(f, "x", FILE_FLOAT, "N,6");
    file_ints(f, "sizes", "0,6");
    file_node(f, "Resize", "x - - sizes", "y");
    file_output(f, "y");
    expect_and_destroy(&f, E_DATA, "it makes axis 0 of 4 elements 0; sizes and scales must be above 0");
}

/* The table of what we can import goes with the table of what ONNX has. */
static void every_operator_of_ours_is_one_of_onnx(void **state)
{
    (void)state;
    static const struct {
        const char *type, *domain;
        int64_t first;
    } ours[] = {
#define ONNX_OP(type, domain, first, gradient, fold, translate) {#type, domain, first},
#include "onnx/ops.def"
#undef ONNX_OP
    };
    for (size_t i = 0; i < COUNT_OF(ours); i++) {
        if (!onnx_schema_find(ours[i].domain, ours[i].type, ours[i].first))
            fail_msg("ONNX has no %s in version %d", ours[i].type, (int)ours[i].first);
    }
}

/* What a graph's operator takes where it is told nothing is what ONNX says of an attribute that a
 * node does not have. */
static void defaults_are_those_of_onnx(void **state)
{
    (void)state;
    for (graph_op op = 0; op < OP_COUNT; op++) {
        const graph_op_info *info = graph_op_of(op);
        const onnx_schema *s = onnx_schema_find("", info->name, ONNX_OPSET_MAX);
        const onnx_op *ours = onnx_op_find("", info->name);
        bool is_plain = ours && ours->translate == onnx_op_plain;
        onnx_attribute known;
        for (const attr_field *f = info->fields; s && f && f->name; f++) {
            if (is_plain && !schema_is_of_graph(f) &&
                !onnx_schema_any_attribute(s, f->name, &known, NULL))
                fail_msg("ONNX's %s has no %s", info->name, f->name);
            if (!onnx_schema_attribute(s, f->name, &known) || !known.has_default)
                continue;
            bool same = f->type == ATTR_FLOAT
                            ? (float)f->otherwise == strtof(known.value, NULL)
                        : f->type == ATTR_WORD
                            ? schema_word_at(f, known.value) == (int64_t)f->otherwise
                            : (int64_t)f->otherwise == strtoll(known.value, NULL, 10);
            if (!same)
                fail_msg("%s.%s is %g, in ONNX %s", info->name, f->name, f->otherwise,
                         known.value);
        }
    }
}

static void rows_are_read(void **state)
{
    (void)state;
    onnx_attribute a;
    onnx_port p;
    const onnx_schema *s = onnx_schema_find("", "Softmax", 12);
    assert_true(onnx_schema_attribute(s, "axis", &a) && a.has_default && !a.is_required);
    assert_string_equal(a.value, "1");
    s = onnx_schema_find("ai.onnx", "Softmax", 13);
    assert_true(onnx_schema_attribute(s, "axis", &a));
    assert_string_equal(a.value, "-1");
    assert_false(onnx_schema_attribute(s, "axi", &a));
    assert_null(onnx_schema_find("", "Gelu", 19));
    s = onnx_schema_find("", "Concat", 13);
    assert_true(onnx_schema_attribute(s, "axis", &a) && a.is_required);
    assert_true(onnx_schema_port(s->inputs, 7, &p) && p.is_variadic && !p.is_mixed);
    assert_false(onnx_schema_port(s->outputs, 1, &p));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attributes_of_other_opsets_are_refused),
        cmocka_unit_test(attributes_are_not_passed_over),
        cmocka_unit_test(attributes_are_of_their_type_and_there_once),
        cmocka_unit_test(operators_and_operands_of_later_opsets_are_refused),
        cmocka_unit_test(attributes_of_functions_are_declared),
        cmocka_unit_test(fields_are_of_their_words_and_lengths),
        cmocka_unit_test(zero_is_a_number),
        cmocka_unit_test(zero_is_no_size),
        cmocka_unit_test(every_operator_of_ours_is_one_of_onnx),
        cmocka_unit_test(defaults_are_those_of_onnx),
        cmocka_unit_test(rows_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
