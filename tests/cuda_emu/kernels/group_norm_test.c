/* GroupNormalization and its gradients against double. */
#include "cuda_emu/kernels/support_stored.h"

#include "backend/cuda/kernels/group_norm.h"

#include <math.h>
#include <stdio.h>

enum { MOST = 60000 };

static float x[MOST], dy[MOST], scale[MOST], bias[MOST], mean[MOST], inverse[MOST], got[MOST];
static double want[MOST], first[MOST], second[MOST];

typedef struct shape {
    int64_t batch, groups, per_group, plane;
    int pieces;
} shape;

static const shape shapes[] = {
    {1, 1, 1, 1, 1},  {3, 2, 3, 20, 1},  {2, 1, 40, 7, 1},   {2, 5, 1, 64, 2}, {2, 3, 11, 31, 3},
    {1, 2, 33, 4, 1}, {2, 1, 2, 4099, 5}, {130, 2, 2, 33, 1}, {1, 300, 1, 9, 1},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static const double EPSILON = 0.0078125;

static size_t rows_of(const shape *s)
{
    return (size_t)(s->batch * s->groups * s->per_group);
}

static int64_t row_length(const shape *s)
{
    return s->per_group * s->plane;
}

static launch_group_norm_call call_of(const shape *s, launch_type type)
{
    size_t rows = rows_of(s);
    return (launch_group_norm_call){.type = type,
                                    .batch = s->batch,
                                    .groups = s->groups,
                                    .per_group = s->per_group,
                                    .plane = s->plane,
                                    .epsilon = (float)EPSILON,
                                    .pieces = s->pieces,
                                    .workspace = device_alloc((size_t)s->pieces * rows * 16),
                                    .lines = device_alloc(rows * 16),
                                    .sums = device_alloc(rows * 8)};
}

static void describe(char ret[96], const char *what, const shape *s, launch_type type)
{
    snprintf(ret, 96, "%s of type %d, [%ld,%ldx%ld,%ld]", what, type, (long)s->batch,
             (long)s->groups, (long)s->per_group, (long)s->plane);
}

static void *vector(float *v, size_t n, uint32_t seed, float size, float middle)
{
    numbers(v, n, seed, size, middle);
    return on_device(v, n * sizeof *v);
}

static void forward(const shape *s, launch_type type, bool in_place)
{
    size_t groups = (size_t)(s->batch * s->groups), n = rows_of(s) * (size_t)s->plane;
    size_t channels = (size_t)(s->groups * s->per_group);
    launch_group_norm_call c = call_of(s, type);
    numbers(x, n, (uint32_t)n, 2.0f, 30.0f);
    void *from = stored_on_device(type, x, n), *to = in_place ? from : stored_alloc(type, n);
    float *m = device_alloc(groups * sizeof *m), *i = device_alloc(groups * sizeof *i);
    launch_group_norm(kernel_test_stream(), &c, to, m, i, from, vector(scale, channels, 3, 1, 1),
                      vector(bias, channels, 4, 1, 0));
    int64_t length = row_length(s);
    for (int64_t g = 0; g < (int64_t)groups; g++) {
        double spread = first[g] = 0.0;
        for (int64_t e = g * length; e < (g + 1) * length; e++)
            first[g] += (double)x[e] / (double)length;
        for (int64_t e = g * length; e < (g + 1) * length; e++)
            spread += pow((double)x[e] - first[g], 2) / (double)length;
        second[g] = 1.0 / sqrt(spread + EPSILON);
        for (int64_t e = g * length; e < (g + 1) * length; e++) {
            int64_t k = e / s->plane % (int64_t)channels;
            want[e] = ((double)x[e] - first[g]) * second[g] * (double)scale[k] + (double)bias[k];
        }
    }
    char what[96];
    describe(what, "mean", s, type);
    from_device(got, m, groups * sizeof *got);
    assert_floats_close(what, got, first, groups, 0, 1e-6);
    describe(what, "inverse", s, type);
    from_device(got, i, groups * sizeof *got);
    assert_floats_close(what, got, second, groups, 0, 1e-5);
    describe(what, "normalised", s, type);
    stored_from_device(got, type, to, n);
    assert_floats_close(what, got, want, n, 5e-5, 1e-5 + 1.01 * stored_grain(type));
    device_clear();
}

static void groups_of_samples(void **state)
{
    (void)state;
    for (size_t i = 0; i < SHAPES; i++)
        forward(&shapes[i], stored_types[i % STORED_TYPES], i % 2);
}

/* dx into want, dscale into first, dbias into second. */
static void reference_bwd(const shape *s)
{
    int64_t channels = s->groups * s->per_group, length = row_length(s);
    for (int64_t k = 0; k < channels; k++)
        first[k] = second[k] = 0.0;
    for (int64_t g = 0; g < s->batch * s->groups; g++) {
        double by = (double)inverse[g], plain = 0.0, normal = 0.0;
        for (int pass = 0; pass < 2; pass++)
            for (int64_t e = g * length; e < (g + 1) * length; e++) {
                int64_t k = e / s->plane % channels;
                double h = ((double)x[e] - (double)mean[g]) * by, d = (double)dy[e];
                double gradient = d * (double)scale[k];
                if (pass == 0) {
                    first[k] += d * h;
                    second[k] += d;
                    plain += gradient / (double)length;
                    normal += gradient * h / (double)length;
                } else {
                    want[e] = by * (gradient - plain - h * normal);
                }
            }
    }
}

static void backward(const shape *s, launch_type type, bool in_place)
{
    size_t groups = (size_t)(s->batch * s->groups), n = rows_of(s) * (size_t)s->plane;
    size_t channels = (size_t)(s->groups * s->per_group);
    launch_group_norm_call c = call_of(s, type);
    numbers(x, n, (uint32_t)n, 1.0f, 1.0f);
    numbers(dy, n, (uint32_t)n + 1, 1.0f, 0.1f);
    const void *from = stored_on_device(type, x, n);
    void *gradient = stored_on_device(type, dy, n),
         *dx = in_place ? gradient : stored_alloc(type, n);
    float *ds = device_alloc(channels * sizeof *ds), *db = device_alloc(channels * sizeof *db);
    launch_group_norm_bwd(kernel_test_stream(), &c, dx, ds, db, gradient, from,
                          vector(scale, channels, 3, 1, 1), vector(mean, groups, 4, 0.3f, 1),
                          vector(inverse, groups, 5, 0.3f, 1));
    reference_bwd(s);
    char what[96];
    describe(what, "gradients", s, type);
    double size = 2e-7 * (double)(s->batch * s->plane) + 2e-6;
    from_device(got, ds, channels * sizeof *got);
    assert_floats_close(what, got, first, channels, size, 1e-5);
    from_device(got, db, channels * sizeof *got);
    assert_floats_close(what, got, second, channels, size, 1e-5);
    stored_from_device(got, type, dx, n);
    assert_floats_close(what, got, want, n, 1e-5, 1e-5 + 1.01 * stored_grain(type));
    device_clear();
}

static void gradients(void **state)
{
    (void)state;
    for (size_t i = 0; i < SHAPES; i++)
        backward(&shapes[i], stored_types[(i + 1) % STORED_TYPES], i % 2);
}

static void nothing_is_wanted(void **state)
{
    (void)state;
    const shape s = {2, 2, 2, 5, 1}, none = {0, 2, 2, 5, 1};
    launch_group_norm_call c = call_of(&s, LAUNCH_F32), of_none = call_of(&none, LAUNCH_F32);
    const void *v = vector(x, 40, 1, 1, 0);
    launch_group_norm_bwd(kernel_test_stream(), &c, NULL, NULL, NULL, v, v, v, v, v);
    launch_group_norm(kernel_test_stream(), &of_none, NULL, NULL, NULL, NULL, NULL, NULL);
    launch_group_norm_bwd(kernel_test_stream(), &of_none, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                          NULL);
    from_device(got, v, sizeof(float));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(groups_of_samples),
        KERNEL_TEST(gradients),
        KERNEL_TEST(nothing_is_wanted),
    };
    return kernel_tests_run(tests, sizeof tests / sizeof *tests);
}
