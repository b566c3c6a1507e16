/* What device.cuh sums over blocks. */
#include "cuda_emu/kernel_test.h"

#include "cuda_emu/scenes.h"

enum { N = 192 };

static void fold(int threads)
{
    float x[N], y[N][3];
    for (int i = 0; i < N; i++)
        x[i] = (float)(i * 37 % 101 - 50);
    float *on = device_alloc(sizeof y);
    scene_fold(kernel_test_stream(), on, on_device(x, sizeof x), threads == 96);
    from_device(y, on, sizeof y);
    for (int i = 0; i < N; i++) {
        float sum = 0, squares = 0, most = -50;
        for (int k = i / threads * threads; k < (i / threads + 1) * threads; k++) {
            sum += x[k];
            squares += x[k] * x[k];
            most = -x[k] > most ? -x[k] : most;
        }
        assert_true(y[i][0] == sum);
        assert_true(y[i][1] == squares);
        assert_true(y[i][2] == most);
    }
}

static void every_thread_has_what_its_block_sums(void **state)
{
    (void)state;
    fold(32);
    fold(96);
}

int main(void)
{
    const struct CMUnitTest tests[] = {KERNEL_TEST(every_thread_has_what_its_block_sums)};
    return kernel_tests_run(tests, sizeof tests / sizeof *tests);
}
