/* A sparse matrix along one axis, against a sum in the order of its taps. */
#include "cuda_emu/kernel_test.h"

#include "backend/cuda/kernels/resample.h"
#include "common/base/alloc.h"

#include <math.h>
#include <string.h>

enum { N_IN = 7, N_OUT = 9, MOST = 3000 };

/* Rows of no, one, two and more taps. */
static const int64_t begin[N_OUT + 1] = {0, 1, 1, 3, 7, 8, 10, 10, 13, 14};
static const int64_t at[] = {6, 0, 3, 1, 2, 3, 4, 5, 6, 0, 2, 2, 4, 1};
static const float weight[] = {1.0f,  0.25f, 0.75f, -0.1f, 0.6f, 0.6f, -0.1f,
                               -1.0f, 0.5f,  0.5f,  0.3f,  0.3f, 0.4f, 2.0f};

static float x[MOST], y[MOST];

static float element(const launch_resample_call *c, int64_t outer, int64_t j, int64_t i)
{
    float sum = c->outside;
    for (int64_t k = begin[j]; k < begin[j + 1]; k++) {
        float term = weight[k] * x[(outer * N_IN + at[k]) * c->inner + i];
        if (k > begin[j])
            sum += term;
        else
            sum = c->adds_to_zero ? 0.0f + term : term;
    }
    return sum;
}

static void check(int64_t outer, int64_t inner, bool adds_to_zero)
{
    launch_resample_call c = {.outer = outer,
                              .n_in = N_IN,
                              .n_out = N_OUT,
                              .inner = inner,
                              .begin = on_device(begin, sizeof begin),
                              .at = on_device(at, sizeof at),
                              .weight = on_device(weight, sizeof weight),
                              .outside = -3.0f,
                              .adds_to_zero = adds_to_zero};
    size_t n = (size_t)(outer * N_OUT * inner);
    float *to = device_alloc(n * sizeof *to);
    launch_resample(kernel_test_stream(), &c, to,
                    on_device(x, (size_t)(outer * N_IN * inner) * sizeof *x));
    from_device(y, to, n * sizeof *y);
    for (int64_t e = 0; e < (int64_t)n; e++) {
        float want = element(&c, e / inner / N_OUT, e / inner % N_OUT, e % inner);
        assert_memory_equal(&y[e], &want, sizeof want);
    }
}

static void sums_go_over_taps_in_their_order(void **state)
{
    (void)state;
    random_floats(x, MOST, 3);
    for (size_t i = 0; i < MOST; i += 5)
        x[i] = 0.0f; /* times a negative weight: -0 */
    check(1, 1, true);
    check(40, 3, true);
    check(3, 10, false);
    check(2, 40, false);
}

static void nothing_is_launched_for_nothing(void **state)
{
    (void)state;
    launch_resample(kernel_test_stream(), &(launch_resample_call){.outer = 2}, NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(sums_go_over_taps_in_their_order),
        KERNEL_TEST(nothing_is_launched_for_nothing),
    };
    return kernel_tests_run(tests, COUNT_OF(tests));
}
