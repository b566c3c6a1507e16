/* Softmax, LogSoftmax and their gradients against double. */
#include "cuda_emu/kernels/support_stored.h"

#include "backend/cuda/kernels/softmax.h"

#include <math.h>
#include <stdio.h>

enum { MOST = 140000 };

static float x[MOST], y[MOST], dy[MOST], got[MOST];
static double want[MOST];

typedef struct shape {
    int64_t outer, axis, inner;
} shape;

static const shape shapes[] = {
    {1, 1, 1},   {3, 2, 1},    {5, 31, 1},   {4, 32, 1},   {3, 33, 1},   {6, 128, 1},
    {2, 129, 1}, {2, 1023, 1}, {3, 1024, 1}, {2, 1025, 1}, {2, 4100, 1}, {1, 65537, 1},
    {2, 3, 2},   {1, 40, 7},   {3, 5, 33},   {2, 1, 129},  {4099, 2, 1}, {1, 2, 16400},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* The softmax of what is in x, or its logarithm. */
static void reference(const shape *s, bool log_too)
{
    for (int64_t o = 0; o < s->outer; o++)
        for (int64_t i = 0; i < s->inner; i++) {
            int64_t at = o * s->axis * s->inner + i;
            double most = -INFINITY, sum = 0.0;
            for (int64_t a = 0; a < s->axis; a++)
                most = fmax(most, (double)x[at + a * s->inner]);
            for (int64_t a = 0; a < s->axis; a++)
                sum += exp((double)x[at + a * s->inner] - most);
            for (int64_t a = 0; a < s->axis; a++) {
                double below = (double)x[at + a * s->inner] - most;
                want[at + a * s->inner] = log_too ? below - log(sum) : exp(below) / sum;
            }
        }
}

static void describe(char ret[96], const char *what, const shape *s, launch_type type, bool log)
{
    snprintf(ret, 96, "%s%s of type %d, [%ld,%ld,%ld]", log ? "log " : "", what, type,
             (long)s->outer, (long)s->axis, (long)s->inner);
}

static void forward(const shape *s, launch_type type, bool log, bool in_place)
{
    size_t n = (size_t)(s->outer * s->axis * s->inner);
    launch_softmax_call c = {type, s->outer, s->axis, s->inner, log};
    numbers(x, n, (uint32_t)n, 9.0f, 50.0f);
    void *from = stored_on_device(type, x, n), *to = in_place ? from : stored_alloc(type, n);
    launch_softmax(kernel_test_stream(), &c, to, from);
    stored_from_device(got, type, to, n);
    reference(s, log);
    char what[96];
    describe(what, "softmax", s, type, log);
    assert_floats_close(what, got, want, n, log ? 8e-6 : 1e-7, 2e-6 + 1.01 * stored_grain(type));
    device_clear();
}

static void probabilities(void **state)
{
    (void)state;
    for (size_t i = 0; i < SHAPES; i++)
        for (int log = 0; log < 2; log++)
            forward(&shapes[i], stored_types[(i + (size_t)log) % STORED_TYPES], log, i % 2);
}

static void backward(const shape *s, launch_type type, bool log, bool in_place)
{
    size_t n = (size_t)(s->outer * s->axis * s->inner);
    launch_softmax_call c = {type, s->outer, s->axis, s->inner, log};
    numbers(x, n, (uint32_t)n, 3.0f, 0.0f);
    numbers(dy, n, (uint32_t)n + 1, 1.0f, 0.2f);
    reference(s, log);
    for (size_t i = 0; i < n; i++)
        y[i] = (float)want[i];
    const void *of = stored_on_device(type, y, n);
    void *gradient = stored_on_device(type, dy, n),
         *dx = in_place ? gradient : stored_alloc(type, n);
    launch_softmax_bwd(kernel_test_stream(), &c, dx, gradient, of);
    stored_from_device(got, type, dx, n);
    for (int64_t o = 0; o < s->outer; o++)
        for (int64_t i = 0; i < s->inner; i++) {
            int64_t at = o * s->axis * s->inner + i;
            double sum = 0.0;
            for (int64_t a = at; a < at + s->axis * s->inner; a += s->inner)
                sum += log ? (double)dy[a] : (double)dy[a] * (double)y[a];
            for (int64_t a = at; a < at + s->axis * s->inner; a += s->inner)
                want[a] = log ? (double)dy[a] - exp((double)y[a]) * sum
                              : (double)y[a] * ((double)dy[a] - sum);
        }
    char what[96];
    describe(what, "softmax's gradient", s, type, log);
    assert_floats_close(what, got, want, n, 1e-6, 4e-6 + 1.01 * stored_grain(type));
    device_clear();
}

static void gradients(void **state)
{
    (void)state;
    for (size_t i = 0; i < SHAPES; i++)
        for (int log = 0; log < 2; log++)
            backward(&shapes[i], stored_types[(i + (size_t)log) % STORED_TYPES], log, i % 2);
}

/* Masked entries count for nothing, wherever they stand; a row of them alone has no softmax. */
static void entries_of_minus_infinity(void **state)
{
    (void)state;
    for (int64_t inner = 1; inner < 3; inner++) {
        const float in[] = {-INFINITY, 1, 2, -INFINITY, -INFINITY, -INFINITY};
        launch_softmax_call c = {LAUNCH_F32, 1, 6 / inner, inner, false};
        float *to = device_alloc(sizeof in), out[6];
        launch_softmax(kernel_test_stream(), &c, to, on_device(in, sizeof in));
        from_device(out, to, sizeof in);
        const double one = inner == 1 ? 1 / (1 + exp(-1)) : 1.0;
        const double some[] = {0, inner == 1 ? 1 - one : one, one, 0, 0, 0};
        assert_floats_close("masked", out, some, 6, 1e-6, 0);
    }
    const float none[] = {-INFINITY, -INFINITY};
    launch_softmax_call c = {LAUNCH_F32, 1, 2, 1, false};
    float *to = device_alloc(sizeof none), out[2];
    launch_softmax(kernel_test_stream(), &c, to, on_device(none, sizeof none));
    from_device(out, to, sizeof none);
    assert_true(isnan(out[0]) && isnan(out[1]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(probabilities),
        KERNEL_TEST(gradients),
        KERNEL_TEST(entries_of_minus_infinity),
    };
    return kernel_tests_run(tests, sizeof tests / sizeof *tests);
}
