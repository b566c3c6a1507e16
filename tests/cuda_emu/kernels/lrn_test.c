/* LRN and its gradient against double. */
#include "cuda_emu/kernels/support_stored.h"

#include "backend/cuda/kernels/lrn.h"

#include <math.h>

enum { MOST = 8000 };

static float x[MOST], y[MOST], dy[MOST], sum[MOST], got[MOST];
static double want[MOST], totals[MOST];

static const launch_lrn_call calls[] = {
    {1, 1, 1, 0, 0, 0.1f, 0.75f, 1.0f},     {2, 7, 33, 2, 2, 0.2f, 0.75f, 1.5f},
    {1, 5, 300, 1, 2, 0.3f, 0.5f, 2.0f},    {3, 4, 9, 9, 9, 0.1f, 0.75f, 1.0f},
    {1, 257, 5, 2, 3, 0.2f, 0.75f, 1.0f},
};

static size_t elements(const launch_lrn_call *c)
{
    return (size_t)(c->batch * c->channels * c->plane);
}

/* y into want, what is raised to the power into totals. */
static void reference(const launch_lrn_call *c)
{
    for (int64_t e = 0; e < (int64_t)elements(c); e++) {
        int64_t own = e / c->plane % c->channels;
        double squares = 0.0;
        for (int64_t k = own - c->before; k <= own + c->behind; k++)
            if (k >= 0 && k < c->channels)
                squares += pow((double)x[e + (k - own) * c->plane], 2);
        totals[e] = (double)c->bias + (double)c->alpha * squares;
        want[e] = (double)x[e] * pow(totals[e], -(double)c->beta);
    }
}

/* The gradient of the sum of dy y along each x. */
static void reference_bwd(const launch_lrn_call *c)
{
    double power = (double)c->beta, by = 2.0 * (double)c->alpha * power;
    for (int64_t e = 0; e < (int64_t)elements(c); e++)
        want[e] = (double)dy[e] * pow(totals[e], -power);
    for (int64_t e = 0; e < (int64_t)elements(c); e++) {
        int64_t own = e / c->plane % c->channels;
        double share = by * (double)dy[e] * (double)x[e] * pow(totals[e], -power - 1.0);
        for (int64_t k = own - c->before; k <= own + c->behind; k++)
            if (k >= 0 && k < c->channels)
                want[e + (k - own) * c->plane] -= share * (double)x[e + (k - own) * c->plane];
    }
}

static void windows(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        const launch_lrn_call *c = &calls[i];
        size_t n = elements(c), bytes = n * sizeof *x;
        numbers(x, n, (uint32_t)n, 2.0f, 0.5f);
        numbers(dy, n, (uint32_t)n + 1, 1.0f, 0.0f);
        const float *from = on_device(x, bytes), *gradient = on_device(dy, bytes);
        float *to = device_alloc(bytes), *seen = device_alloc(bytes), *dx = device_alloc(bytes);
        launch_lrn(kernel_test_stream(), c, to, seen, from);
        launch_lrn_bwd(kernel_test_stream(), c, dx, gradient, from, to, seen);
        from_device(y, to, bytes);
        from_device(sum, seen, bytes);
        from_device(got, dx, bytes);
        reference(c);
        assert_floats_close("LRN", y, want, n, 1e-7, 2e-6);
        assert_floats_close("LRN's sums", sum, totals, n, 0, 2e-6);
        reference_bwd(c);
        assert_floats_close("LRN's gradient", got, want, n, 4e-6, 4e-6);
        device_clear();
    }
}

static void nothing_is_wanted(void **state)
{
    (void)state;
    launch_lrn_call c = {1, 3, 1, 1, 1, 0.1f, 0.5f, 1.0f};
    const float in[] = {1, 2, 3};
    float *to = device_alloc(sizeof in);
    launch_lrn(kernel_test_stream(), &c, to, NULL, on_device(in, sizeof in));
    from_device(got, to, sizeof in);
    const double out[] = {1 / sqrt(1.5), 2 / sqrt(2.4), 3 / sqrt(2.3)};
    assert_floats_close("LRN", got, out, 3, 0, 1e-6);
    c.batch = 0;
    launch_lrn(kernel_test_stream(), &c, NULL, NULL, NULL);
    launch_lrn_bwd(kernel_test_stream(), &c, NULL, NULL, NULL, NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(windows),
        KERNEL_TEST(nothing_is_wanted),
    };
    return kernel_tests_run(tests, sizeof tests / sizeof *tests);
}
