/* Images transposed to channels last: moved, and rounded, number by number. */
#include "cuda_emu/kernels/support_stored.h"

#include "backend/cuda/kernels/channels_last.h"

enum { MOST = 4096 };

static void check(launch_types t, int64_t images, int64_t channels, int64_t positions)
{
    static float x[MOST], transposed[MOST];
    static uint32_t want[MOST], got[MOST];
    size_t n = (size_t)(images * channels * positions);
    random_floats(x, n, 1);
    const void *from = stored_on_device(t.a, x, n);
    for (size_t i = 0; i < n; i++) {
        size_t image = i / (size_t)(channels * positions), in = i % (size_t)(channels * positions);
        size_t channel = in / (size_t)positions, position = in % (size_t)positions;
        transposed[(image * (size_t)positions + position) * (size_t)channels + channel] = x[i];
    }
    to_stored(want, t.y, transposed, n);
    void *y = stored_alloc(t.y, n);
    launch_channels_last(kernel_test_stream(), t, y, from, images, channels, positions);
    from_device(got, y, stored_bytes(t.y, n));
    assert_memory_equal(got, want, stored_bytes(t.y, n));
}

static void every_number_is_moved(void **state)
{
    (void)state;
    const int64_t shapes[][3] = {{1, 1, 1},   {2, 3, 5},  {1, 32, 32}, {3, 33, 31},
                                 {1, 31, 65}, {2, 64, 1}, {2, 1, 70}};
    const launch_types types[] = {
        {.y = LAUNCH_F32, .a = LAUNCH_F32},   {.y = LAUNCH_BF16, .a = LAUNCH_F32},
        {.y = LAUNCH_F32, .a = LAUNCH_BF16},  {.y = LAUNCH_F16, .a = LAUNCH_F32},
        {.y = LAUNCH_BF16, .a = LAUNCH_BF16}, {.y = LAUNCH_F16, .a = LAUNCH_F16},
    };
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
            check(types[t], shapes[i][0], shapes[i][1], shapes[i][2]);
}

static void nothing_is_launched_for_nothing(void **state)
{
    (void)state;
    launch_channels_last(kernel_test_stream(), (launch_types){0}, NULL, NULL, 0, 3, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(every_number_is_moved),
        KERNEL_TEST(nothing_is_launched_for_nothing),
    };
    return kernel_tests_run(tests, sizeof tests / sizeof *tests);
}
