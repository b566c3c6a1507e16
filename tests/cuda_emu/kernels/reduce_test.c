/* Reductions over any axes against sums in double, and their edges. */
#include "cuda_emu/kernels/support_stored.h"

#include "backend/cuda/kernels/reduce.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 70000, RANK = 4 };

static float x[MOST], got[MOST];
static double want[MOST], size[MOST];

typedef struct shape {
    const char *axes; /* k: kept, r: reduced */
    int64_t dim[RANK];
} shape;

static int64_t elements(const shape *s)
{
    int64_t n = 1;
    for (size_t i = 0; i < strlen(s->axes); i++)
        n *= s->dim[i];
    return n;
}

/* The result that element e falls into. */
static int64_t result_of(const shape *s, int64_t e)
{
    int64_t k = 0, step = 1;
    for (size_t i = strlen(s->axes); i-- > 0;) {
        if (s->axes[i] == 'k') {
            k += e % s->dim[i] * step;
            step *= s->dim[i];
        }
        e /= s->dim[i];
    }
    return k;
}

static reduce_space space_of(const shape *s)
{
    int rank = (int)strlen(s->axes);
    reduce_space r = {.kept.count = 1,
                      .reduced.count = 1,
                      .last = s->dim[rank - 1],
                      .last_reduced = s->axes[rank - 1] == 'r'};
    for (int i = 0; i < rank - 1; i++) {
        reduce_axes *a = s->axes[i] == 'k' ? &r.kept : &r.reduced;
        int64_t stride = 1;
        for (int j = i + 1; j < rank; j++)
            stride *= s->dim[j];
        a->dim[a->rank] = s->dim[i];
        a->stride[a->rank++] = stride;
        a->count *= s->dim[i];
    }
    return r;
}

static double start_of(launch_reduce_kind kind)
{
    switch (kind) {
    case LAUNCH_REDUCE_MAX:
        return -INFINITY;
    case LAUNCH_REDUCE_MIN:
        return INFINITY;
    default:
        return kind == LAUNCH_REDUCE_PROD;
    }
}

static void take(launch_reduce_kind kind, double *all, double one)
{
    switch (kind) {
    case LAUNCH_REDUCE_L1:
        *all += fabs(one);
        break;
    case LAUNCH_REDUCE_L2:
    case LAUNCH_REDUCE_SUM_SQUARE:
        *all += one * one;
        break;
    case LAUNCH_REDUCE_MAX:
        *all = fmax(*all, one);
        break;
    case LAUNCH_REDUCE_MIN:
        *all = fmin(*all, one);
        break;
    case LAUNCH_REDUCE_PROD:
        *all *= one;
        break;
    case LAUNCH_REDUCE_LOG_SUM_EXP:
        *all += exp(one);
        break;
    default:
        *all += one;
    }
}

static double end_of(launch_reduce_kind kind, double all, double depth)
{
    switch (kind) {
    case LAUNCH_REDUCE_MEAN:
        return all / depth;
    case LAUNCH_REDUCE_L2:
        return sqrt(all);
    case LAUNCH_REDUCE_LOG_SUM:
    case LAUNCH_REDUCE_LOG_SUM_EXP:
        return log(all);
    default:
        return all;
    }
}

static void compare(launch_reduce_kind kind, launch_type type, int pieces, const shape *s)
{
    int64_t n = elements(s);
    launch_reduce_call c = {.space = space_of(s), .kind = kind, .type = type, .pieces = pieces};
    int64_t width = reduce_width(&c.space), depth = reduce_depth(&c.space);
    bool positive = kind == LAUNCH_REDUCE_LOG_SUM;
    numbers(x, (size_t)n, (uint32_t)(n + kind), kind == LAUNCH_REDUCE_PROD ? 0.2f : 1.0f,
            kind == LAUNCH_REDUCE_PROD ? 1.0f
            : positive                 ? 1.5f
                                       : 0.0f);
    const void *from = stored_on_device(type, x, (size_t)n);
    float *y = device_alloc((size_t)width * sizeof *y);
    c.divisor = (float)depth;
    c.workspace = pieces > 1 ? device_alloc((size_t)(pieces * width) * 8) : NULL;
    launch_reduce(kernel_test_stream(), &c, y, from);
    double most = 0.0;
    for (int64_t k = 0; k < width; k++) {
        want[k] = start_of(kind);
        size[k] = 0.0;
    }
    for (int64_t e = 0; e < n; e++) {
        take(kind, &want[result_of(s, e)], (double)x[e]);
        size[result_of(s, e)] += fabs((double)x[e]);
    }
    for (int64_t k = 0; k < width; k++) {
        want[k] = end_of(kind, want[k], (double)depth);
        most = fmax(most, size[k]);
    }
    from_device(got, y, (size_t)width * sizeof *y);
    char what[160];
    snprintf(what, sizeof what, "kind %d of type %d, %s of %ld elements, %d pieces", kind, type,
             s->axes, (long)n, pieces);
    bool exact = kind == LAUNCH_REDUCE_MAX || kind == LAUNCH_REDUCE_MIN;
    double absolute = kind == LAUNCH_REDUCE_MEAN ? most / (double)depth : most;
    assert_floats_close(what, got, want, (size_t)width, exact ? 0.0 : 1e-7 * absolute + 1e-7,
                        exact ? 0.0 : 1e-5);
    device_clear();
}

static const shape shapes[] = {
    {"r", {1}},
    {"r", {33}},
    {"r", {1024}},
    {"r", {1025}},
    {"r", {5000}},
    {"kr", {3, 1}},
    {"kr", {5, 31}},
    {"kr", {6, 32}},
    {"kr", {9, 127}},
    {"kr", {2, 1029}},
    {"rk", {7, 1}},
    {"rk", {33, 3}},
    {"rk", {9, 4}},
    {"rk", {300, 130}},
    {"rk", {65, 128}},
    {"rk", {1, 5}},
    {"krk", {3, 40, 5}},
    {"krk", {2, 7, 133}},
    {"rkr", {4, 3, 49}},
    {"rkr", {3, 2, 300}},
    {"rkr", {40, 5, 3}},
    {"krkr", {2, 3, 4, 5}},
    {"rkrk", {3, 2, 5, 7}},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static void all_axes(void **state)
{
    (void)state;
    for (size_t i = 0; i < SHAPES; i++)
        for (int pieces = 1; pieces < 24; pieces += pieces < 7 ? 3 : 13)
            compare(LAUNCH_REDUCE_SUM, stored_types[i % STORED_TYPES], pieces, &shapes[i]);
}

static void all_kinds(void **state)
{
    (void)state;
    for (size_t i = 1; i < SHAPES; i++)
        for (int kind = LAUNCH_REDUCE_SUM; kind <= LAUNCH_REDUCE_LOG_SUM_EXP; kind++)
            if ((i + (size_t)kind) % 3 == 0)
                compare((launch_reduce_kind)kind, LAUNCH_F32, 1 + (int)(i % 2) * 4, &shapes[i]);
}

/* More results than a grid has threads for at once. */
static void many_results(void **state)
{
    (void)state;
    compare(LAUNCH_REDUCE_SUM, LAUNCH_F32, 1, &(shape){"kr", {4 * 8192 + 5, 2}});
    compare(LAUNCH_REDUCE_SUM, LAUNCH_F32, 1, &(shape){"krk", {8192 + 3, 2, 1}});
}

static float one_result(launch_reduce_kind kind, const float *of, size_t n)
{
    launch_reduce_call c = {
        .space = space_of(&(shape){"r", {(int64_t)n}}), .kind = kind, .pieces = 1};
    float *y = device_alloc(sizeof *y);
    float y_host;
    launch_reduce(kernel_test_stream(), &c, y, on_device(of, n * sizeof *of));
    from_device(&y_host, y, sizeof y_host);
    return y_host;
}

static void what_is_no_finite_number(void **state)
{
    (void)state;
    const float none[] = {1, NAN, 3}, all[] = {-INFINITY, -INFINITY},
                most[] = {1, INFINITY, INFINITY};
    const float some[] = {-INFINITY, 2, -INFINITY};
    assert_true(isnan(one_result(LAUNCH_REDUCE_MAX, none, 3)));
    assert_true(isnan(one_result(LAUNCH_REDUCE_MIN, none, 3)));
    assert_true(isnan(one_result(LAUNCH_REDUCE_LOG_SUM_EXP, none, 3)));
    assert_true(one_result(LAUNCH_REDUCE_LOG_SUM_EXP, all, 2) == -INFINITY);
    assert_true(one_result(LAUNCH_REDUCE_LOG_SUM_EXP, most, 3) == INFINITY);
    assert_true(one_result(LAUNCH_REDUCE_LOG_SUM_EXP, some, 3) == 2.0f);
    assert_true(one_result(LAUNCH_REDUCE_MIN, most, 3) == 1.0f);
}

static void whole(const shape *s, launch_reduce_kind kind, bool wide)
{
    static int64_t all[MOST], in[MOST];
    static int32_t narrow[MOST];
    int64_t n = elements(s);
    launch_reduce_call c = {.space = space_of(s), .kind = kind};
    size_t width = (size_t)reduce_width(&c.space), bytes = wide ? 8 : 4;
    bool begun[MOST] = {false};
    for (int64_t e = 0; e < n; e++) {
        int64_t one = in[e] = (e * 7919 + 3) % 1009 - 500, k = result_of(s, e);
        narrow[e] = (int32_t)one;
        if (!begun[k])
            all[k] = one;
        else if (kind == LAUNCH_REDUCE_SUM)
            all[k] += one;
        else if (kind == LAUNCH_REDUCE_PROD)
            all[k] = (int64_t)((uint64_t)all[k] * (uint64_t)one);
        else if (kind == LAUNCH_REDUCE_MAX ? one > all[k] : one < all[k])
            all[k] = one;
        begun[k] = true;
    }
    void *y = device_alloc(width * bytes);
    const void *from = on_device(wide ? (const void *)in : narrow, (size_t)n * bytes);
    launch_reduce_whole(kernel_test_stream(), &c, y, from, wide);
    int64_t *y_host = malloc(width * 8);
    from_device(y_host, y, width * bytes);
    for (size_t k = 0; k < width; k++)
        if (wide)
            assert_int_equal(y_host[k], all[k]);
        else
            assert_int_equal(((int32_t *)y_host)[k], (int32_t)all[k]);
    free(y_host);
    device_clear();
}

static void whole_numbers(void **state)
{
    (void)state;
    const launch_reduce_kind kinds[] = {LAUNCH_REDUCE_SUM, LAUNCH_REDUCE_MAX, LAUNCH_REDUCE_MIN,
                                      LAUNCH_REDUCE_PROD};
    const shape some[] = {{"r", {37}}, {"kr", {131, 5}}, {"rk", {6, 257}}, {"rkrk", {3, 2, 5, 7}}};
    for (size_t i = 0; i < 4; i++)
        for (size_t k = 0; k < 4; k++)
            whole(&some[i], kinds[k], (i + k) % 2);
}

static void product_gradients(const shape *s, int64_t zeros_every)
{
    int64_t n = elements(s);
    reduce_space space = space_of(s);
    size_t width = (size_t)reduce_width(&space);
    static float dy[MOST];
    numbers(x, (size_t)n, 5, 0.5f, 1.0f);
    numbers(dy, width, 6, 1.0f, 0.0f);
    for (int64_t e = 1; e < n && zeros_every; e += zeros_every)
        x[e] = 0.0f;
    for (int64_t e = 0; e < n; e++) {
        want[e] = (double)dy[result_of(s, e)];
        for (int64_t i = 0; i < n; i++)
            if (i != e && result_of(s, i) == result_of(s, e))
                want[e] *= (double)x[i];
    }
    float *dx = device_alloc((size_t)n * sizeof *dx);
    launch_reduce_prod_bwd(kernel_test_stream(), &space, dx, on_device(dy, width * sizeof *dy),
                           on_device(x, (size_t)n * sizeof *x));
    from_device(got, dx, (size_t)n * sizeof *dx);
    assert_floats_close(s->axes, got, want, (size_t)n, 1e-30, 1e-6);
    device_clear();
}

static void gradients_of_a_product(void **state)
{
    (void)state;
    const shape some[] = {{"r", {31}}, {"kr", {5, 40}}, {"rk", {33, 6}}, {"rkr", {3, 4, 5}}};
    for (size_t i = 0; i < 4; i++)
        for (int64_t every = 0; every < 60; every += 23)
            product_gradients(&some[i], every);
    product_gradients(&(shape){"r", {1100}}, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(all_axes),      KERNEL_TEST(all_kinds),
        KERNEL_TEST(many_results),  KERNEL_TEST(what_is_no_finite_number),
        KERNEL_TEST(whole_numbers), KERNEL_TEST(gradients_of_a_product),
    };
    return kernel_tests_run(tests, sizeof tests / sizeof *tests);
}
