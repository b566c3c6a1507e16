/* Fills: every size of an element, ends inside and at the edge of a block. */
#include "cuda_emu/kernel_test.h"

#include "backend/cuda/kernels/fill.h"

static void every_element_is_the_value(void **state)
{
    (void)state;
    static const int64_t sizes[] = {1, 255, 256, 300};
    const uint64_t value = 0x8877665544332211u;
    for (int bytes = 1; bytes <= 8; bytes *= 2)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            uint8_t got[300 * 8];
            size_t n = (size_t)sizes[k] * (size_t)bytes;
            void *y = device_alloc(n);
            launch_fill(kernel_test_stream(), y, sizes[k], bytes, value);
            from_device(got, y, n);
            for (int64_t i = 0; i < sizes[k]; i++)
                assert_memory_equal(got + i * bytes, &value, (size_t)bytes);
        }
}

static void nothing_is_filled(void **state)
{
    (void)state;
    launch_fill(kernel_test_stream(), NULL, 0, 4, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(every_element_is_the_value),
        KERNEL_TEST(nothing_is_filled),
    };
    return kernel_tests_run(tests, sizeof tests / sizeof *tests);
}
