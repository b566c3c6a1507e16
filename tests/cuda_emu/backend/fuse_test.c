/*
 * Groups of nodes that are one kernel: which are found, and that what they make are the bits of the
 * kernels alone.
 */
#include "cuda_emu/backend/support_scene.h"
#include "cuda_emu/kernel_test.h"

#include "common/base/alloc.h"

static const cast_attr to_bf16 = {.to = DT_BF16}, to_f16 = {.to = DT_F16};
static const dropout_attr half = {.ratio = 0.5f, .seed = 3, .stream = 9};

static const scene chains[] = {
    {"one behind the other",
     {F32(6, 8), F32(6, 8), F32(8), F32(6, 1)},
     {ONE(RELU, 0), TWO(ADD, Y(0), 1), TWO(MUL, 2, Y(1)), TWO(SUB, 3, Y(2)), ONE(TANH, Y(3))},
     5,
     4},
    {"odd sizes",
     {F32(5, 7), F32(5, 7), F32(7), F32(5, 1)},
     {ONE(EXP, 0), TWO(DIV, Y(0), 1), TWO(MUL, 2, Y(1)), TWO(SUB, 3, Y(2))},
     4,
     3},
    {"one channel between", {F32(2, 3, 4), F32(3, 1)}, {TWO(ADD, 0, 1), ONE(RELU, Y(0))}, 2, 1},
    {"a middle axis stays",
     {F32(2, 3, 4), F32(2, 1, 4)},
     {ONE(RELU, 0), TWO(ADD, Y(0), 1), ONE(NEG, Y(1))},
     3,
     0},
    {"a copy of what is stored rounded",
     {F32(3, 40)},
     {ONE(GELU, 0), ONE(ABS, Y(0)), WITH(TO_HALF, 1, &to_bf16, Y(1))},
     3,
     1},
    {"a rounded copy beside",
     {F32(40), F32(40)},
     {ONE(GELU, 0), WITH(TO_HALF, 1, &to_f16, Y(0)), ONE(ABS, Y(0)), TWO(RELU_BWD, 1, Y(1))},
     4,
     2},
    {"a rounded copy alone", {F32(3, 40)}, {WITH(TO_HALF, 1, &to_bf16, 0)}, 1, 0},
    {"what is rounded twice, as one type and as another",
     {F32(4, 40), F32(40, 3)},
     {WITH(TO_HALF, 1, &to_bf16, 0), WITH(TO_HALF, 1, &to_bf16, 1), TWO(MATMUL, Y(0), Y(1)),
      WITH(TO_HALF, 1, &to_bf16, 0), WITH(TO_HALF, 1, &to_bf16, 1), TWO(MATMUL, Y(3), Y(4)),
      WITH(TO_HALF, 1, &to_f16, 0), WITH(TO_HALF, 1, &to_bf16, 0)},
     8,
     2},
    {"a gradient of what was rounded",
     {F32(40), F32(40)},
     {WITH(TO_HALF, 1, &to_bf16, 0), TWO(RELU_BWD, 1, Y(0)), ONE(NEG, Y(1))},
     3,
     1},
    {"a value that others read behind",
     {F32(50), F32(50)},
     {ONE(RELU, 0), TWO(ADD, Y(0), 1), ONE(SIN, Y(0))},
     3,
     1},
    {"a value that others read before",
     {F32(5, 5)},
     {ONE(RELU, 0), ONE(SOFTMAX, Y(0)), TWO(ADD, Y(0), Y(1))},
     3,
     0},
    {"what is kept is not waited for",
     {F32(9)},
     {{OP_RELU, 1, {0}, NULL, true}, ONE(NEG, Y(0))},
     2,
     0},
    {"a number twice", {F32(9)}, {ONE(RELU, 0), TWO(MUL, Y(0), Y(0))}, 2, 0},
    {"the source twice", {F32(9)}, {TWO(MUL, 0, 0), ONE(NEG, Y(0))}, 2, 1},
    {"views between",
     {F32(2, 4, 8), F32(4, 8), I64(1)},
     {TWO(ADD, 0, 1), ONE(FLATTEN, Y(0)), ONE(RELU, Y(1)), WITH(DROPOUT, 2, &half, Y(2), 2)},
     4,
     2},
    {"a view that others read",
     {F32(2, 4, 8)},
     {ONE(RELU, 0), ONE(FLATTEN, Y(0)), ONE(NEG, Y(1)), ONE(SIN, Y(1))},
     4,
     0},
    {"masks",
     {F32(33), F32(33), I64(1)},
     {WITH(DROPOUT, 2, &half, 0, 2), TWO(ADD, OUT(0, 0), 1),
      WITH(DROPOUT_BWD, 2, &half, 0, OUT(0, 1)), ONE(RELU, Y(2))},
     4,
     2},
    {"choices",
     {F32(30), F32(30), BOOL(30), F32(30)},
     {ONE(RELU, 0), THREE(WHERE, 2, 1, Y(0)), THREE(MAX_BWD, 3, Y(1), 0), ONE(NEG, Y(2))},
     4,
     3},
    {"wide functions stay alone", {F32(30)}, {ONE(RELU, 0), ONE(SIN, Y(0)), ONE(NEG, Y(1))}, 3, 0},
    {"nothing of nothing", {F32(0, 3)}, {ONE(RELU, 0), ONE(NEG, Y(0))}, 2, 0},
    {"more than a chain takes",
     {F32(12)},
     {ONE(RELU, 0), ONE(NEG, Y(0)), ONE(ABS, Y(1)), ONE(NEG, Y(2)), ONE(EXP, Y(3)), ONE(NEG, Y(4)),
      ONE(TANH, Y(5)), ONE(NEG, Y(6)), ONE(SIGMOID, Y(7)), ONE(NEG, Y(8))},
     10,
     8},
};

static const batch_norm_attr of_batch = {.training = true}, of_state = {.epsilon = 0.1f};
static const row_norm_attr rows = {.axis = 1}, planes = {.axis = 2};

#define NORM(x)              WITH(BATCH_NORMALIZATION, 5, &of_batch, x, 2, 2, 2, 3)
#define NORM_AND_RELU(x)     WITH(BATCH_NORMALIZATION, 5, &of_batch, x, 2, 3, 2, 3), ONE(RELU, Y(0))
#define BATCH_BWD(x, d)      WITH(BATCH_NORMALIZATION_BWD, 5, &of_batch, x, 2, OUT(0, 1), OUT(0, 2), d)
#define NORM_BWD(x, m, i, d) WITH(LAYER_NORMALIZATION_BWD, 5, &rows, x, 3, m, i, d)

static const scene norms[] = {
    {"a residual and the rows' norm",
     {F32(5, 36), F32(5, 36), F32(36), F32(36)},
     {TWO(ADD, 0, 1), WITH(LAYER_NORMALIZATION, 3, &rows, Y(0), 2, 3), ONE(SIN, Y(0))},
     3,
     1},
    {"dropout and long odd rows",
     {F32(3, 1203), F32(3, 1203), F32(1203), I64(1)},
     {WITH(DROPOUT, 2, &half, 0, 3), TWO(ADD, 1, OUT(0, 0)),
      WITH(RMS_NORMALIZATION, 2, &rows, Y(1), 2), WITH(DROPOUT_BWD, 2, &half, 1, OUT(0, 1))},
     4,
     2},
    {"rows of planes",
     {F32(2, 3, 4, 5), F32(3, 1, 1), F32(4, 5)},
     {TWO(MUL, 0, 1), WITH(RMS_NORMALIZATION, 2, &planes, Y(0), 2)},
     2,
     1},
    {"functions that are too much in front",
     {F32(5, 36), F32(36)},
     {ONE(GELU, 0), ONE(NEG, Y(0)), WITH(RMS_NORMALIZATION, 2, &rows, Y(1), 1)},
     3,
     1},
    {"channels and Relu",
     {F32(4, 6, 3, 5), F32(6, 1, 1), F32(6), F32(6)},
     {NORM(0), ONE(RELU, Y(0)), TWO(MUL, 1, Y(1)), ONE(SIN, OUT(0, 1)), ONE(SIN, OUT(0, 2))},
     5,
     2},
    {"channels last and a residual",
     {F32(40, 6), F32(40, 6), F32(6), F32(6)},
     {NORM(0), TWO(ADD, Y(0), 1), ONE(RELU, Y(1)), ONE(SIN, OUT(0, 1)), ONE(SIN, OUT(0, 2))},
     5,
     2},
    {"a norm that others read too",
     {F32(4, 5, 8), F32(4, 5, 8), F32(5), F32(5)},
     {WITH(BATCH_NORMALIZATION, 5, &of_state, 0, 2, 2, 3, 3), TWO(ADD, Y(0), 1), ONE(TANH, Y(0))},
     3,
     1},
    {"two norms and their sum",
     {F32(4, 5, 8), F32(4, 5, 8), F32(5), F32(5)},
     {WITH(BATCH_NORMALIZATION, 5, &of_state, 0, 2, 2, 3, 3),
      WITH(BATCH_NORMALIZATION, 5, &of_state, 1, 2, 2, 3, 3), TWO(ADD, Y(0), Y(1)),
      ONE(RELU, Y(2))},
     4,
     2},
    {"a row's gradient and what is added",
     {F32(6, 44), F32(6, 44), F32(6, 44), F32(44), F32(44)},
     {WITH(LAYER_NORMALIZATION, 3, &rows, 0, 3, 4), NORM_BWD(0, OUT(0, 1), OUT(0, 2), 1),
      TWO(ADD, 2, Y(1)), WITH(TO_HALF, 1, &to_bf16, Y(2)), ONE(SIN, OUT(1, 1)),
      ONE(SIN, OUT(1, 2))},
     6,
     1},
    {"gradients of a Relu that others read too",
     {F32(50, 7), F32(50, 7), F32(7), F32(7)},
     {NORM_AND_RELU(0), TWO(RELU_BWD, 1, Y(1)), BATCH_BWD(0, Y(2)), ONE(SIN, Y(2))},
     5,
     2},
    {"a Relu of another norm",
     {F32(4, 6, 5), F32(4, 6, 5), F32(6), F32(6)},
     {NORM_AND_RELU(0), TWO(RELU_BWD, 1, Y(1)), BATCH_BWD(1, Y(2))},
     4,
     1},
    {"a residual and Relu, backward",
     {F32(50, 7), F32(50, 7), F32(7), F32(7)},
     {NORM(0), TWO(ADD, Y(0), 1), ONE(RELU, Y(1)), TWO(ADD, 0, 1), TWO(RELU_BWD, Y(3), Y(2)),
      BATCH_BWD(0, Y(4)), ONE(SIN, Y(4))},
     7,
     4},
    {"a residual and Relu, backward, channels first",
     {F32(4, 6, 5), F32(4, 6, 5), F32(6), F32(6)},
     {NORM(0), TWO(ADD, Y(0), 1), ONE(RELU, Y(1)), TWO(ADD, 0, 1), TWO(RELU_BWD, Y(3), Y(2)),
      BATCH_BWD(0, Y(4))},
     6,
     3},
    {"shares of mean and variance",
     {F32(50, 7), F32(50, 7), F32(7), F32(1)},
     {WITH(BATCH_NORMALIZATION, 5, &of_batch, 0, 2, 2, 2, 2), BATCH_BWD(0, 1),
      TWO(MUL, OUT(0, 1), 3), TWO(MUL, 3, OUT(0, 2)), ONE(SIN, Y(1))},
     5,
     2},
    {"shares of images behind a Relu",
     {F32(4, 6, 5), F32(4, 6, 5), F32(6), F32(6), F32(1)},
     {NORM_AND_RELU(0), TWO(RELU_BWD, 1, Y(1)), BATCH_BWD(0, Y(2)), TWO(MUL, OUT(0, 1), 4),
      TWO(MUL, OUT(0, 2), 4)},
     6,
     3},
    {"products that are no shares",
     {F32(50, 7), F32(50, 7), F32(7), F32(1), F32(1)},
     {WITH(BATCH_NORMALIZATION, 5, &of_batch, 0, 2, 2, 2, 2), BATCH_BWD(0, 1),
      TWO(MUL, OUT(0, 1), 3), TWO(MUL, OUT(0, 2), 4), BATCH_BWD(0, 1), TWO(MUL, OUT(0, 1), 2),
      TWO(MUL, OUT(0, 2), 2)},
     7,
     0},
    {"halves, whose rows have no chains",
     {F32(6, 8), F32(8, 36), F32(36), F32(36)},
     {WITH(TO_HALF, 1, &to_bf16, 0), WITH(TO_HALF, 1, &to_bf16, 1), TWO(MATMUL, Y(0), Y(1)),
      ONE(NEG, Y(2)), WITH(LAYER_NORMALIZATION, 3, &rows, Y(3), 2, 3),
      NORM_BWD(Y(3), OUT(4, 1), OUT(4, 2), Y(2)), ONE(ABS, Y(5)), ONE(SIN, OUT(5, 1)),
      ONE(SIN, OUT(5, 2)), WITH(BATCH_NORMALIZATION, 5, &of_state, Y(2), 2, 2, 3, 3),
      ONE(RELU, Y(9))},
     11,
     1},
};

static const sce_attr mean = {0}, sum = {.reduction = SCE_SUM},
                      but_five = {.has_ignore_index = true, .ignore_index = 5};
static const shape_attr scalar = {0};
static const accuracy_attr all = {0}, but_one = {.has_ignore_index = true, .ignore_index = 1};

#define JUDGE(x, attr)  WITH(ACCURACY, 2, attr, x, 1)
#define LOSS(x, attr)   WITH(SOFTMAX_CROSS_ENTROPY_LOSS, 2, attr, x, 1)
#define LOSS_BWD(x, attr, k, d)                                                                    \
    WITH(SOFTMAX_CROSS_ENTROPY_LOSS_BWD, 5, attr, x, d, 1, OUT(k, 1), OUT(k, 2))

static const scene losses[] = {
    {"a loss, who is right, and the gradient",
     {F32(12, 30), I64(12), F32(1)},
     {ONE(ABS, 0), JUDGE(Y(0), &all), LOSS(Y(0), &mean), WITH(RESHAPE, 1, &scalar, 2),
      LOSS_BWD(Y(0), &mean, 2, Y(3)), ONE(SIN, Y(4))},
     6,
     2},
    {"a long row, and who is right behind",
     {F32(3, 1301), I64(3), F32(1)},
     {ONE(ABS, 0), WITH(RESHAPE, 1, &scalar, 2), LOSS(Y(0), &sum),
      LOSS_BWD(Y(0), &sum, 2, Y(1)), JUDGE(Y(0), &all)},
     5,
     2},
    {"no gradient", {F32(12, 30), I64(12)}, {JUDGE(0, &all), LOSS(0, &mean)}, 2, 1},
    {"rows that only one ignores",
     {F32(12, 30), I64(12), F32(1)},
     {WITH(RESHAPE, 1, &scalar, 2), JUDGE(0, &but_one), LOSS(0, &but_five),
      LOSS_BWD(0, &but_five, 2, Y(0))},
     4,
     1},
    {"a gradient that waits for the loss",
     {F32(12, 30), I64(12)},
     {LOSS(0, &mean), ONE(SIN, Y(0)), LOSS_BWD(0, &mean, 0, Y(1))},
     3,
     0},
    {"places beside classes",
     {F32(12, 30, 2), I64(12, 2), F32(1)},
     {WITH(RESHAPE, 1, &scalar, 2), JUDGE(0, &all), LOSS(0, &mean), LOSS_BWD(0, &mean, 2, Y(0))},
     4,
     0},
};

/* Relu's gradient between, of which nothing is stored. */
static const scene relus[] = {
    {"channels first",
     {F32(4, 6, 3, 5), F32(4, 6, 3, 5), F32(6), F32(6)},
     {NORM_AND_RELU(0), TWO(RELU_BWD, 1, Y(1)), BATCH_BWD(0, Y(2))},
     4,
     1},
    {"channels last",
     {F32(50, 7), F32(50, 7), F32(7), F32(7)},
     {NORM_AND_RELU(0), TWO(RELU_BWD, 1, Y(1)), BATCH_BWD(0, Y(2)), ONE(SIN, OUT(3, 1)),
      ONE(SIN, OUT(3, 2))},
     6,
     1},
    {"of halves",
     {F32(40, 8), F32(8, 36), F32(36), F32(36)},
     {WITH(TO_HALF, 1, &to_bf16, 0), WITH(TO_HALF, 1, &to_bf16, 1), TWO(MATMUL, Y(0), Y(1)),
      ONE(ABS, 3), WITH(BATCH_NORMALIZATION, 5, &of_state, Y(2), 2, 3, 2, Y(3)), ONE(RELU, Y(4)),
      WITH(TO_HALF, 1, &to_bf16, Y(5)), TWO(RELU_BWD, Y(2), Y(6)),
      WITH(BATCH_NORMALIZATION_BWD, 5, &of_state, Y(2), 2, 2, Y(3), Y(7)), ONE(NEG, Y(8))},
     10,
     1},
};

static void test_chains_are_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(chains); i++)
        scene_check(&chains[i], 0.0);
}

static void test_norms_have_chains_around_them(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(norms); i++)
        scene_check(&norms[i], 0.0);
}

static void test_losses_take_their_gradient_along(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(losses); i++)
        scene_check(&losses[i], 0.0);
}

static void test_gradients_of_relu_are_not_stored(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(relus); i++) {
        scene_check(&relus[i], 0.0);
        scene_expect_fused_away(&relus[i], OP_RELU_BWD);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(test_chains_are_found),
        KERNEL_TEST(test_norms_have_chains_around_them),
        KERNEL_TEST(test_losses_take_their_gradient_along),
        KERNEL_TEST(test_gradients_of_relu_are_not_stored),
    };
    return kernel_tests_run(tests, COUNT_OF(tests));
}
