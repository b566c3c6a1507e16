/* The tree's addition on the device: the bits of the host's, at any alignment, in place. */
#include "cuda_emu/kernel_test.h"

#include "backend/cuda/kernels/tree_sum.h"
#include "common/parts/tree.h"

#include <stdlib.h>

enum { MOST = 5000 };

static float left[MOST + 4], right[MOST + 4], want[MOST], got[MOST];

static void compare(size_t n, size_t shift, bool is_in_place)
{
    float *x = on_device(left, (n + shift) * sizeof(float));
    float *z = on_device(right, (n + shift) * sizeof(float));
    float *y = is_in_place ? x : device_alloc((n + shift) * sizeof(float));
    launch_tree_sum(kernel_test_stream(), y + shift, x + shift, z + shift, n);
    from_device(got, y + shift, n * sizeof(float));
    tree_sum(want, left + shift, right + shift, n);
    assert_memory_equal(got, want, n * sizeof(float));
}

static void sums_have_the_hosts_bits(void **state)
{
    (void)state;
    random_floats(left, MOST + 4, 1);
    random_floats(right, MOST + 4, 2);
    const size_t lengths[] = {1, 3, 4, 5, 255, 1023, 1024, 1027, 4099};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (size_t shift = 0; shift < 2; shift++)
            compare(lengths[i], shift, i % 2);
}

static void nothing_is_launched_for_nothing(void **state)
{
    (void)state;
    launch_tree_sum(kernel_test_stream(), NULL, NULL, NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(sums_have_the_hosts_bits),
        KERNEL_TEST(nothing_is_launched_for_nothing),
    };
    return kernel_tests_run(tests, sizeof tests / sizeof *tests);
}
