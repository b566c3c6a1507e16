/* Running sums of long lines of floats, by a block each: in double, whatever a tile leaves. */
#include "cuda_emu/kernel_test.h"

#include "backend/cuda/kernels/along.h"
#include "common/base/alloc.h"

#include <stdio.h>

enum { MOST = 2 * 2500 * 3 };

static float x[MOST], got[MOST];
static double want[MOST];

static void reference(const launch_along_call *c)
{
    for (int64_t line = 0; line < c->outer * c->inner; line++) {
        int64_t begin = line / c->inner * c->axis * c->inner + line % c->inner;
        long double sum = 0;
        for (int64_t i = 0; i < c->axis; i++) {
            int64_t at = begin + (c->reverse ? c->axis - 1 - i : i) * c->inner;
            want[at] = (double)(c->exclusive ? sum : sum + x[at]);
            sum += x[at];
        }
    }
}

static void sum_and_compare(launch_along_call c)
{
    size_t n = (size_t)(c.outer * c.axis * c.inner);
    char what[96];
    random_floats(x, n, (uint32_t)c.axis);
    float *y = device_alloc(n * sizeof *y);
    launch_cum_sum(kernel_test_stream(), &c, y, on_device(x, n * sizeof *x));
    from_device(got, y, n * sizeof *y);
    reference(&c);
    snprintf(what, sizeof what, "%lld x %lld x %lld%s%s", (long long)c.outer, (long long)c.axis,
             (long long)c.inner, c.exclusive ? ", exclusive" : "", c.reverse ? ", reverse" : "");
    assert_floats_close(what, got, want, n, 1e-12, 6e-8);
}

static void long_lines_are_summed_in_double(void **state)
{
    (void)state;
    const int64_t lengths[] = {1, 4, 128, 1023, 1024, 1025, 2500};
    for (size_t i = 0; i < COUNT_OF(lengths); i++)
        for (int way = 0; way < 4; way++)
            sum_and_compare((launch_along_call){.outer = 2,
                                                .axis = lengths[i],
                                                .inner = way == 3 ? 3 : 1,
                                                .type = DT_F32,
                                                .by_block = true,
                                                .exclusive = way & 1,
                                                .reverse = way & 2});
}

int main(void)
{
    const struct CMUnitTest tests[] = {KERNEL_TEST(long_lines_are_summed_in_double)};
    return kernel_tests_run(tests, COUNT_OF(tests));
}
