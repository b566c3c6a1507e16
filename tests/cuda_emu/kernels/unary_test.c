/*
 * Relu's gradient where it reads a copy of y that was rounded to bfloat16: whatever the number, what counts is
 * whether it is above zero, or a NaN, whose gradient is passed on. And functions whose results are halves, which
 * have forms of their own (half_math.cuh), of every half there is.
 */
#include "cuda_emu/kernel_test.h"

#include "backend/cuda/kernels/unary.h"
#include "common/base/alloc.h"

#include <math.h>

enum { MOST = 2051, HALVES = 1 << 16 };

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

static uint16_t halves[HALVES], made[HALVES];
static float exact[HALVES], near[HALVES];

/* f of all halves of a type, stored as these, is what float32 has, rounded, but for 2^-16 of it and `apart`. */
static void check_halves(unary_function f, bool is_gradient, launch_type type, float apart)
{
    size_t bytes = sizeof halves;
    void *v = on_device(halves, bytes), *upstream = NULL;
    for (int i = 0; i < HALVES; i++)
        made[i] = type == LAUNCH_BF16 ? 0x3fc0 : 0x3e00; /* 1.5 */
    if (is_gradient)
        upstream = on_device(made, bytes);
    const void *a = is_gradient ? upstream : v, *b = is_gradient ? v : NULL;
    launch_types t = {.y = LAUNCH_F32, .a = type, .b = type};
    float *whole = device_alloc(sizeof exact);
    void *half = device_alloc(bytes);
    launch_unary(kernel_test_stream(), f, t, whole, a, b, HALVES, 0.7f, 0.0f);
    t.y = type;
    launch_unary(kernel_test_stream(), f, t, half, a, b, HALVES, 0.7f, 0.0f);
    from_device(exact, whole, sizeof exact);
    from_device(made, half, bytes);
    from_stored(near, type, made, HALVES);
    float ulp = type == LAUNCH_BF16 ? 0x1p-8f : 0x1p-11f, least = type == LAUNCH_BF16 ? 0x1p-119f : 0x1p-24f;
    float most = type == LAUNCH_BF16 ? 0x1.ffp127f : 65520.0f;
    for (int i = 0; i < HALVES; i++) {
        float e = exact[i], x = near[i];
        bool same = isnan(e) ? isnan(x) : fabsf(e) >= most ? x == copysignf(INFINITY, e)
                    : fabsf(x - e) <= fabsf(e) * (ulp + 0x1p-16f) + least + apart;
        if (!same)
            fail_msg("function %d of half %04x of type %d: %g, in float32 %g", f, halves[i], type,
                     (double)x, (double)e);
    }
    device_clear();
}

static void halves_are_near(void **state)
{
    (void)state;
    for (int i = 0; i < HALVES; i++)
        halves[i] = (uint16_t)i;
    const unary_function forward[] = {UNARY_sigmoid, UNARY_gelu, UNARY_gelu_by_tanh, UNARY_swish,
                                      UNARY_mish};
    const unary_function backward[] = {UNARY_gelu_bwd, UNARY_gelu_by_tanh_bwd, UNARY_swish_bwd,
                                       UNARY_mish_bwd, UNARY_softplus_bwd};
    for (launch_type type = LAUNCH_BF16; type <= LAUNCH_F16; type++) {
        for (size_t i = 0; i < COUNT_OF(forward); i++)
            check_halves(forward[i], false, type, 0.0f);
        for (size_t i = 0; i < COUNT_OF(backward); i++) /* differences of what is near */
            check_halves(backward[i], true, type, 2e-6f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {KERNEL_TEST(signs_are_read), KERNEL_TEST(halves_are_near)};
    return kernel_tests_run(tests, COUNT_OF(tests));
}
