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

static void what_depends_on_data_is_refused(void **state)
{
    (void)state;
    file *f = file_create(17), *body = file_inside(f);
    file_input(f, "x", FILE_FLOAT, "N,6");
    file_weights(f, "w", "6,3");
    file_node(f, "ReduceSum", "x", "sum");
    file_node(f, "Cast", "sum", "is_positive");
    file_int(f, f->graph.node[1], "to", FILE_BOOL);
    add_if(f, "is_positive", "a");
    file_node(body, "Relu", "a", "out");
    file_output(body, "out");
    Onnx__NodeProto *n = file_node(f, "Scan", "a", "b");
    file_subgraph(f, n, "body", body);
    file_node(f, "Relu", "b", "y");
    file_output(f, "y");
    expect_error(f, E_UNSUPPORTED, "2 nodes cannot be imported: ");
    expect_error(f, E_UNSUPPORTED,
                 "node 'If_2' (If): its condition depends on data, but must be known before the run");
    expect_error(f, E_UNSUPPORTED, "node 'Scan_3' (Scan): loops are not supported");
    file_destroy(&f);
}

static void branches_that_are_damaged(void **state)
{
    (void)state;
    file *f = branching("23");
    Onnx__NodeProto *n = f->graph.node[2];
    n->n_attribute = 0;
    expect_error(f, E_DATA, "node 'If_2' (If): it has no then_branch");
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
        cmocka_unit_test(what_depends_on_data_is_refused),
        cmocka_unit_test(branches_that_are_damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
