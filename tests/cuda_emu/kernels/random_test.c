/* Random numbers: the words of a stream, uniform and normal, for lengths about those of a block. */
#include "cuda_emu/kernel_test.h"

#include "backend/cuda/kernels/random.h"
#include "backend/random_math.h"
#include "common/base/alloc.h"
#include "common/base/rng.h"

enum { MOST = 3001 };

static float got[MOST], want[MOST];

static const int64_t batch = 77;
static const uint64_t seed = 5, stream = 9;
static const float shift = 0.5f, scale = 3.0f;

static void expect(bool normal, size_t n)
{
    rng r = rng_make(seed, RNG_NODE, rng_mix(stream, (uint64_t)batch));
    for (size_t i = 0; i < n; i++) {
        uint64_t pair = i / 2 * 2;
        float made = normal
                         ? random_normal(rng_u32(&r, pair), rng_u32(&r, pair + 1), (uint32_t)(i % 2))
                         : random_uniform(rng_u32(&r, i));
        want[i] = shift + scale * made;
    }
    assert_memory_equal(got, want, n * sizeof *got);
}

static void numbers_are_those_of_the_stream(void **state)
{
    (void)state;
    const size_t lengths[] = {0, 1, 2, 3, 4, 5, 1023, 1024, 1025, MOST};
    for (size_t i = 0; i < COUNT_OF(lengths); i++)
        for (int normal = 0; normal < 2; normal++) {
            launch_random_call call = {.batch = on_device(&batch, sizeof batch),
                                       .key = rng_mix(seed, RNG_NODE),
                                       .stream = stream,
                                       .shift = shift,
                                       .scale = scale,
                                       .normal = normal};
            float *y = device_alloc(lengths[i] * sizeof *y);
            launch_random(kernel_test_stream(), y, (int64_t)lengths[i], &call);
            from_device(got, y, lengths[i] * sizeof *got);
            expect(normal, lengths[i]);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {KERNEL_TEST(numbers_are_those_of_the_stream)};
    return kernel_tests_run(tests, COUNT_OF(tests));
}
