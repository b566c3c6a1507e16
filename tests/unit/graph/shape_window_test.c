/* Shape rules of transposed windows, of normalisation over channels, and of recurrent layers. */
#include "support/window_attrs.h"
#include "unit/graph/support_rows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void transposed_convolutions(void **state)
{
    (void)state;
    const row rows[] = {
        {OP_CONV_TRANSPOSE, {F(1, 4, 3, 5), F(4, 6, 3, 3)}, NULL, {"[1,6,5,7]"}, NULL},
        {OP_CONV_TRANSPOSE,
         {F(1, 4, 3), F(4, 3, 3), F(6)},
         &CONV_ATTR(.group = 2, .strides = {2}, .pads = {1, 0}, .output_padding = {1}),
         {"[1,6,7]"},
         NULL},
        {OP_CONV_TRANSPOSE,
         {F(1, 4, 3, 3), F(4, 2, 4, 4)},
         &CONV_ATTR(.strides = {3, 2}, .auto_pad = PAD_SAME_LOWER),
         {"[1,2,9,6]"},
         NULL},
        {OP_CONV_TRANSPOSE,
         {F(1, 4, 3, 3), F(4, 2, 3, 3)},
         &CONV_ATTR(.strides = {3, 2}, .output_shape = {10, 8}),
         {"[1,2,10,8]"},
         NULL},
        {OP_CONV_TRANSPOSE,
         {F(1, 4, 3, 3), F(3, 2, 3, 3)},
         NULL,
         {0},
         "the input [1,4,3,3] has 4 channels but the weights [3,2,3,3] expect 3"},
        {OP_CONV_TRANSPOSE,
         {F(1, 4, 3), F(4, 2, 3)},
         &CONV_ATTR(.strides = {2}, .output_padding = {2}),
         {0},
         "output_padding 2 of spatial axis 0 must be smaller than its stride or dilation"},
        {OP_CONV_TRANSPOSE,
         {F(1, 4, 3), F(4, 2, 3)},
         &CONV_ATTR(.pads = {3, 4}),
         {0},
         "spatial axis 0 would have the size -2 with pads 3 and 4"},
        {OP_CONV_TRANSPOSE,
         {F(1, 4, 3), F(4, 2, 3)},
         &CONV_ATTR(.strides = {-2}),
         {0},
         "size 3, kernel size 3, stride -2 and dilation 1 of spatial axis 0 must be positive"},
        {OP_CONV_TRANSPOSE,
         {F(1, 4, 3), F(4, 2, 3), F(3)},
         NULL,
         {0},
         "the bias [3] must have the shape [2]"},
    };
    CHECK_ROWS(rows);
}

static void channels(void **state)
{
    (void)state;
    const group_norm_attr two = {.groups = 2}, three = {.groups = 3};
    const row rows[] = {
        {OP_GROUP_NORMALIZATION,
         {F(5, 4, 3), F(4), F(4)},
         &two,
         {"[5,4,3]", "[5,2]", "[5,2]"},
         NULL},
        {OP_INSTANCE_NORMALIZATION,
         {F(5, 4, 3, 2), F(4), F(4)},
         NULL,
         {"[5,4,3,2]", "[5,4]", "[5,4]"},
         NULL},
        {OP_GROUP_NORMALIZATION,
         {F(5, 4, 3), F(4), F(4)},
         &three,
         {0},
         "the channels of [5,4,3] cannot be dealt to 3 groups"},
        {OP_GROUP_NORMALIZATION,
         {F(5, 4, 3), F(4), F(4)},
         &(group_norm_attr){0},
         {0},
         "num_groups is 0, must be at least 1"},
        {OP_GROUP_NORMALIZATION,
         {F(5, 4, 3), F(4), F(4)},
         &(group_norm_attr){.groups = 2, .epsilon = -1},
         {0},
         "epsilon is -1, must be at least 0"},
        {OP_GROUP_NORMALIZATION,
         {F(5, 4, 3), F(2), F(4)},
         &two,
         {0},
         "the scale [2] must have the shape [4]"},
        {OP_INSTANCE_NORMALIZATION,
         {F(5, 4), F(4), F(4)},
         NULL,
         {0},
         "the input [5,4] must be [batch,channels] and spatial axes"},
        {OP_LRN, {F(2, 7, 3)}, &(lrn_attr){.size = 3}, {"[2,7,3]", "[2,7,3]"}, NULL},
        {OP_LRN, {F(2, 7, 3)}, &(lrn_attr){0}, {0}, "size is 0, must be at least 1"},
    };
    CHECK_ROWS(rows);
}

static void recurrent_layers(void **state)
{
    (void)state;
    const recurrent_attr both = {.hidden = ATTR_OPEN, .direction = RECURRENT_BOTH}, five = {.hidden = 5};
    const row rows[] = {
        {OP_RNN, {F(7, 3, 4), F(1, 6, 4), F(1, 6, 6)}, NULL, {"[7,1,3,6]", "[1,3,6]"}, NULL},
        {OP_GRU,
         {F(7, 3, 4), F(2, 18, 4), F(2, 18, 6), F(2, 36)},
         &both,
         {"[7,2,3,6]", "[2,3,6]", NULL, "[2,7,3,18]", "[2,7,3,6]"},
         NULL},
        {OP_LSTM,
         {F(7, 3, 4), F(1, 24, 4), F(1, 24, 6), NIL, L(3)},
         NULL,
         {"[7,1,3,6]", "[1,3,6]", "[1,3,6]", "[1,7,3,24]", "[1,7,3,6]"},
         NULL},
        {OP_LSTM,
         {F(7, 3, 4), F(1, 24, 4), F(1, 24, 6)},
         &five,
         {0},
         "hidden_size is 5 but the weights [1,24,4] make it 6"},
        {OP_LSTM,
         {F(7, 3, 4), F(1, 23, 4), F(1, 24, 6)},
         NULL,
         {0},
         "the weights [1,23,4] must be [1,4 * hidden,4]"},
        {OP_GRU,
         {F(7, 3, 4), F(1, 18, 4), F(1, 18, 5)},
         NULL,
         {0},
         "the recurrent weights [1,18,5] must have the shape [1,18,6]"},
        {OP_RNN,
         {F(7, 3), F(1, 6, 3), F(1, 6, 6)},
         NULL,
         {0},
         "the input [7,3] must be [steps,batch,features]"},
        {OP_RNN,
         {F(7, 3, 4), F(1, 6, 4), F(1, 6, 6), NIL, F(3)},
         NULL,
         {0},
         "the sequence lengths are float32, must be int32 or int64"},
    };
    CHECK_ROWS(rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transposed_convolutions),
        cmocka_unit_test(channels),
        cmocka_unit_test(recurrent_layers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
