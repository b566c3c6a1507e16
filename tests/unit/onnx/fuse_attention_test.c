/* What exporters write out for attention becomes the operator, and what only looks like it does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "graph/attrs.h"
#include "unit/onnx/support_fusing.h"

#include <math.h>
#include <stdio.h>

/* scores = q q^T for each of the two heads that x is, 4 by 3 */
static void add_scores(file *f)
{
    file_ints(f, "heads", "1,2,4,3");
    file_node(f, "Reshape", "x heads", "q");
    file_list(f, file_node(f, "Transpose", "q", "kt"), "perm", "0,1,3,2");
    file_node(f, "MatMul", "q kt", "scores");
}

/* p: probabilities along the last axis */
static void add_softmax(file *f, const char *scores)
{
    file_int(f, file_node(f, "Softmax", scores, "p"), "axis", -1);
}

/* softmax(q k^T / 2 + mask) v, dropout of the probabilities, heads first */
static void attention(void **state)
{
    (void)state;
    file *f = fusing_begin();
    fusing_number(f, "two", 2.0f);
    file_weights(f, "val_9", "4,4");
    add_scores(f);
    file_node(f, "Div", "scores two", "scaled");
    file_node(f, "Add", "scaled val_9", "masked");
    add_softmax(f, "masked");
    file_node(f, "Dropout", "p", "dropped mask");
    file_node(f, "MatMul", "dropped q", "y");
    imported p = fusing_ends_as(f, OP_ATTENTION, 2);
    const graph_node *n = graph_node_at(p.g, 1);
    const attention_attr *a = n->attr;
    assert_true(a->scale == 0.5f);
    assert_true(a->ratio == 0.5f);
    assert_int_equal(n->in[0], n->in[1]);
    expect_shape(&p, 0, "[1,2,4,3]");
    fusing_finish(f, &p);
}

/* A single query and a mask for four: four rows of results, which Attention would not make. */
static void no_attention_of_a_mask_that_broadcasts(void **state)
{
    (void)state;
    file *f = fusing_begin();
    file_ints(f, "one", "2,1,12");
    file_weights(f, "val_9", "4,1");
    file_node(f, "Reshape", "x one", "q");
    file_list(f, file_node(f, "Transpose", "q", "kt"), "perm", "0,2,1");
    file_node(f, "MatMul", "q kt", "scores");
    file_node(f, "Add", "scores val_9", "masked");
    add_softmax(f, "masked");
    file_node(f, "MatMul", "p q", "y");
    file_output(f, "y");
    imported p = import_ok(f, ONNX_TRAIN);
    assert_int_equal(count_ops(&p, OP_ATTENTION), 0);
    expect_shape(&p, 0, "[2,4,12]");
    fusing_finish(f, &p);
}

/* A learned mask, and zeros for a row that may look at nothing. */
static void guarded_attention(void **state)
{
    (void)state;
    file *f = fusing_begin();
    fusing_number(f, "nothing", 0.0f);
    file_weights(f, "bias.weight", "2,4,4");
    add_scores(f);
    file_node(f, "Add", "scores bias.weight", "masked");
    add_softmax(f, "masked");
    file_node(f, "IsNaN", "p", "blind");
    file_node(f, "Where", "blind nothing p", "seen");
    file_node(f, "MatMul", "seen q", "y");
    imported p = fusing_ends_as(f, OP_ATTENTION, 2);
    const graph_value *mask = graph_value_at(p.g, graph_node_at(p.g, 1)->in[3]);
    assert_int_equal(mask->kind, VAL_PARAM);
    fusing_finish(f, &p);
}

/* One mask is learned, one hides: their sum is the mask. */
static void attention_of_two_masks(void **state)
{
    (void)state;
    file *f = fusing_begin();
    file_weights(f, "bias.weight", "2,4,4");
    file_weights(f, "val_9", "4");
    add_scores(f);
    file_node(f, "Add", "bias.weight scores", "biased");
    file_node(f, "Add", "biased val_9", "masked");
    add_softmax(f, "masked");
    file_node(f, "MatMul", "p q", "y");
    imported p = fusing_ends_as(f, OP_ATTENTION, 3);
    const graph_value *mask = graph_value_at(p.g, graph_node_at(p.g, 2)->in[3]);
    assert_int_equal(graph_node_at(p.g, mask->def)->op, OP_ADD);
    fusing_finish(f, &p);
}

/* What replaces NaN is no zero, or the probabilities are read elsewhere too. */
static void not_quite_guarded(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        file *f = fusing_begin();
        fusing_number(f, "other", i ? 0.0f : 1.0f);
            add_scores(f);
        add_softmax(f, "scores");
        file_node(f, "IsNaN", "p", "blind");
        file_node(f, "Where", "blind other p", "seen");
        file_node(f, "MatMul", i ? "seen p" : "seen q", "y");
        imported p = fusing_ends_as(f, OP_SOFTMAX, 6);
        fusing_finish(f, &p);
    }
}

/* Where a position may look at no later one, written as masked_fill does. */
static void causal_attention(void **state)
{
    (void)state;
    file *f = fusing_begin();
    fusing_number(f, "two", 2.0f);
    fusing_number(f, "never", -INFINITY);
    file_ints(f, "square", "4,4");
    file_ints(f, "above", "0,1,1,1,0,0,1,1,0,0,0,1,0,0,0,0");
    file_node(f, "Reshape", "above square", "behind");
    file_int(f, file_node(f, "Cast", "behind", "hidden"), "to", FILE_BOOL);
    add_scores(f);
    file_node(f, "Div", "scores two", "scaled");
    file_node(f, "Where", "hidden never scaled", "masked");
    add_softmax(f, "masked");
    file_node(f, "MatMul", "p q", "y");
    imported p = fusing_ends_as(f, OP_ATTENTION, 2);
    const graph_node *n = graph_node_at(p.g, 1);
    assert_true(((const attention_attr *)n->attr)->causal);
    assert_int_equal(n->in[3], GRAPH_NONE);
    fusing_finish(f, &p);
}

/* Three cuts of one value, taken apart into heads and put together again. */
static file *packed_model(bool reversed)
{
    static const char *const parts[] = {"q", "k", "v"};
    static const char *const orders[] = {"0,2,1,3", "0,2,3,1", "0,2,1,3"};
    file *f = fusing_begin();
    fusing_number(f, "root", 1.41421356f);
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
    add_softmax(f, "scaled");
    file_node(f, "MatMul", "p v", "by_head");
    file_list(f, file_node(f, "Transpose", "by_head", "by_position"), "perm", "0,2,1,3");
    file_node(f, "Reshape", "by_position together", "y");
    return f;
}

static void packed_heads(void **state)
{
    (void)state;
    file *f = packed_model(false);
    imported p = fusing_ends_as(f, OP_ATTENTION, 2);
    const graph_node *n = graph_node_at(p.g, 1);
    const attention_attr *a = n->attr;
    assert_int_equal(n->in[1], GRAPH_NONE);
    assert_int_equal(a->q_heads, 2);
    assert_int_equal(a->kv_heads, 2);
    assert_true(a->scale == 1.0f / sqrtf(2));
    expect_shape(&p, 0, "[2,1,4]");
    fusing_finish(f, &p);
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
    fusing_finish(f, &p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attention),
        cmocka_unit_test(no_attention_of_a_mask_that_broadcasts),
        cmocka_unit_test(guarded_attention),
        cmocka_unit_test(not_quite_guarded),
        cmocka_unit_test(attention_of_two_masks),
        cmocka_unit_test(causal_attention),
        cmocka_unit_test(packed_heads),
        cmocka_unit_test(heads_that_are_not_packed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
