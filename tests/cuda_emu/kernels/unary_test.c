/* Relu's gradient where it reads a copy of y that was rounded to bfloat16: whatever the number,
 * what counts is whether it is above zero, or a NaN, whose gradient is passed on. */
#include "cuda_emu/kernel_test.h"

#include "backend/cuda/kernels/unary.h"
#include "common/base/alloc.h"

enum { MOST = 2051 };

/* The upper halves of 1, -1, 0, -0, the least number above 0 and below, infinities, and a NaN */
static const uint16_t kinds[] = {0x3f80, 0xbf80, 0x0000, 0x8000, 0x0001,
                                 0x8001, 0x7f80, 0xff80, 0x7fc0};
static const bool above[] = {true, false, false, false, true, false, true, false, true};

static float dy[MOST], got[MOST];
static uint16_t y[MOST];

static void check(int64_t n, bool is_in_place)
{
    float *from = on_device(dy, (size_t)n * sizeof *dy);
    void *kept = on_device(y, (size_t)n * sizeof *y);
    float *to = is_in_place ? from : device_alloc((size_t)n * sizeof *dy);
    launch_unary(kernel_test_stream(), UNARY_relu_bwd, (launch_types){.b = LAUNCH_BF16}, to, from,
                 kept, n, 0.0f, 0.0f);
    from_device(got, to, (size_t)n * sizeof *got);
    for (int64_t i = 0; i < n; i++)
        assert_true(got[i] == (above[i % (int64_t)COUNT_OF(kinds)] ? dy[i] : 0.0f));
}

static void signs_are_read(void **state)
{
    (void)state;
    random_floats(dy, MOST, 1);
    for (size_t i = 0; i < MOST; i++)
        y[i] = kinds[i % COUNT_OF(kinds)];
    const int64_t lengths[] = {0, 1, 3, 4, 5, 1023, 1024, MOST};
    for (size_t i = 0; i < COUNT_OF(lengths); i++)
        check(lengths[i], i % 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {KERNEL_TEST(signs_are_read)};
    return kernel_tests_run(tests, COUNT_OF(tests));
}
