/* Bytes become the numbers the host makes of them, of one kind or by channel, at every length. */
#include "cuda_emu/kernel_test.h"

#include "backend/cuda/kernels/input.h"

enum { MOST = 3 * 700 };

static void compare(int64_t n, int64_t channels, int64_t inner)
{
    static uint8_t bytes[MOST];
    static float want[MOST], got[MOST];
    launch_bytes b = {.n = n,
                      .channels = channels,
                      .inner = inner,
                      .scale = {1.0f / 255.0f, 0.017f, 0.3f},
                      .offset = {-0.7f, -0.2f, 11.0f}};
    for (int64_t i = 0; i < n; i++) {
        int64_t c = i / inner % channels;
        bytes[i] = (uint8_t)(i * 37 + i / 256);
        float product = (float)bytes[i] * b.scale[c];
        want[i] = product + b.offset[c];
    }
    float *y = device_alloc((size_t)n * sizeof(float));
    launch_expand_bytes(kernel_test_stream(), &b, y, on_device(bytes, (size_t)n));
    from_device(got, y, (size_t)n * sizeof(float));
    assert_memory_equal(got, want, (size_t)n * sizeof(float));
}

static void bytes_mean_what_they_mean_on_the_host(void **state)
{
    (void)state;
    const int64_t lengths[] = {1, 3, 4, 6, 1023, 1024, 1027, 2049};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        compare(lengths[i], 1, 1);
    compare(2 * 3 * 49, 3, 49);
    compare(3 * 700, 3, 100);
}

static void nothing_is_launched_for_nothing(void **state)
{
    (void)state;
    launch_expand_bytes(kernel_test_stream(), &(launch_bytes){.n = 0}, NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(bytes_mean_what_they_mean_on_the_host),
        KERNEL_TEST(nothing_is_launched_for_nothing),
    };
    return kernel_tests_run(tests, sizeof tests / sizeof *tests);
}
