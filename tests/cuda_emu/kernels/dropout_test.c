/* Dropout: the host's masks and, in float32, the host's results, bit for bit. */
#include "cuda_emu/kernels/support_stored.h"

#include "backend/cuda/kernels/dropout.h"
#include "common/base/rng.h"

#include <string.h>

enum { MOST = 40000 };

static float x[MOST], y[MOST], want[MOST];
static uint8_t mask[MOST];

static const int64_t batch = 77;
static const uint64_t seed = 5, stream = 9;

static launch_dropout dropout_of(float ratio)
{
    return (launch_dropout){.batch = on_device(&batch, sizeof batch),
                            .key = rng_mix(seed, RNG_DROPOUT),
                            .stream = stream,
                            .threshold = (uint32_t)((double)ratio * 0x1p32),
                            .scale = 1.0f / (1.0f - ratio)};
}

/* The result is rounded as it is stored. */
static void expect(launch_type type, const launch_dropout *d, size_t n)
{
    rng r = rng_make(seed, RNG_DROPOUT, rng_mix(stream, (uint64_t)batch));
    for (size_t i = 0; i < n; i++) {
        bool kept = rng_u32(&r, i) >= d->threshold;
        assert_int_equal(mask[i], kept);
        want[i] = kept ? x[i] * d->scale : 0.0f;
    }
    char *stored = malloc(stored_bytes(type, n));
    to_stored(stored, type, want, n);
    from_stored(want, type, stored, n);
    free(stored);
    assert_memory_equal(y, want, n * sizeof *y);
}

static void drop(launch_type type, size_t n, float ratio, bool in_place)
{
    launch_dropout d = dropout_of(ratio);
    numbers(x, n, (uint32_t)n, 2.0f, 0.0f);
    void *from = stored_on_device(type, x, n), *to = in_place ? from : stored_alloc(type, n);
    uint8_t *made = device_alloc(n);
    launch_drop(kernel_test_stream(), type, to, made, from, (int64_t)n, &d);
    stored_from_device(y, type, to, n);
    from_device(mask, made, n);
    expect(type, &d, n);

    const void *gradient = stored_on_device(type, x, n);
    void *dx = stored_alloc(type, n);
    launch_types same = {.y = type, .a = type}, wide = {.y = LAUNCH_F32, .a = type};
    launch_drop_bwd(kernel_test_stream(), same, dx, gradient, made, (int64_t)n, d.scale);
    stored_from_device(y, type, dx, n);
    expect(type, &d, n);
    void *floats = stored_alloc(LAUNCH_F32, n);
    launch_drop_bwd(kernel_test_stream(), wide, floats, gradient, made, (int64_t)n, d.scale);
    from_device(y, floats, n * sizeof *y);
    expect(LAUNCH_F32, &d, n);
    device_clear();
}

static void masks_are_the_hosts(void **state)
{
    (void)state;
    const size_t lengths[] = {1, 3, 4, 5, 31, 127, 128, 1023, 1025, 4097, 33000};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (size_t k = 0; k < STORED_TYPES; k++)
            drop(stored_types[k], lengths[i], k == 1 ? 0.1f : 0.5f, i % 2);
}

static void no_mask_is_wanted(void **state)
{
    (void)state;
    launch_dropout d = dropout_of(0.3f);
    numbers(x, 10, 1, 1.0f, 0.0f);
    float *from = on_device(x, 11 * sizeof *x), *to = device_alloc(11 * sizeof *x);
    launch_drop(kernel_test_stream(), LAUNCH_F32, to + 1, NULL, from + 1, 10, &d);
    from_device(y, to + 1, 10 * sizeof *y);
    rng r = rng_make(seed, RNG_DROPOUT, rng_mix(stream, (uint64_t)batch));
    for (size_t i = 0; i < 10; i++)
        assert_true(y[i] == (rng_u32(&r, i) >= d.threshold ? x[i + 1] * d.scale : 0.0f));
    launch_drop(kernel_test_stream(), LAUNCH_F32, NULL, NULL, NULL, 0, &d);
    launch_drop_bwd(kernel_test_stream(), (launch_types){0}, NULL, NULL, NULL, 0, 1.0f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(masks_are_the_hosts),
        KERNEL_TEST(no_mask_is_wanted),
    };
    return kernel_tests_run(tests, sizeof tests / sizeof *tests);
}
