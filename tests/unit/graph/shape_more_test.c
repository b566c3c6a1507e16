/* Shape rules, second half: losses, norms, attention, reductions. */
#include "support/window_attrs.h"
#include "unit/graph/support_rows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void losses_and_norms(void **state)
{
    (void)state;
    const axis_attr last = {-1}, third = {3}, below = {-4};
    const sce_attr none = {.reduction = SCE_NONE};
    const batch_norm_attr training = {.training = true};
    const dropout_attr half = {.ratio = 0.5f}, all = {.ratio = 1.0f};
    const row_norm_attr rows_last = {.axis = -1}, rows_two = {.axis = -2};
    const row rows[] = {
        {OP_SOFTMAX, {F(2, 3)}, &last, {"[2,3]"}, NULL},
        {OP_LOG_SOFTMAX, {F(2, 3, 4)}, &last, {"[2,3,4]"}, NULL},
        {OP_SOFTMAX, {F(2, 3, 4)}, &third, {0}, "axis 3 is not within -3 .. 2"},
        {OP_LOG_SOFTMAX, {F(2, 3, 4)}, &below, {0}, "axis -4 is not within -3 .. 2"},
        {OP_SOFTMAX_BWD, {F(2, 3), F(2, 3)}, &last, {"[2,3]"}, NULL},
        {OP_LOG_SOFTMAX_BWD,
         {F(2, 3), F(2, 2)},
         &last,
         {0},
         "the saved value [2,2] must have the shape [2,3]"},
        {OP_SOFTMAX_CROSS_ENTROPY_LOSS, {F(8, 10), L(8)}, NULL, {"[]", "[8]", "[8]"}, NULL},
        {OP_ACCURACY, {F(8, 10, 3), L(8, 3)}, NULL, {"[]", "[]"}, NULL},
        {OP_ACCURACY,
         {F(8), L(8)},
         NULL,
         {0},
         "the scores [8] must be [batch,classes] and maybe more axes"},
        {OP_ACCURACY,
         {F(8, 10), L(7)},
         NULL,
         {0},
         "the tensor of labels [7] must have the shape [8]"},
        {OP_ACCURACY, {F(8, 10), F(8)}, NULL, {0}, "the labels are float32, must be int64"},
        {OP_SOFTMAX_CROSS_ENTROPY_LOSS,
         {F(8, 10, 3, 4), L(8, 3, 4), F(10)},
         &none,
         {"[8,3,4]", "[8,3,4]", "[8,3,4]"},
         NULL},
        {OP_SOFTMAX_CROSS_ENTROPY_LOSS,
         {F(8, 10), F(8)},
         NULL,
         {0},
         "the labels are float32, must be int64 or int32"},
        {OP_SOFTMAX_CROSS_ENTROPY_LOSS,
         {F(8, 10), L(9)},
         NULL,
         {0},
         "the tensor of labels [9] must have the shape [8]"},
        {OP_SOFTMAX_CROSS_ENTROPY_LOSS,
         {F(8, 10), L(8), F(9)},
         NULL,
         {0},
         "the tensor of class weights [9] must have the shape [10]"},
        {OP_SOFTMAX_CROSS_ENTROPY_LOSS,
         {F(8), L(8)},
         NULL,
         {0},
         "the scores [8] must be [batch,classes] and maybe more axes"},
        {OP_SOFTMAX_CROSS_ENTROPY_LOSS,
         {F(8, 10), L(8)},
         &(sce_attr){.reduction = 3},
         {0},
         "reduction is 3, which is none of: mean sum none"},
        {OP_SOFTMAX_CROSS_ENTROPY_LOSS_BWD,
         {F(8, 10), F0, L(8), F(8), F(8)},
         NULL,
         {"[8,10]"},
         NULL},
        {OP_SOFTMAX_CROSS_ENTROPY_LOSS_BWD,
         {F(8, 10), F0, L(8), F(8), F(8), F(10)},
         NULL,
         {"[8,10]"},
         NULL},
        {OP_SOFTMAX_CROSS_ENTROPY_LOSS_BWD,
         {F(8, 10), F0, L(8)},
         NULL,
         {0},
         "the rows' largest score or sum is absent"},
        {OP_SOFTMAX_CROSS_ENTROPY_LOSS_BWD,
         {F(8, 10), F0, L(8), F(8), F(9)},
         NULL,
         {0},
         "what is kept of the rows [9] must have the shape [8]"},
        {OP_SOFTMAX_CROSS_ENTROPY_LOSS_BWD,
         {F(8, 10), F0, L(8), F(8), F(8)},
         &none,
         {0},
         "the gradient [] must have the shape [8]"},
        {OP_BATCH_NORMALIZATION,
         {F(8, 4, 5, 5), F(4), F(4), F(4), F(4)},
         &training,
         {"[8,4,5,5]", "[4]", "[4]"},
         NULL},
        {OP_BATCH_NORMALIZATION,
         {F(8, 4), F(4), F(4), F(4), F(4)},
         NULL,
         {"[8,4]", NULL, NULL},
         NULL},
        {OP_BATCH_NORMALIZATION,
         {F(8, 4), F(4), F(4), F(3), F(4)},
         NULL,
         {0},
         "the mean [3] must have the shape [4]"},
        {OP_BATCH_NORMALIZATION,
         {F(8), F(8), F(8), F(8), F(8)},
         NULL,
         {0},
         "the input [8] must have a channel axis"},
        {OP_BATCH_NORMALIZATION_BWD,
         {F(8, 4), F(4), F(4), F(4), F(8, 4)},
         NULL,
         {"[8,4]", "[4]", "[4]"},
         NULL},
        {OP_BATCH_NORMALIZATION_BWD,
         {F(8, 4), F(4), F(4), F(5), F(8, 4)},
         NULL,
         {0},
         "the variance [5] must have the shape [4]"},
        {OP_BATCH_NORMALIZATION_BWD,
         {F(8), F(4), F(4), F(5), F(8)},
         NULL,
         {0},
         "the input [8] must have a channel axis"},
        {OP_LAYER_NORMALIZATION,
         {F(2, 5, 8), F(8), F(8)},
         &rows_last,
         {"[2,5,8]", "[2,5,1]", "[2,5,1]"},
         NULL},
        {OP_LAYER_NORMALIZATION,
         {F(2, 5, 8), F(5, 8)},
         &rows_two,
         {"[2,5,8]", "[2,1,1]", "[2,1,1]"},
         NULL},
        {OP_LAYER_NORMALIZATION,
         {F(2, 5, 8), F(8), F(7)},
         &rows_last,
         {0},
         "the bias [7] must have the shape [8]"},
        {OP_LAYER_NORMALIZATION,
         {F(2, 5, 8), F(8)},
         &rows_two,
         {0},
         "the scale [8] must have the shape [5,8]"},
        {OP_LAYER_NORMALIZATION_BWD,
         {F(2, 8), F(8), F(2, 1), F(2, 1), F(2, 8)},
         &rows_last,
         {"[2,8]", "[8]", "[8]"},
         NULL},
        {OP_LAYER_NORMALIZATION_BWD,
         {F(2, 8), F(8), F(2), F(2, 1), F(2, 8)},
         &rows_last,
         {0},
         "the mean [2] must have the shape [2,1]"},
        {OP_RMS_NORMALIZATION, {F(2, 5, 8), F(8)}, &rows_last, {"[2,5,8]", "[2,5,1]"}, NULL},
        {OP_RMS_NORMALIZATION,
         {F(2, 5, 8), F(5)},
         &rows_last,
         {0},
         "the scale [5] must have the shape [8]"},
        {OP_RMS_NORMALIZATION_BWD,
         {F(2, 8), F(8), F(2, 1), F(8)},
         &rows_last,
         {0},
         "the gradient [8] must have the shape [2,8]"},
        {OP_DROPOUT, {F(8, 4), L(1)}, &half, {"[8,4]", "[8,4]"}, NULL},
        {OP_DROPOUT, {F(8, 4), L(1)}, &all, {0}, "ratio is 1, must be below 1"},
        {OP_DROPOUT, {F(8, 4), F(1)}, &half, {0}, "the batch id is float32 [1], must be one int64"},
        {OP_DROPOUT, {F(8, 4), L(2)}, &half, {0}, "the batch id is int64 [2], must be one int64"},
        {OP_RANDOM, {L(1)}, &(random_attr){.shape = {2, {3, 4}}}, {"[3,4]"}, NULL},
        {OP_RANDOM, {L(2)}, &(random_attr){.seed = 1}, {0}, "the batch id is int64 [2], must be one int64"},
        {OP_RANDOM,
         {L(1)},
         &(random_attr){.shape = {.rank = 9}},
         {0},
         "a shape has 0 to 8 axes, not 9"},
        {OP_DROPOUT_BWD, {F(8, 4), U8(8, 4)}, &half, {"[8,4]"}, NULL},
    };
    CHECK_ROWS(rows);
}

static void attentions(void **state)
{
    (void)state;
    const attention_attr three = {.q_heads = 3}, four = {.q_heads = 4, .kv_heads = 3}, none = {0};
    const attention_attr drop = {.q_heads = 3, .ratio = 0.5f};
    const attention_attr past = {.q_heads = 3, .past = 8};
    const row rows[] = {
        {OP_ROTARY_EMBEDDING,
         {F(2, 5, 36), F(2, 5, 6), F(2, 5, 6)},
         &(rotary_attr){.heads = 3},
         {"[2,5,36]"},
         NULL},
        {OP_ROTARY_EMBEDDING,
         {F(2, 3, 5, 12), F(2, 5, 6), F(5, 6)},
         NULL,
         {0},
         "the sine [5,6] must have the shape [2,5,6]"},
        {OP_ROTARY_EMBEDDING,
         {F(2, 5, 36), F(2, 5, 6), F(2, 5, 6)},
         &(rotary_attr){.heads = 3, .width = 14},
         {0},
         "14 of a head's 12 numbers cannot be turned"},
        {OP_ATTENTION, {F(2, 5, 36)}, &three, {"[2,5,12]", "[2,3,5]"}, NULL},
        {OP_ATTENTION,
         {F(2, 5, 12), F(2, 7, 12), F(2, 7, 6), F(7)},
         &three,
         {"[2,5,6]", "[2,3,5]"},
         NULL},
        {OP_ATTENTION,
         {F(2, 4, 5, 8), F(2, 2, 7, 8), F(2, 2, 7, 6)},
         &none,
         {"[2,4,5,6]", "[2,4,5]"},
         NULL},
        {OP_ATTENTION,
         {F(2, 5, 35)},
         &three,
         {0},
         "the packed input [2,5,35] must be [batch,length,(3+2*3)*head]"},
        {OP_ATTENTION, {F(2, 5, 36)}, &none, {0}, "[2,5,36] needs the number of heads"},
        {OP_ATTENTION, {F(2, 5, 40)}, &four, {0}, "4 heads of queries cannot share 3 of keys"},
        {OP_ATTENTION,
         {F(2, 5, 12), F(2, 7, 12)},
         &three,
         {0},
         "keys and values are given both or not at all"},
        {OP_ATTENTION,
         {F(2, 5, 12), F(2, 7, 12), F(2, 8, 12)},
         &three,
         {0},
         "queries [2,5,12], keys [2,7,12] and values [2,8,12] do not fit"},
        {OP_ATTENTION,
         {F(2, 5, 36), NIL, NIL, F(4, 5)},
         &three,
         {0},
         "the mask [4,5] does not broadcast to the scores [2,3,5,5]"},
        {OP_ATTENTION,
         {F(2, 5, 36), NIL, NIL, L(5, 5)},
         &three,
         {0},
         "the mask is int64, must be bool or float32"},
        {OP_ATTENTION, {F(2, 5, 36)}, &drop, {0}, "dropout needs the batch id"},
        {OP_ATTENTION, {F(2, 5, 36)}, &past, {0}, "8 keys of the past: must be 0 or more, and causal"},
        {OP_ATTENTION_BWD,
         {F(2, 5, 12), F(2, 5, 12), F(2, 3, 5), F(2, 5, 36)},
         &three,
         {"[2,5,36]", NULL, NULL},
         NULL},
        {OP_ATTENTION_BWD,
         {F(2, 5, 12), F(2, 5, 12), F(2, 3, 5), F(2, 5, 36), NIL, NIL, F(5, 5)},
         &three,
         {"[2,5,36]", NULL, NULL, "[5,5]"},
         NULL},
        {OP_ATTENTION_BWD,
         {F(2, 5, 12), F(2, 5, 12), F(2, 3, 5), F(2, 5, 36), NIL, NIL, F(3, 5, 1)},
         &three,
         {"[2,5,36]", NULL, NULL, NULL},
         NULL},
        {OP_ATTENTION_BWD,
         {F(2, 5, 12), F(2, 5, 12), F(2, 3), F(2, 5, 36)},
         &three,
         {0},
         "the log-sum-exp [2,3] must have the shape [2,3,5]"},
    };
    CHECK_ROWS(rows);
}

static void reductions(void **state)
{
    (void)state;
    const row rows[] = {
        {OP_REDUCE_MEAN, {F(2, 3, 4)}, NULL, {"[1,1,1]"}, NULL},
        {OP_REDUCE_SUM, {F(2, 3, 4)}, &(reduce_attr){.drop_dims = true}, {"[]"}, NULL},
        {OP_REDUCE_SUM,
         {F(2, 3, 4)},
         &(reduce_attr){.axes = {-1, 0}, .n_axes = 2},
         {"[1,3,1]"},
         NULL},
        {OP_REDUCE_MEAN,
         {F(2, 3, 4)},
         &(reduce_attr){.axes = {2, 0}, .n_axes = 2, .drop_dims = true},
         {"[3]"},
         NULL},
        {OP_REDUCE_MEAN, {F0}, NULL, {"[]"}, NULL},
        {OP_REDUCE_MEAN,
         {F(2, 3)},
         &(reduce_attr){.axes = {2}, .n_axes = 1},
         {0},
         "axis 2 is not within -2 .. 1"},
        {OP_REDUCE_SUM,
         {F(2, 3)},
         &(reduce_attr){.axes = {1, -1}, .n_axes = 2},
         {0},
         "axis 1 of the input [2,3] is named twice"},
        {OP_REDUCE_SUM, {F(2, 3)}, &(reduce_attr){.n_axes = 9}, {0}, "cannot reduce 9 axes"},
        {OP_REDUCE_SUM, {L(2, 3)}, NULL, {"[1,1]"}, NULL},
        {OP_REDUCE_MEAN, {L(2, 3)}, NULL, {0}, "input 'in0' is int64, must be a floating type"},
        {OP_REDUCE_L1, {F(2, 3)}, &(reduce_attr){.none = true, .drop_dims = true}, {"[2,3]"}, NULL},
        {OP_ARG_MAX, {F(2, 3, 4)}, &(arg_attr){.axis = -2}, {"[2,1,4]"}, NULL},
        {OP_ARG_MIN, {L(2, 3)}, &(arg_attr){.axis = 0, .drop_dims = true}, {"[3]"}, NULL},
        {OP_ARG_MAX, {F(2, 3)}, &(arg_attr){.axis = 2}, {0}, "axis 2 is not within -2 .. 1"},
        {OP_CUM_SUM, {L(2, 3)}, &(cum_sum_attr){.axis = -1}, {"[2,3]"}, NULL},
        {OP_HARDMAX, {L(2, 3)}, NULL, {0}, "input 'in0' is int64, must be a floating type"},
    };
    CHECK_ROWS(rows);
}

static void attributes_are_completed_in_the_copy(void **state)
{
    (void)state;
    graph *g = make_graph();
    graph_val x = make_input(g, "x", DT_F32, DIMS(2, 3, 8, 8));
    graph_val w = make_input(g, "w", DT_F32, DIMS(4, 3, 3, 3));
    conv_attr given = CONV_ATTR(.pads = {1, 1, 1, 1});
    make_node(g, OP_CONV, "conv", IN(x, w), &given);
    assert_int_equal(given.kernel[1], 0);
    const conv_attr *conv = graph_node_at(g, 0)->attr;
    assert_int_equal(conv->kernel[1], 3);
    const conv_attr same = CONV_ATTR(.auto_pad = PAD_SAME_LOWER);
    make_node(g, OP_CONV, "same", IN(x, w), &same);
    conv = graph_node_at(g, 1)->attr;
    assert_int_equal(conv->pads[3], 1);
    assert_int_equal(conv->auto_pad, PAD_GIVEN);
    make_node(g, OP_CONV, "defaults", IN(x, w), NULL);
    conv = graph_node_at(g, 2)->attr;
    assert_int_equal(conv->group, 1);
    assert_int_equal(conv->strides[1], 1);
    assert_int_equal(conv->dilations[2], 1);
    make_node(g, OP_REDUCE_SUM, "all", IN(x), NULL);
    const reduce_attr *all = graph_node_at(g, 3)->attr;
    assert_int_equal(all->n_axes, 4);
    assert_int_equal(all->axes[3], 3);
    make_node(g, OP_REDUCE_SUM, "some", IN(x), &(reduce_attr){.axes = {-1, 1}, .n_axes = 2});
    const reduce_attr *some = graph_node_at(g, 4)->attr;
    assert_int_equal(some->axes[0], 1);
    assert_int_equal(some->axes[1], 3);
    make_node(g, OP_RESHAPE, "rows", IN(x), COPIED(0, -1));
    assert_int_equal(((const shape_attr *)graph_node_at(g, 5)->attr)->shape.dim[1], 192);
    make_node(g, OP_TRANSPOSE, "turned", IN(x), &(transpose_attr){.reverse = true});
    const transpose_attr *turned = graph_node_at(g, 6)->attr;
    assert_int_equal(turned->perm[0], 3);
    assert_false(turned->reverse);
    make_node(g, OP_SOFTMAX, "soft", IN(x), &(axis_attr){-1});
    assert_int_equal(((const axis_attr *)graph_node_at(g, 7)->attr)->axis, 3);
    make_node(g, OP_SLICE, "cut", IN(x),
              &(slice_attr){.n_axes = 1, .axes = {-1}, .begin = {-3}, .end = {99}, .step = {1}});
    const slice_attr *cut = graph_node_at(g, 8)->attr;
    assert_int_equal(cut->n_axes, 4);
    assert_int_equal(cut->end[0], 2);
    assert_int_equal(cut->begin[3], 5);
    assert_int_equal(cut->end[3], 8);
    assert_int_equal(cut->step[3], 1);
    graph_destroy(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_and_norms),
        cmocka_unit_test(attentions),
        cmocka_unit_test(reductions),
        cmocka_unit_test(attributes_are_completed_in_the_copy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
