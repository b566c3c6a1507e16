/*
 * What matmuls end with (backend/cuda/load/fuse.h): by our tiles, and by cuBLASLt as it is played.
 * Which ends are taken, and that what they make is what the nodes make alone: to the bit with
 * floats and tiles.
 */
#include "cuda_emu/backend/support_scene.h"
#include "cuda_emu/kernel_test.h"

#include "common/base/alloc.h"
#include "cuda_emu/fakes/fakes.h"

static const gelu_attr by_tanh = {.tanh = true};
static const cast_attr to_bf16 = {.to = DT_BF16}, to_f16 = {.to = DT_F16};
static const gemm_attr transposed = {.alpha = 0.5f, .beta = 2.0f, .trans_a = true, .trans_b = true};

/* A row: what our tiles save, and what cuBLASLt does. */
typedef struct row {
    scene is;
    unsigned by_library;
} row;

static const row floats[] = {
    {{"Gelu and its gradient",
      {F32(9, 40), F32(40, 70), F32(70), F32(9, 16), F32(16, 70)},
      {THREE(GEMM, 0, 1, 2), ONE(GELU, Y(0)), TWO(GEMM, 3, 4), TWO(GELU_BWD, Y(2), Y(0)),
       ONE(SIN, Y(1))},
      5,
      2},
     0},
    {{"Relu behind twice a bias, which is our tiles' in any case, and its gradient",
      {F32(40, 9), F32(70, 40), F32(1, 70), F32(9, 16), F32(16, 70)},
      {WITH(GEMM, 3, &transposed, 0, 1, 2), ONE(RELU, Y(0)), TWO(GEMM, 3, 4),
       TWO(RELU_BWD, Y(2), Y(1))},
      4,
      2},
     1},
    {{"a bias apart, and the other Gelu",
      {F32(2, 3, 40), F32(40, 18), F32(18), F32(2, 3, 8), F32(8, 18)},
      {TWO(MATMUL, 0, 1), TWO(ADD, 2, Y(0)), WITH(GELU, 1, &by_tanh, Y(1)), TWO(MATMUL, 3, 4),
       WITH(GELU_BWD, 2, &by_tanh, Y(3), Y(1)), ONE(SIN, Y(2))},
      6,
      3},
     1},
    {{"batches, pieces of sums, and a view",
      {F32(2, 3, 600), F32(2, 600, 5), F32(5)},
      {TWO(MATMUL, 0, 1), TWO(ADD, Y(0), 2), ONE(FLATTEN, Y(1)), ONE(RELU, Y(2))},
      4,
      2},
     1},
    {{"a column, a matrix and a second row are no bias",
      {F32(5, 4), F32(4, 6), F32(5, 1), F32(5, 6), F32(6)},
      {TWO(GEMM, 0, 1), TWO(ADD, Y(0), 2), TWO(GEMM, 0, 1), TWO(ADD, Y(2), 3), THREE(GEMM, 0, 1, 4),
       TWO(ADD, Y(4), 4)},
      6,
      0},
     0},
    {{"what others read has to be left somewhere",
      {F32(5, 4), F32(4, 6), F32(5, 6), F32(6)},
      {TWO(GEMM, 0, 1), TWO(RELU_BWD, Y(0), 2), ONE(SIN, Y(0)), TWO(GEMM, 0, 1), TWO(ADD, Y(3), 3),
       ONE(COS, Y(3))},
      6,
      0},
     0},
    {{"what is kept is not waited for, and a gradient's other side is no matmul",
      {F32(5, 4), F32(4, 6), F32(5, 6)},
      {{OP_GEMM, 2, {0, 1}, NULL, true}, ONE(RELU, Y(0)), TWO(GEMM, 0, 1), TWO(GELU_BWD, 2, Y(2))},
      4,
      0},
     0},
    {{"no sums at all, which are our tiles' in any case",
      {F32(5, 0), F32(0, 6)},
      {TWO(GEMM, 0, 1), ONE(RELU, Y(0))},
      2,
      1},
     1},
};

#define ROUND(to, a) WITH(TO_HALF, 1, &to, a)

/* Rounded factors, a Gemm with a bias, Gelu, and a matmul that reads it; the gradient of both. */
#define PERCEPTRON(half, gelu)                                                                     \
    {                                                                                              \
        ROUND(half, 0), ROUND(half, 1), THREE(GEMM, Y(0), Y(1), 2), WITH(GELU, 1, gelu, Y(2)),     \
            ROUND(half, Y(3)), ROUND(half, 3), TWO(GEMM, Y(4), Y(5)), ROUND(half, 4),              \
            TWO(GEMM, Y(7), Y(5)), WITH(GELU_BWD, 2, gelu, Y(6), Y(2)), ROUND(half, Y(9)),         \
            TWO(GEMM, Y(10), Y(5)), ONE(SIN, Y(8))                                                 \
    }

static const row halves[] = {
    {{"a perceptron of bfloat16",
      {F32(10, 16), F32(16, 24), F32(24), F32(24, 24), F32(8, 24)},
      PERCEPTRON(to_bf16, &by_tanh),
      13,
      2},
     2},
    {{"a perceptron of float16",
      {F32(10, 16), F32(16, 24), F32(24), F32(24, 24), F32(8, 24)},
      PERCEPTRON(to_f16, &by_tanh),
      13,
      2},
     2},
    {{"rows that do not begin at multiples of eight",
      {F32(10, 16), F32(16, 20), F32(20), F32(20, 20), F32(8, 20)},
      PERCEPTRON(to_bf16, &by_tanh),
      13,
      2},
     0},
    {{"Gelu as it is",
      {F32(10, 16), F32(16, 24), F32(24), F32(24, 24), F32(8, 24)},
      PERCEPTRON(to_bf16, NULL),
      13,
      2},
     0},
    {{"what a Gelu reads that nobody else does",
      {F32(10, 16), F32(16, 20), F32(20), F32(20, 7)},
      {ROUND(to_bf16, 0), ROUND(to_bf16, 1), THREE(GEMM, Y(0), Y(1), 2),
       WITH(GELU, 1, &by_tanh, Y(2)), ROUND(to_bf16, Y(3)), ROUND(to_bf16, 3),
       TWO(GEMM, Y(4), Y(5))},
      7,
      1},
     1},
    {{"what a Gelu reads, by others' kernels",
      {F32(10, 16), F32(16, 24), F32(24), F32(24, 7)},
      {ROUND(to_bf16, 0), ROUND(to_bf16, 1), THREE(GEMM, Y(0), Y(1), 2),
       WITH(GELU, 1, &by_tanh, Y(2)), ROUND(to_bf16, Y(3)), ROUND(to_bf16, 3),
       TWO(GEMM, Y(4), Y(5)), ONE(NEG, Y(2))},
      8,
      1},
     1},
    {{"what a gradient reads, from a matmul as it is",
      {F32(10, 16), F32(16, 24), F32(24, 7)},
      {ROUND(to_bf16, 0), ROUND(to_bf16, 1), TWO(GEMM, Y(0), Y(1)), TWO(GEMM, Y(0), Y(1)),
       WITH(GELU_BWD, 2, &by_tanh, Y(3), Y(2)), ROUND(to_bf16, Y(4)), ROUND(to_bf16, 2),
       TWO(GEMM, Y(5), Y(6))},
      8,
      1},
     1},
    {{"batches, and what a Gelu reads by others' kernels",
      {F32(3, 10, 16), F32(3, 16, 24), F32(3, 24, 7)},
      {ROUND(to_f16, 0), ROUND(to_f16, 1), TWO(MATMUL, Y(0), Y(1)), WITH(GELU, 1, &by_tanh, Y(2)),
       ROUND(to_f16, Y(3)), ROUND(to_f16, 2), TWO(MATMUL, Y(4), Y(5)), ONE(NEG, Y(2))},
      8,
      1},
     1},
    {{"batches of gradients",
      {F32(3, 10, 16), F32(3, 16, 24), F32(3, 24, 7)},
      {ROUND(to_f16, 0), ROUND(to_f16, 1), TWO(MATMUL, Y(0), Y(1)), TWO(MATMUL, Y(0), Y(1)),
       WITH(GELU_BWD, 2, &by_tanh, Y(3), Y(2)), ROUND(to_f16, Y(4)), ROUND(to_f16, 2),
       TWO(MATMUL, Y(5), Y(6))},
      8,
      1},
     1},
    {{"batches of batches are several calls",
      {F32(2, 1, 4, 8), F32(1, 3, 8, 8), F32(3, 8, 7)},
      {ROUND(to_bf16, 0), ROUND(to_bf16, 1), TWO(MATMUL, Y(0), Y(1)), ONE(RELU, Y(2)),
       ROUND(to_bf16, Y(3)), ROUND(to_bf16, 2), TWO(MATMUL, Y(4), Y(5))},
      7,
      0},
     0},
};

/* Ends read sums that are not rounded to halves before. */
#define OF_HALVES 0.02

static void check_all(const row *rows, size_t n, double tolerance, bool by_library)
{
    for (size_t i = 0; i < n; i++) {
        scene s = rows[i].is;
        s.saved = by_library ? rows[i].by_library : s.saved;
        scene_check(&s, tolerance);
    }
}

static void test_ends_of_tiles(void **state)
{
    (void)state;
    fakes_hide(true);
    check_all(floats, COUNT_OF(floats), 0.0, false);
    check_all(halves, COUNT_OF(halves), OF_HALVES, false);
    fakes_hide(false);
}

static void test_ends_the_library_has(void **state)
{
    (void)state;
    check_all(floats, COUNT_OF(floats), 1e-6, true);
    check_all(halves, COUNT_OF(halves), OF_HALVES, true);
}

/* Then it multiplies as ever, and a kernel behind does the rest. */
static void test_a_library_without_them(void **state)
{
    (void)state;
    scene s = halves[0].is;
    s.saved = 0;
    fake_lt_refuse_gelu(true);
    scene_check(&s, 0.0);
    fake_lt_refuse_gelu(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(test_ends_of_tiles),
        KERNEL_TEST(test_ends_the_library_has),
        KERNEL_TEST(test_a_library_without_them),
    };
    return kernel_tests_run(tests, COUNT_OF(tests));
}
