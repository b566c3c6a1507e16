/* Nodes that hold others: the branch that a known condition takes, loops, and what is in them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/onnx/support_import.h"

#include <string.h>

/* y = relu(x), by an If in which one branch multiplies x by w, which lies outside of it. */
static Onnx__NodeProto *add_if(file *f, const char *condition, const char *output)
{
    file *product = file_inside(f), *positive = file_inside(f);
    file_node(product, "MatMul", "x w", "product");
    file_weights(product, "bias", "3");
    file_node(product, "Add", "product bias", "sum");
    file_output(product, "sum");
    file_node(positive, "Relu", "x", "positive");
    file_output(positive, "positive");
    Onnx__NodeProto *n = file_node(f, "If", condition, output);
    file_subgraph(f, n, "then_branch", product);
    file_subgraph(f, n, "else_branch", positive);
    return n;
}

/* Its condition: has x more elements than that? */
static file *branching(const char *threshold)
{
    file *f = file_create(17);
    file_input(f, "x", FILE_FLOAT, "N,6");
    file_weights(f, "w", "6,3");
    file_ints(f, "threshold", threshold);
    file_node(f, "Size", "x", "size");
    file_node(f, "Greater", "size threshold", "is_large");
    add_if(f, "is_large", "y");
    file_output(f, "y");
    return f;
}

static void a_known_condition_takes_its_branch(void **state)
{
    (void)state;
    file *f = branching("23");
    imported p = import_ok(f, ONNX_TRAIN);
    expect_shape(&p, 0, "[4,3]");
    assert_int_equal(count_ops(&p, OP_RELU), 0);
    assert_int_equal(p.i.n_weights, 1); /* constants of a branch are none */
    assert_string_equal(p.i.weights[0].name, "w");
    imported_fini(&p);
    file_destroy(&f);

    f = branching("24");
    p = import_ok(f, ONNX_TRAIN);
    expect_shape(&p, 0, "[4,6]");
    assert_int_equal(count_ops(&p, OP_RELU), 1);
    assert_int_equal(p.i.n_weights, 0);
    imported_fini(&p);
    file_destroy(&f);
}

static void a_branch_in_a_branch(void **state)
{
    (void)state;
    file *f = branching("23"), *outer = file_inside(f), *other = file_inside(f);
    f->graph.n_output = 0;
    file_node(outer, "Tanh", "x", "inner_only");
    add_if(outer, "is_large", "chosen");
    file_node(outer, "Relu", "chosen", "twice");
    file_output(outer, "twice");
    file_node(other, "Einsum", "x", "never"); /* a branch that is not taken may hold anything */
    file_output(other, "never");
    Onnx__NodeProto *n = file_node(f, "If", "is_large", "z");
    file_subgraph(f, n, "then_branch", outer);
    file_subgraph(f, n, "else_branch", other);
    file_output(f, "z");
    imported p = import_ok(f, ONNX_TRAIN);
    expect_shape(&p, 0, "[4,3]");
    assert_int_equal(count_ops(&p, OP_TANH), 0);
    assert_int_equal(count_ops(&p, OP_RELU), 1);
    imported_fini(&p);
    file_destroy(&f);
}

/* A file with "is_positive", whether x adds up to something. */
static file *with_condition(void)
{
    file *f = file_create(17);
    file_input(f, "x", FILE_FLOAT, "N,6");
    file_weights(f, "w", "6,3");
    file_node(f, "ReduceSum", "x", "sum");
    file_node(f, "Cast", "sum", "is_positive");
    file_int(f, f->graph.node[1], "to", FILE_BOOL);
    return f;
}

static void branches_of_one_shape_are_chosen_between(void **state)
{
    (void)state;
    file *f = with_condition(), *yes = file_inside(f), *no = file_inside(f);
    file_node(yes, "Relu", "x", "a");
    file_output(yes, "a");
    file_node(no, "Tanh", "x", "b");
    file_output(no, "b");
    Onnx__NodeProto *n = file_node(f, "If", "is_positive", "y");
    file_subgraph(f, n, "then_branch", yes);
    file_subgraph(f, n, "else_branch", no);
    file_output(f, "y");
    imported p = import_ok(f, ONNX_TRAIN);
    expect_shape(&p, 0, "[4,6]");
    assert_int_equal(count_ops(&p, OP_RELU) + count_ops(&p, OP_TANH) + count_ops(&p, OP_WHERE), 3);
    imported_fini(&p);
    file_destroy(&f);
}

static void choices_that_could_harm_are_refused(void **state)
{
    (void)state;
    file *f = with_condition(), *yes = file_inside(f), *no = file_inside(f);
    add_if(f, "is_positive", "a");
    file_output(f, "a");
    expect_error(f, E_UNSUPPORTED,
                 "node 'If_2' (If): its condition depends on data, so its branches must give one "
                 "shape; 'a' is float32 [4,3] in one and float32 [4,6] in the other");
    file_destroy(&f);

    f = with_condition(), yes = file_inside(f), no = file_inside(f);
    file_node(yes, "Log", "x", "a");
    file_output(yes, "a");
    file_node(no, "Relu", "x", "b");
    file_output(no, "b");
    Onnx__NodeProto *n = file_node(f, "If", "is_positive", "y");
    file_subgraph(f, n, "then_branch", yes);
    file_subgraph(f, n, "else_branch", no);
    file_output(f, "y");
    expect_error(f, E_UNSUPPORTED, "(Log) in one may give what is not finite");
    file_destroy(&f);
}

/* A loop whose body doubles x; `inputs` end with x. */
static file *looping(const char *inputs)
{
    file *f = with_condition(), *body = file_inside(f);
    Onnx__TensorProto *t = file_ints(f, "three", "3");
    t->n_dims = 0;
    file_int(f, file_node(f, "Cast", "sum", "count"), "to", FILE_INT64);
    file_input(body, "i", FILE_INT64, "");
    file_input(body, "go", FILE_BOOL, "");
    file_input(body, "h", FILE_FLOAT, "4,6");
    file_node(body, "Add", "h h", "twice");
    file_node(body, "Greater", "h twice", "odd");
    file_node(body, "ReduceMax", "odd", "any");
    file_node(body, "Relu", "h", "kept");
    file_output(body, "any");
    file_output(body, "twice");
    file_output(body, "kept");
    Onnx__NodeProto *n = file_node(f, "Loop", inputs, "y all");
    file_subgraph(f, n, "body", body);
    file_output(f, "y");
    file_output(f, "all");
    return f;
}

static void loops_are_unrolled(void **state)
{
    (void)state;
    file *f = looping("three - x");
    imported p = import_ok(f, ONNX_TRAIN);
    expect_shape(&p, 0, "[4,6]");
    expect_shape(&p, 1, "[3,4,6]");
    assert_int_equal(count_ops(&p, OP_ADD), 3);
    assert_int_equal(count_ops(&p, OP_GREATER), 0); /* nobody asks for the condition */
    imported_fini(&p);
    file_destroy(&f);

    f = looping("three - x"); /* none at all: the body says the shape of what is kept */
    f->graph.initializer[1]->int64_data[0] = 0;
    Onnx__NodeProto *n = f->graph.node[f->graph.n_node - 1];
    f->graph.n_output = 1;
    n->attribute[0]->g->output[2]->type = n->attribute[0]->g->input[2]->type;
    file_node(f, "Concat", "y x", "z");
    file_int(f, f->graph.node[f->graph.n_node - 1], "axis", 0);
    file_output(f, "z");
    p = import_ok(f, ONNX_TRAIN);
    expect_shape(&p, 1, "[8,6]");
    imported_fini(&p);
    file_destroy(&f);
}

/* A name that an exporter made up is a weight's where a body multiplies with it. And a count may come
 * through what is computed at once. */
static void bodies_have_weights(void **state)
{
    (void)state;
    file *f = file_create(17), *body = file_inside(f);
    file_input(f, "x", FILE_FLOAT, "N,6");
    file_weights(f, "onnx::MatMul_7", "6,6");
    file_node(f, "Size", "x", "size"); /* 24 */
    file_ints(f, "seven", "7");
    f->graph.initializer[1]->n_dims = 0;
    file_node(f, "Div", "size seven", "three");
    file_int(f, file_node(f, "Cast", "three", "as_float"), "to", FILE_FLOAT);
    file_node(f, "Relu", "as_float", "not_below_0");
    file_int(f, file_node(f, "Cast", "not_below_0", "trips"), "to", FILE_INT64);
    file_input(body, "i", FILE_INT64, "");
    file_input(body, "go", FILE_BOOL, "");
    file_input(body, "h", FILE_FLOAT, "4,6");
    file_node(body, "MatMul", "h onnx::MatMul_7", "next");
    file_node(body, "Identity", "go", "on");
    file_output(body, "on");
    file_output(body, "next");
    file_subgraph(f, file_node(f, "Loop", "trips - x", "y"), "body", body);
    file_output(f, "y");
    imported p = import_ok(f, ONNX_TRAIN);
    assert_int_equal(p.i.n_weights, 1);
    assert_int_equal(count_ops(&p, OP_MATMUL) + count_ops(&p, OP_GEMM), 3);
    imported_fini(&p);
    file_destroy(&f);
}

static void loops_without_a_known_end_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *inputs;
        status code;
        const char *text;
    } rows[] = {
        {"count - x", E_UNSUPPORTED, "(Loop): its trip count depends on data"},
        {"- is_positive x", E_UNSUPPORTED, "(Loop): its condition depends on data"},
        {"three - x x", E_DATA, "which do not fit the node's 4 and 2"},
        {"- - x", E_DATA, "neither a trip count nor a condition"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        file *f = looping(rows[i].inputs);
        expect_error(f, rows[i].code, rows[i].text);
        file_destroy(&f);
    }
    file *f = looping("three - x"); /* what a body cannot do is said once */
    f->graph.initializer[1]->int64_data[0] = (int64_t)1 << 40;
    Onnx__NodeProto *n = f->graph.node[f->graph.n_node - 1];
    n->attribute[0]->g->node[0]->op_type = (char[]){"Unheard"};
    expect_error(f, E_UNSUPPORTED, "1 node cannot be imported: node 'Add_0' (Unheard)");
    n->attribute[0]->g->node[0]->op_type = (char[]){"Add"};
#ifndef __SANITIZE_ADDRESS__ /* a million nodes take most of a minute there */
    expect_error(f, E_UNSUPPORTED, "those of a loop counted once an iteration");
#endif
    file_destroy(&f);
}

static void scans_that_are_damaged(void **state)
{
    (void)state;
    file *f = with_condition(), *body = file_inside(f);
    file_input(body, "row", FILE_FLOAT, "6");
    file_node(body, "Relu", "row", "out");
    file_output(body, "out");
    Onnx__NodeProto *n = file_node(f, "Scan", "x", "y");
    file_subgraph(f, n, "body", body);
    file_output(f, "y");
    expect_error(f, E_DATA, "node 'Scan_2' (Scan): its attribute 'num_scan_inputs' is missing");
    file_int(f, n, "num_scan_inputs", 1);
    imported p = import_ok(f, ONNX_TRAIN);
    expect_shape(&p, 0, "[4,6]");
    assert_int_equal(count_ops(&p, OP_RELU), 4);
    imported_fini(&p);
    file_list(f, n, "scan_input_axes", "2");
    expect_error(f, E_DATA, "axis 2 is none of the 2 of its input");
    file_destroy(&f);
}

static void sequences_stand_for_no_tensor(void **state)
{
    (void)state;
    file *f = file_create(17);
    file_input(f, "x", FILE_FLOAT, "N,6");
    file_ints(f, "far", "4");
    file_node(f, "SequenceConstruct", "x x", "pair");
    file_node(f, "Relu", "pair", "y");
    file_output(f, "y");
    expect_error(f, E_DATA, "node 'Relu_1' (Relu): its input 0 is a sequence, must be a tensor");
    f->graph.node[1]->op_type = (char[]){"SequenceLength"};
    f->graph.node[1]->input[0] = (char[]){"x"};
    expect_error(f, E_DATA, "its input 0 is no sequence");
    file_node(f, "SequenceAt", "pair far", "z");
    f->graph.output[0]->name = (char[]){"z"};
    expect_error(f, E_DATA, "it names place 4 of a sequence of 2");
    file_destroy(&f);
}

static void branches_that_are_damaged(void **state)
{
    (void)state;
    file *f = branching("23");
    Onnx__NodeProto *n = f->graph.node[2];
    n->n_attribute = 0;
    expect_error(f, E_DATA, "node 'If_2' (If): its attribute 'else_branch' is missing");
    file_destroy(&f);

    f = branching("23");
    n = f->graph.node[2];
    n->attribute[0]->g->output[0]->name = (char[]){"nowhere"};
    expect_error(f, E_DATA, "its output 'y' is 'nowhere' inside, which nothing makes");
    file_destroy(&f);

    f = branching("23");
    n = f->graph.node[2];
    n->attribute[0]->g->node[1]->input[1] = (char[]){"product_of"};
    expect_error(f, E_DATA, "node 'Add_1' (Add): it reads 'product_of', which nothing makes");
    file_destroy(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_known_condition_takes_its_branch),
        cmocka_unit_test(a_branch_in_a_branch),
        cmocka_unit_test(branches_of_one_shape_are_chosen_between),
        cmocka_unit_test(choices_that_could_harm_are_refused),
        cmocka_unit_test(loops_are_unrolled),
        cmocka_unit_test(bodies_have_weights),
        cmocka_unit_test(loops_without_a_known_end_are_refused),
        cmocka_unit_test(scans_that_are_damaged),
        cmocka_unit_test(sequences_stand_for_no_tensor),
        cmocka_unit_test(branches_that_are_damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
