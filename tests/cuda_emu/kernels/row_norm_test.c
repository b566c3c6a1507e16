/* LayerNormalization, RMSNormalization and their gradients against double. */
#include "cuda_emu/kernels/support_stored.h"

#include "backend/cuda/kernels/row_norm.h"

#include <math.h>
#include <stdio.h>

enum { MOST = 140000 };

static float x[MOST], dy[MOST], scale[MOST], bias[MOST], mean[MOST], inverse[MOST], got[MOST];
static double want[MOST], want_scale[MOST], want_bias[MOST];

typedef struct shape {
    int64_t rows, n, bands;
} shape;

static const shape shapes[] = {
    {1, 1, 1},
    {3, 2, 1},
    {7, 31, 2},
    {5, 32, 3},
    {9, 33, 4},
    {6, 128, 2},
    {2, 256, 2},
    {3, 257, 1},
    {5, 768, 3},
    {2, 1023, 1},
    {3, 1024, 2},
    {2, 1025, 1},
    {2, 4096, 1},
    {2, 4099, 1},
    {5, 5000, 2},
    {1, 9001, 1},
    {40, 12, 40},
    {33, 4, 7},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

typedef struct types {
    launch_type x, y;
} types;

static const types pairs[] = {
    {LAUNCH_F32, LAUNCH_F32},  {LAUNCH_F32, LAUNCH_BF16},  {LAUNCH_F32, LAUNCH_F16},
    {LAUNCH_BF16, LAUNCH_F32}, {LAUNCH_BF16, LAUNCH_BF16}, {LAUNCH_F16, LAUNCH_F32},
    {LAUNCH_F16, LAUNCH_F16},
};
enum { PAIRS = sizeof pairs / sizeof *pairs };

static launch_row_norm_call call_of(const shape *s, types t, bool centred)
{
    return (launch_row_norm_call){.x_type = t.x,
                                  .y_type = t.y,
                                  .rows = s->rows,
                                  .n = s->n,
                                  .centred = centred,
                                  .epsilon = 1e-5f,
                                  .bands = s->bands,
                                  .pieces = (int)(s->bands + 2) / 3};
}

static void describe(char ret[96], const char *what, const shape *s, types t, bool centred)
{
    snprintf(ret, 96, "%s of types %d %d, [%ld,%ld], %s", what, t.x, t.y, (long)s->rows, (long)s->n,
             centred ? "centred" : "not centred");
}

/* Mean and 1 / deviation of row r. */
static void measure(const shape *s, int64_t r, bool centred, double *ret_mean, double *ret_inverse)
{
    double sum = 0.0, squares = 0.0;
    for (int64_t i = 0; i < s->n; i++)
        sum += (double)x[r * s->n + i];
    *ret_mean = centred ? sum / (double)s->n : 0.0;
    for (int64_t i = 0; i < s->n; i++)
        squares += pow((double)x[r * s->n + i] - *ret_mean, 2);
    *ret_inverse = 1.0 / sqrt(squares / (double)s->n + (double)1e-5f);
}

static void forward(const shape *s, types t, bool centred, bool with_bias)
{
    size_t n = (size_t)(s->rows * s->n), width = (size_t)s->n, rows = (size_t)s->rows;
    launch_row_norm_call c = call_of(s, t, centred);
    numbers(x, n, (uint32_t)n, 2.0f, 20.0f);
    numbers(scale, width, 3, 0.5f, 1.0f);
    numbers(bias, width, 4, 0.5f, 0.0f);
    const void *from = stored_on_device(t.x, x, n);
    void *to = stored_alloc(t.y, n);
    float *m = centred ? device_alloc(rows * sizeof *m) : NULL, *v = device_alloc(rows * sizeof *v);
    launch_row_norm(kernel_test_stream(), &c, to, m, v, from,
                    on_device(scale, width * sizeof *scale),
                    with_bias ? on_device(bias, width * sizeof *bias) : NULL);
    for (int64_t r = 0; r < s->rows; r++) {
        measure(s, r, centred, &want_bias[r], &want_scale[r]);
        for (int64_t i = 0; i < s->n; i++)
            want[r * s->n + i] =
                ((double)x[r * s->n + i] - want_bias[r]) * want_scale[r] * (double)scale[i] +
                (with_bias ? (double)bias[i] : 0.0);
    }
    char what[96];
    describe(what, "rows", s, t, centred);
    stored_from_device(got, t.y, to, n);
    double grain = 1.01 * stored_grain(t.y);
    double apart = s->n < 4 ? 2e-3 : 2e-5; /* differences of a few numbers may be tiny */
    assert_floats_close(what, got, want, n, apart, 2e-5 + grain);
    from_device(got, v, rows * sizeof *got);
    assert_floats_close(what, got, want_scale, rows, 0, s->n < 4 ? 2e-2 : 2e-5);
    if (m) {
        from_device(got, m, rows * sizeof *got);
        assert_floats_close(what, got, want_bias, rows, 0, 1e-6);
    }
    device_clear();
}

static void rows_of_any_length(void **state)
{
    (void)state;
    for (size_t i = 0; i < SHAPES; i++)
        for (size_t k = i % 2; k < PAIRS; k += 2)
            forward(&shapes[i], pairs[k], (i + k / 2) % 3 != 0, i % 2);
}

static void reference_bwd(const shape *s, bool centred)
{
    for (int64_t i = 0; i < s->n; i++)
        want_scale[i] = want_bias[i] = 0.0;
    for (int64_t r = 0; r < s->rows; r++) {
        double plain = 0.0, normal = 0.0, m = centred ? (double)mean[r] : 0.0,
               by = (double)inverse[r];
        for (int64_t i = 0; i < s->n; i++) {
            double h = ((double)x[r * s->n + i] - m) * by, d = (double)dy[r * s->n + i];
            plain += d * (double)scale[i];
            normal += d * (double)scale[i] * h;
            want_scale[i] += d * h;
            want_bias[i] += d;
        }
        plain = centred ? plain / (double)s->n : 0.0;
        for (int64_t i = 0; i < s->n; i++) {
            double h = ((double)x[r * s->n + i] - m) * by;
            want[r * s->n + i] = by * ((double)dy[r * s->n + i] * (double)scale[i] - plain -
                                       h * normal / (double)s->n);
        }
    }
}

static void backward(const shape *s, types t, bool centred, int wanted)
{
    size_t n = (size_t)(s->rows * s->n), width = (size_t)s->n, rows = (size_t)s->rows;
    launch_row_norm_call c = call_of(s, t, centred);
    numbers(x, n, (uint32_t)n, 2.0f, 1.0f);
    numbers(dy, n, (uint32_t)n + 1, 1.0f, 0.1f);
    numbers(scale, width, 3, 0.5f, 1.0f);
    numbers(mean, rows, 4, 0.5f, 1.0f);
    numbers(inverse, rows, 5, 0.3f, 0.8f);
    const void *from = stored_on_device(t.x, x, n), *gradient = stored_on_device(t.y, dy, n);
    void *dx = wanted & 1 ? stored_alloc(t.x, n) : NULL;
    float *dscale = wanted & 2 ? device_alloc(width * sizeof *dscale) : NULL;
    float *dbias = wanted & 4 ? device_alloc(width * sizeof *dbias) : NULL;
    c.workspace = device_alloc((size_t)(2 * (s->bands + c.pieces) * s->n) * sizeof *c.workspace);
    launch_row_norm_bwd(kernel_test_stream(), &c, dx, dscale, dbias, gradient, from,
                        on_device(scale, width * sizeof *scale),
                        centred ? on_device(mean, rows * sizeof *mean) : NULL,
                        on_device(inverse, rows * sizeof *inverse));
    reference_bwd(s, centred);
    char what[96];
    describe(what, "gradients", s, t, centred);
    if (dx) {
        stored_from_device(got, t.x, dx, n);
        assert_floats_close(what, got, want, n, 1e-5, 1e-5 + 1.01 * stored_grain(t.x));
    }
    double size = 2e-6 * sqrt((double)rows) + 2e-7 * (double)rows;
    if (dscale) {
        from_device(got, dscale, width * sizeof *got);
        assert_floats_close(what, got, want_scale, width, size, 1e-5);
    }
    if (dbias) {
        from_device(got, dbias, width * sizeof *got);
        assert_floats_close(what, got, want_bias, width, size, 1e-5);
    }
    device_clear();
}

static void gradients(void **state)
{
    (void)state;
    for (size_t i = 0; i < SHAPES; i++)
        for (size_t k = i % 2; k < PAIRS; k += 2)
            backward(&shapes[i], pairs[k], (i + k / 2) % 3 != 0,
                     i % 5 == 1   ? 6
                     : i % 5 == 2 ? 3
                                  : 7);
}

/* Rows far from zero keep their deviation. */
static void far_from_zero(void **state)
{
    (void)state;
    enum { N = 2048 };
    launch_row_norm_call c = call_of(&(shape){1, N, 1}, pairs[0], true);
    numbers(x, N, 1, 1.0f, 4096.0f);
    float *v = device_alloc(sizeof *v), ones[N], by;
    for (int i = 0; i < N; i++)
        ones[i] = 1.0f;
    launch_row_norm(kernel_test_stream(), &c, device_alloc(sizeof ones), NULL, v,
                    on_device(x, sizeof ones), on_device(ones, sizeof ones), NULL);
    from_device(&by, v, sizeof by);
    double m, want_by;
    measure(&(shape){1, N, 1}, 0, true, &m, &want_by);
    assert_true(fabs((double)by / want_by - 1.0) < 1e-5);
}

static void no_rows(void **state)
{
    (void)state;
    launch_row_norm_call c = call_of(&(shape){0, 8, 1}, pairs[0], true);
    launch_row_norm(kernel_test_stream(), &c, NULL, NULL, NULL, NULL, NULL, NULL);
    launch_row_norm_bwd(kernel_test_stream(), &c, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(rows_of_any_length),
        KERNEL_TEST(gradients),
        KERNEL_TEST(far_from_zero),
        KERNEL_TEST(no_rows),
    };
    return kernel_tests_run(tests, sizeof tests / sizeof *tests);
}
