/* Kernels that take element by element, of more elements than 32 bits count. */
#include "cuda_emu/large/support_large.h"

#include "backend/cuda/kernels/binary.h"
#include "backend/cuda/kernels/cast.h"
#include "backend/cuda/kernels/dropout.h"
#include "backend/cuda/kernels/fill.h"
#include "backend/cuda/kernels/finish.h"
#include "backend/cuda/kernels/input.h"
#include "backend/cuda/kernels/ternary.h"
#include "backend/cuda/kernels/tree_sum.h"
#include "backend/cuda/kernels/unary.h"
#include "data/finish.h"

static void elements(void **state)
{
    (void)state;
    float *x = vast(0), *y = vast(1), *z = vast(2);
    uint8_t *bytes = vast(3);
    cuda_stream s = kernel_test_stream();
    const launch_types floats = {LAUNCH_F32, LAUNCH_F32, LAUNCH_F32, LAUNCH_F32};
    const launch_bytes images = {MANY, 1, 1, {2}, {1}};
    const axes plain = {1, {MANY}, {{1, 1, 1}}};
    x[MANY - 1] = 3;
    launch_unary(s, UNARY_neg, floats, y, x, NULL, MANY, 0, 0);
    expect_last(y, MANY, -3);
    launch_binary(s, BINARY_add, floats, z, x, y, &plain);
    expect_last(z, MANY, 0);
    launch_tree_sum(s, z, x, x, (size_t)MANY);
    expect_last(z, MANY, 6);
    launch_tree_sum(s, z, x + 1, x + 1, (size_t)MANY - 1);
    expect_last(z, MANY - 1, 6);
    launch_fill(s, z, MANY, 4, 0x40000000);
    expect_last(z, MANY, 2);
    launch_round(s, (launch_types){.y = LAUNCH_BF16}, z, x, MANY);
    launch_round(s, (launch_types){.a = LAUNCH_BF16}, y, z, MANY);
    expect_last(y, MANY, 3);
    bytes[MANY - 1] = 1;
    launch_cast(s, DT_BOOL, DT_F32, y, bytes, MANY);
    expect_last(y, MANY, 1);
    launch_expand_bytes(s, &images, y, bytes);
    expect_last(y, MANY, 3);
    launch_drop_bwd(s, floats, y, x, bytes, MANY, 2);
    expect_last(y, MANY, 6);
    launch_where(s, 4, z, bytes, x, y, &plain);
    expect_last(z, MANY, 3);
    launch_compare(s, COMPARE_equal, DT_F32, bytes, x, y, &plain);
    done();
    assert_int_equal(bytes[MANY - 1], 0);
}

/* In several launches; each example is mixed with the one before it. */
static void images(void **state)
{
    (void)state;
    enum { WIDE = 1 << 15, HIGH = 1 << 14, PLANES = 3 };
    const int64_t size = (int64_t)PLANES * HIGH * WIDE;
    const finish_form f = {.kind = FINISH_BYTES, .planes = PLANES, .height = HIGH, .width = WIDE,
                           .planes_a_channel = 1, .scale = {0, 0, 2}, .offset = {0, 0, 1}};
    const finish_draw mixed = {.mixing = FINISH_BLENDED, .share = 3, .rest = 1}, draws[] = {mixed, mixed, mixed};
    float *y = vast(0);
    uint8_t *x = vast(1);
    x[2 * size - 1] = 5;
    x[3 * size - 1] = 2;
    launch_finish(kernel_test_stream(), &f, y, x, on_device(draws, sizeof draws), 3);
    expect_last(y, 3 * size, 11 + 3 * 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(elements),
        KERNEL_TEST(images),
    };
    emu_ends_only();
    return kernel_tests_run(tests, sizeof tests / sizeof *tests);
}
