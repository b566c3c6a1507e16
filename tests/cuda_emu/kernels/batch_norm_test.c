/* BatchNormalization, its statistics and its gradients, in both layouts, against double. */
#include "cuda_emu/kernels/support_stored.h"

#include "backend/cuda/kernels/batch_norm.h"

#include <math.h>
#include <stdio.h>

enum { MOST = 140000 };

static float x[MOST], dy[MOST], scale[MOST], bias[MOST], mean[MOST], variance[MOST], got[MOST];
static double want[MOST], first[MOST], second[MOST];

typedef struct shape {
    int64_t n, channels, plane;
    int pieces;
} shape;

static const shape shapes[] = {
    {1, 1, 1, 1},    {2, 3, 1, 1},    {4, 5, 49, 2},           {3, 33, 31, 3},   {5, 4, 64, 1},
    {2, 64, 33, 4},  {1, 2, 1025, 7}, {2, 130, 9, 5},          {300, 3, 4, 128}, {1, 128, 257, 1},
    {9, 1, 1024, 3}, {64, 17, 8, 8},  {2, 8192 * 2 + 3, 1, 1},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static int64_t place(const shape *s, bool last, int64_t n, int64_t c, int64_t i)
{
    return last ? (n * s->plane + i) * s->channels + c : (n * s->channels + c) * s->plane + i;
}

#define EACH_OF_CHANNEL(c, at)                                                                     \
    for (int64_t n_ = 0; n_ < s->n; n_++)                                                          \
        for (int64_t i_ = 0, at; i_ < s->plane && (at = place(s, last, n_, c, i_), true); i_++)

static launch_batch_norm_call call_of(const shape *s, launch_type type, bool last)
{
    return (launch_batch_norm_call){.type = type,
                                    .n = s->n,
                                    .channels = s->channels,
                                    .plane = s->plane,
                                    .channels_last = last,
                                    .epsilon = 1e-3f,
                                    .pieces = s->pieces,
                                    .workspace =
                                        device_alloc((size_t)(s->pieces * s->channels) * 16),
                                    .lines = device_alloc((size_t)s->channels * 32)};
}

static void describe(char ret[96], const char *what, const shape *s, launch_type type, bool last)
{
    snprintf(ret, 96, "%s of type %d, [%ld,%ld,%ld], channels %s", what, type, (long)s->n,
             (long)s->channels, (long)s->plane, last ? "last" : "first");
}

static void *vector(float *v, const shape *s, uint32_t seed, float size, float middle)
{
    numbers(v, (size_t)s->channels, seed, size, middle);
    return on_device(v, (size_t)s->channels * sizeof *v);
}

static void forward(const shape *s, launch_type type, bool last)
{
    size_t n = (size_t)(s->n * s->channels * s->plane), channels = (size_t)s->channels;
    launch_batch_norm_call c = call_of(s, type, last);
    numbers(x, n, (uint32_t)n, 2.0f, 20.0f);
    void *from = stored_on_device(type, x, n);
    float *m = device_alloc(channels * sizeof *m), *v = device_alloc(channels * sizeof *v);
    launch_batch_norm_statistics(kernel_test_stream(), &c, m, v, from);
    from_device(mean, m, channels * sizeof *m);
    from_device(variance, v, channels * sizeof *v);
    double count = (double)(s->n * s->plane);
    for (int64_t k = 0; k < s->channels; k++) {
        first[k] = second[k] = 0.0;
        EACH_OF_CHANNEL(k, at)
        first[k] += (double)x[at] / count;
        EACH_OF_CHANNEL(k, at)
        second[k] += pow((double)x[at] - first[k], 2) / count;
    }
    char what[96];
    describe(what, "mean", s, type, last);
    assert_floats_close(what, mean, first, channels, 0, 1e-6);
    describe(what, "variance", s, type, last);
    assert_floats_close(what, variance, second, channels, 1e-5, 1e-5);

    launch_batch_norm(kernel_test_stream(), &c, from, from, vector(scale, s, 3, 0.5f, 1.0f),
                      vector(bias, s, 4, 0.5f, 0.0f), m, v);
    for (int64_t k = 0; k < s->channels; k++) {
        double by = (double)scale[k] / sqrt((double)variance[k] + (double)1e-3f);
        EACH_OF_CHANNEL(k, at)
        want[at] = ((double)x[at] - (double)mean[k]) * by + (double)bias[k];
    }
    stored_from_device(got, type, from, n);
    describe(what, "normalised", s, type, last);
    assert_floats_close(what, got, want, n, 2e-6, 2e-6 + 1.01 * stored_grain(type));
    device_clear();
}

static void both_layouts(void **state)
{
    (void)state;
    for (size_t i = 0; i < SHAPES; i++)
        for (int last = 0; last < 2; last++)
            forward(&shapes[i], stored_types[(i + (size_t)last) % STORED_TYPES], last);
}

static void reference_bwd(const shape *s, bool last, bool training)
{
    double count = (double)(s->n * s->plane);
    for (int64_t k = 0; k < s->channels; k++) {
        double inverse = 1.0 / sqrt((double)variance[k] + (double)1e-3f), m = (double)mean[k];
        first[k] = second[k] = 0.0;
        EACH_OF_CHANNEL(k, at)
        {
            first[k] += (double)dy[at] * ((double)x[at] - m) * inverse;
            second[k] += (double)dy[at];
        }
        EACH_OF_CHANNEL(k, at)
        {
            double h = ((double)x[at] - m) * inverse;
            double less = training ? (second[k] + h * first[k]) / count : 0.0;
            want[at] = (double)scale[k] * inverse * ((double)dy[at] - less);
        }
    }
}

/* Where the gradients come from: as they are stored, through Relu, of a chain that doubles them. */
typedef enum origin { STORED, THROUGH_RELU, CHAINED } origin;

/* dy becomes what comes through Relu. */
static void mask(const shape *s, bool last)
{
    for (int64_t k = 0; k < s->channels; k++)
        EACH_OF_CHANNEL(k, at)
        {
            double by = (double)scale[k] / sqrt((double)variance[k] + (double)1e-3f);
            double y = ((double)x[at] - (double)mean[k]) * by + (double)bias[k];
            dy[at] = y > 0.0 ? dy[at] : 0.0f;
        }
}

/* The chain reads `half`, whose doubles go to gradient. */
static launch_chain_call doubles(launch_type type, int64_t n, const void *half, void *gradient)
{
    static const dtype of[] = {
        [LAUNCH_F32] = DT_F32, [LAUNCH_BF16] = DT_BF16, [LAUNCH_F16] = DT_F16};
    chain_operand operand = {.x = half, .type = of[type], .inner = 1, .count = n};
    return (launch_chain_call){
        .elements = n,
        .source = operand,
        .n = 1,
        .step = {{.function = CHAIN_BINARY_add, .u = operand, .y = gradient, .y_type = of[type]}}};
}

static void check_backward(const shape *s, launch_type type, bool last, bool training,
                           const float *dscale, const float *dbias, const void *dx)
{
    size_t n = (size_t)(s->n * s->channels * s->plane), channels = (size_t)s->channels;
    reference_bwd(s, last, training);
    char what[96];
    describe(what, training ? "gradients in training" : "gradients", s, type, last);
    double size = 2e-7 * (double)(s->n * s->plane) + 1e-6;
    from_device(got, dscale, channels * sizeof *got);
    assert_floats_close(what, got, first, channels, size, 1e-5);
    from_device(got, dbias, channels * sizeof *got);
    assert_floats_close(what, got, second, channels, size, 1e-5);
    if (dx) {
        stored_from_device(got, type, dx, n);
        assert_floats_close(what, got, want, n, 4e-6, 4e-6 + 1.01 * stored_grain(type));
    }
}

static void backward(const shape *s, launch_type type, bool last, bool training, bool want_dx,
                     origin from)
{
    size_t n = (size_t)(s->n * s->channels * s->plane), channels = (size_t)s->channels;
    launch_batch_norm_call c = call_of(s, type, last);
    numbers(x, n, (uint32_t)n, 1.0f, 1.0f);
    numbers(dy, n, (uint32_t)n + 1, 1.0f, 0.1f);
    const void *stored_x = stored_on_device(type, x, n);
    void *stored_dy = stored_on_device(type, dy, n), *gradient = stored_dy;
    if (from == CHAINED)
        gradient = stored_alloc(type, n);
    launch_chain_call chain = doubles(type, (int64_t)n, stored_dy, gradient);
    void *dx = !want_dx ? NULL : from == CHAINED ? stored_alloc(type, n) : gradient;
    float *dscale = device_alloc(channels * sizeof *dscale),
          *dbias = device_alloc(channels * sizeof *dbias);
    const float *biases = vector(bias, s, 6, 0.5f, 0.0f);
    c.before = from == CHAINED ? &chain : NULL;
    c.relu_bias = from == THROUGH_RELU ? biases : NULL;
    launch_batch_norm_bwd(kernel_test_stream(), &c, dx, dscale, dbias, gradient, stored_x,
                          vector(scale, s, 3, 0.5f, 1.0f), vector(mean, s, 4, 0.3f, 1.0f),
                          vector(variance, s, 5, 0.3f, 0.5f), training);
    if (from == THROUGH_RELU)
        mask(s, last);
    for (size_t i = 0; i < n && from == CHAINED; i++)
        dy[i] *= 2.0f;
    check_backward(s, type, last, training, dscale, dbias, dx);
    device_clear();
}

static void gradients_of(origin from)
{
    for (size_t i = 0; i < SHAPES; i++)
        for (int last = from == CHAINED; last < 2; last++)
            backward(&shapes[i], stored_types[(i + (size_t)last) % STORED_TYPES], last, i % 3,
                     i != 3, from);
}

static void gradients(void **state)
{
    (void)state;
    gradients_of(STORED);
}

static void gradients_through_relu(void **state)
{
    (void)state;
    gradients_of(THROUGH_RELU);
}

static void gradients_of_a_chain(void **state)
{
    (void)state;
    gradients_of(CHAINED);
}

/* A batch far from zero keeps its variance, within a piece and across pieces. */
static void far_from_zero(void **state)
{
    (void)state;
    for (int last = 0; last < 2; last++) {
        const shape far = {7, 2, 333, 5}, *s = &far;
        size_t n = (size_t)(s->n * s->channels * s->plane);
        launch_batch_norm_call c = call_of(s, LAUNCH_F32, last);
        numbers(x, n, 1, 1.0f, 4096.0f);
        float *m = device_alloc(8), *v = device_alloc(8);
        launch_batch_norm_statistics(kernel_test_stream(), &c, m, v, on_device(x, n * sizeof *x));
        from_device(variance, v, 8);
        for (int64_t k = 0; k < 2; k++) {
            double count = (double)(s->n * s->plane), middle = 0.0, spread = 0.0;
            EACH_OF_CHANNEL(k, at)
            middle += (double)x[at] / count;
            EACH_OF_CHANNEL(k, at)
            spread += pow((double)x[at] - middle, 2) / count;
            assert_true(fabs((double)variance[k] / spread - 1.0) < 1e-4);
        }
        device_clear();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(both_layouts),           KERNEL_TEST(gradients),
        KERNEL_TEST(gradients_through_relu), KERNEL_TEST(gradients_of_a_chain),
        KERNEL_TEST(far_from_zero),
    };
    return kernel_tests_run(tests, sizeof tests / sizeof *tests);
}
