/* Images turned to channels last: moved, and rounded, number by number. */
#include "cuda_emu/kernel_test.h"

#include "backend/cuda/kernels/channels_last.h"

enum { MOST = 4096 };

static void check(launch_type type, bool is_rounded, int64_t images, int64_t channels,
                  int64_t places)
{
    static float x[MOST], turned[MOST];
    static uint32_t want[MOST], got[MOST], rounded[MOST];
    size_t n = (size_t)(images * channels * places), bytes = stored_bytes(type, n);
    random_floats(x, n, 1);
    for (size_t i = 0; i < n; i++) {
        size_t image = i / (size_t)(channels * places), in = i % (size_t)(channels * places);
        size_t channel = in / (size_t)places, place = in % (size_t)places;
        turned[(image * (size_t)places + place) * (size_t)channels + channel] = x[i];
    }
    to_stored(want, type, turned, n);
    void *y = device_room(bytes);
    to_stored(rounded, type, x, n);
    const void *from = is_rounded ? on_device(rounded, bytes) : on_device(x, n * sizeof *x);
    launch_channels_last(kernel_test_stream(), y, type, from, is_rounded, images, channels, places);
    from_device(got, y, bytes);
    assert_memory_equal(got, want, bytes);
}

static void every_number_is_moved(void **state)
{
    (void)state;
    const int64_t shapes[][3] = {{1, 1, 1},   {2, 3, 5},  {1, 32, 32}, {3, 33, 31},
                                 {1, 31, 65}, {2, 64, 1}, {2, 1, 70}};
    for (int type = LAUNCH_F32; type <= LAUNCH_F16; type++)
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
            check((launch_type)type, i % 2 == 1, shapes[i][0], shapes[i][1], shapes[i][2]);
}

static void nothing_is_launched_for_nothing(void **state)
{
    (void)state;
    launch_channels_last(kernel_test_stream(), NULL, LAUNCH_F32, NULL, false, 0, 3, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(every_number_is_moved),
        KERNEL_TEST(nothing_is_launched_for_nothing),
    };
    return kernel_tests_run(tests, sizeof tests / sizeof *tests);
}
