/*
 * Shape rules where an axis is 0: what ONNX and numpy make of it, and what nothing can be made of.
 */
#include "support/window_attrs.h"
#include "unit/graph/support_rows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void nothing_is_moved(void **state)
{
    (void)state;
    const axis_attr second = {.axis = 1};
    const row rows[] = {
        {OP_ADD, {F(0, 3), F(1, 3)}, NULL, {"[0,3]"}, NULL},
        {OP_ADD, {F(2, 0), F(1)}, NULL, {"[2,0]"}, NULL},
        {OP_ADD, {F(0), F(2)}, NULL, {0}, "the shapes [0] and [2] do not broadcast"},
        {OP_RESHAPE, {F(0, 4)}, SHAPED(2, 0, 7), {"[2,0,7]"}, NULL},
        {OP_RESHAPE, {F(0, 4)}, COPIED(0, 2, 2), {"[0,2,2]"}, NULL},
        {OP_RESHAPE, {F(0, 4)}, SHAPED(-1, 4), {"[0,4]"}, NULL},
        {OP_RESHAPE, {F(0, 4)}, SHAPED(-1, 0), {0}, "the input [0,4] cannot take the shape [-1,0]"},
        {OP_RESHAPE, {F(0, 4)}, SHAPED(4), {0}, "the input [0,4] cannot take the shape [4]"},
        {OP_RESHAPE, {F(2, 4)}, SHAPED(0), {0}, "the input [2,4] cannot take the shape [0]"},
        {OP_FLATTEN, {F(2, 0, 3)}, &second, {"[2,0]"}, NULL},
        {OP_TRANSPOSE, {F(0, 3, 4)}, &(transpose_attr){.reverse = true}, {"[4,3,0]"}, NULL},
        {OP_CONCAT, {F(2, 0), F(2, 5), F(2, 0)}, &second, {"[2,5]"}, NULL},
        {OP_EXPAND, {F(3, 1)}, SHAPED(3, 0), {"[3,0]"}, NULL},
        {OP_EXPAND, {F(3, 0)}, SHAPED(3, 2), {0}, "the input [3,0] does not expand to [3,2]"},
        {OP_SUM_TO, {F(3, 0)}, SHAPED(3, 1), {"[3,1]"}, NULL},
        {OP_SLICE, {F(0, 2)}, &(slice_attr){.n_axes = 1, .end = {9}, .step = {1}}, {"[0,2]"}, NULL},
        {OP_SLICE,
         {F(3)},
         &(slice_attr){.n_axes = 1, .begin = {-9}, .end = {0}, .step = {-1}},
         {"[0]"},
         NULL},
        {OP_PAD, {F(0, 2)}, &(pad_attr){.pads = {1, 0, 2, 0}}, {"[3,2]"}, NULL},
        {OP_PAD, {F(0, 2)}, &(pad_attr){.mode = PAD_EDGE, .pads = {0, 1, 0, 0}}, {"[0,3]"}, NULL},
        {OP_PAD,
         {F(0, 2)},
         &(pad_attr){.mode = PAD_EDGE, .pads = {1, 0, 0, 0}},
         {0},
         "pads 1 and 0 cut more than axis 0 of the input [0,2] has"},
    };
    CHECK_ROWS(rows);
}

static void nothing_is_picked(void **state)
{
    (void)state;
    const row rows[] = {
        {OP_GATHER, {F(9, 4), L(0)}, NULL, {"[0,4]"}, NULL},
        {OP_GATHER, {F(0, 4), L(2, 0)}, NULL, {"[2,0,4]"}, NULL},
        {OP_GATHER, {F(9, 0), L(2)}, NULL, {"[2,0]"}, NULL},
        {OP_GATHER, {F(0, 4), L(2)}, NULL, {0}, "axis 0 of the input [0,4] has nothing to pick"},
        {OP_GATHER_ELEMENTS,
         {F(0, 4), L(2, 4)},
         NULL,
         {0},
         "axis 0 of the input [0,4] has no elements to name"},
        {OP_GATHER_ND,
         {F(3, 0), L(2, 2)},
         NULL,
         {0},
         "axis 1 of the input [3,0] has no elements to name"},
        {OP_GATHER_ND, {F(3, 0), L(2, 1)}, NULL, {"[2,0]"}, NULL},
        {OP_SCATTER_ND, {F(5, 4), L(0, 1), F(0, 4)}, NULL, {"[5,4]"}, NULL},
        {OP_TOP_K, {F(2, 9)}, &(top_k_attr){.axis = -1}, {"[2,0]", "[2,0]"}, NULL},
        {OP_ONE_HOT, {L(2, 3)}, &(one_hot_attr){.axis = -1}, {"[2,3,0]"}, NULL},
        {OP_ARG_MAX,
         {F(2, 0)},
         &(arg_attr){.axis = 1},
         {0},
         "axis 1 of the input [2,0] has no elements to compare"},
        {OP_ARG_MAX, {F(0, 2)}, &(arg_attr){.axis = 1}, {"[0,1]"}, NULL},
    };
    CHECK_ROWS(rows);
}

static void nothing_is_summed(void **state)
{
    (void)state;
    const row rows[] = {
        {OP_MATMUL, {F(3, 0), F(0, 4)}, NULL, {"[3,4]"}, NULL},
        {OP_MATMUL, {F(0, 2, 3), F(3, 4)}, NULL, {"[0,2,4]"}, NULL},
        {OP_GEMM, {F(0, 3), F(3, 4), F(4)}, NULL, {"[0,4]"}, NULL},
        {OP_REDUCE_SUM, {F(3, 0)}, &(reduce_attr){.axes = {1}, .n_axes = 1}, {"[3,1]"}, NULL},
        {OP_REDUCE_MEAN, {F(0)}, &(reduce_attr){.drop_dims = true}, {"[]"}, NULL},
        {OP_CONV, {F(0, 3, 8), F(4, 3, 3)}, NULL, {"[0,4,6]"}, NULL},
        {OP_CONV, {F(2, 0, 8), F(4, 0, 3)}, NULL, {0}, "the weights [4,0,3] have no elements"},
        {OP_CONV,
         {F(2, 3, 0), F(4, 3, 1)},
         &CONV_ATTR(.pads = {1, 1}),
         {0},
         "spatial axis 0 has no elements to slide over"},
        {OP_GLOBAL_AVERAGE_POOL, {F(0, 3, 8)}, NULL, {"[0,3,1]"}, NULL},
        {OP_GLOBAL_AVERAGE_POOL,
         {F(2, 3, 0)},
         NULL,
         {0},
         "the planes of the input [2,3,0] have no elements"},
        {OP_RESIZE, {F(0, 4)}, &(resize_attr){.scales = {1, 2}}, {"[0,8]"}, NULL},
        {OP_RESIZE,
         {F(0, 4)},
         &(resize_attr){.sizes = {2, 4}},
         {0},
         "axis 0 of the input [0,4] has no elements to make 2 of"},
        {OP_GRID_SAMPLE, {F(2, 3, 8, 9), F(2, 0, 5, 2)}, NULL, {"[2,3,0,5]"}, NULL},
        {OP_GRID_SAMPLE,
         {F(2, 3, 0, 9), F(2, 4, 5, 2)},
         NULL,
         {0},
         "the planes of the input [2,3,0,9] have no elements"},
        {OP_SOFTMAX_CROSS_ENTROPY_LOSS,
         {F(3, 0), L(3)},
         NULL,
         {0},
         "the scores [3,0] are of no class"},
        {OP_ATTENTION,
         {F(2, 4, 6), F(2, 0, 6), F(2, 0, 6)},
         &(attention_attr){.q_heads = 2},
         {"[2,4,6]", "[2,2,4]"},
         NULL},
        {OP_ATTENTION,
         {F(2, 1, 4, 0), F(2, 1, 4, 0), F(2, 1, 4, 3)},
         NULL,
         {0},
         "queries [2,1,4,0] have no heads, or nothing in them"},
    };
    CHECK_ROWS(rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_moved),
        cmocka_unit_test(nothing_is_picked),
        cmocka_unit_test(nothing_is_summed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
