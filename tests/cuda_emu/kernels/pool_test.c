/*
 * Pooling's kernels against loops over windows in double: every kind, windows that overlap, hang
 * over, have gaps, are larger than a warp takes at once; ties, NaN and what MaxPool remembers. Of
 * float32, plane behind plane, and of halves with the channels of an image side by side.
 */
#include "cuda_emu/kernels/support_stored.h"

#include "backend/cuda/kernels/pool.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 4096, PLANES = 6 };

static const launch_pool scenes[] = {
    {.in = {1, 1, 11},
     .out = {1, 1, 6},
     .kernel = {1, 1, 3},
     .stride = {1, 1, 2},
     .dilation = {1, 1, 1},
     .begin = {0, 0, 1},
     .padded = {1, 1, 12}},
    {.in = {1, 7, 6},
     .out = {1, 4, 6},
     .kernel = {1, 3, 2},
     .stride = {1, 2, 1},
     .dilation = {1, 1, 2},
     .begin = {0, 1, 1},
     .padded = {1, 8, 7},
     .column_major = true},
    {.in = {4, 5, 3}, /* the second axis hangs over */
     .out = {2, 3, 2},
     .kernel = {2, 2, 2},
     .stride = {2, 2, 1},
     .dilation = {1, 1, 1},
     .begin = {0, 0, 0},
     .padded = {4, 5, 3},
     .column_major = true},
    {.in = {1, 9, 17},
     .out = {1, 1, 1},
     .kernel = {1, 9, 17},
     .stride = {1, 1, 1},
     .dilation = {1, 1, 1},
     .begin = {0, 0, 0},
     .padded = {1, 9, 17}},
    {.in = {1, 20, 17},
     .out = {1, 4, 2},
     .kernel = {1, 18, 16},
     .stride = {1, 1, 1},
     .dilation = {1, 1, 1},
     .begin = {0, 1, 0},
     .padded = {1, 20, 17},
     .wide_taps = true},
    {.in = {1, 3, 200}, /* no window but the middle one has both its columns of elements */
     .out = {1, 3, 3},
     .kernel = {1, 1, 2},
     .stride = {1, 1, 60},
     .dilation = {1, 1, 150},
     .begin = {0, 0, 30},
     .padded = {1, 3, 270}},
};
enum { SCENES = sizeof scenes / sizeof *scenes };

static float x[MOST], dy[MOST], got[MOST];
static double want[MOST], want_dx[MOST];
static int want_taps[MOST];
static int64_t want_indices[MOST];

static int plane_of(const int32_t size[POOL_AXES])
{
    return size[0] * size[1] * size[2];
}

static size_t whole(const int32_t size[POOL_AXES])
{
    return (size_t)(PLANES * plane_of(size));
}

/* The element of a plane under tap k of window o; -1: padding, -2: not even that. */
static int under(const launch_pool *p, int o, int k)
{
    int ret = 0, o_rest = o, k_rest = k, scale = 1;
    for (int i = POOL_AXES - 1; i >= 0; i--) {
        int at = o_rest % p->out[i] * p->stride[i] - p->begin[i] +
                 k_rest % p->kernel[i] * p->dilation[i];
        if (at >= p->padded[i])
            return -2;
        ret = at < 0 || at >= p->in[i] || ret < 0 ? -1 : ret + at * scale;
        scale *= p->in[i];
        o_rest /= p->out[i];
        k_rest /= p->kernel[i];
    }
    return ret;
}

static int64_t index_of(const launch_pool *p, int plane, int at)
{
    int a = at / p->in[2] / p->in[1], b = at / p->in[2] % p->in[1], c = at % p->in[2];
    return plane * plane_of(p->in) +
           (p->column_major ? (c * p->in[1] + b) * p->in[0] + a : (int64_t)at);
}

static bool beats(float a, float b)
{
    return a > b || (a != a && b == b);
}

/* What f(plane, window) has to say of all windows of all planes. */
static void each_window(const launch_pool *p, void (*f)(const launch_pool *, int, int))
{
    for (int plane = 0; plane < PLANES; plane++)
        for (int o = 0; o < plane_of(p->out); o++)
            f(p, plane, o);
}

static void max_window(const launch_pool *p, int plane, int o)
{
    int best = -1, tap = 0, n = plane_of(p->in);
    for (int k = 0; k < plane_of(p->kernel); k++) {
        int at = under(p, o, k);
        if (at >= 0 && (best < 0 || beats(x[plane * n + at], x[plane * n + best]))) {
            best = at;
            tap = k;
        }
    }
    int to = plane * plane_of(p->out) + o;
    want[to] = (double)x[plane * n + best];
    want_taps[to] = tap;
    want_indices[to] = index_of(p, plane, best);
    want_dx[plane * n + best] += (double)dy[to];
}

static void average_window(const launch_pool *p, int plane, int o)
{
    double sum = 0.0, count = 0.0;
    int n = plane_of(p->in);
    for (int k = 0; k < plane_of(p->kernel); k++) {
        int at = under(p, o, k);
        sum += at >= 0 ? (double)x[plane * n + at] : 0.0;
        count += at >= 0 || (at == -1 && p->counts_padding);
    }
    int to = plane * plane_of(p->out) + o;
    want[to] = sum / count;
    for (int k = 0; k < plane_of(p->kernel); k++)
        if (under(p, o, k) >= 0)
            want_dx[plane * n + under(p, o, k)] += (double)dy[to] / count;
}

static void lp_window(const launch_pool *p, int plane, int o)
{
    double sum = 0.0;
    int n = plane_of(p->in);
    for (int k = 0; k < plane_of(p->kernel); k++)
        if (under(p, o, k) >= 0)
            sum += pow(fabs((double)x[plane * n + under(p, o, k)]), p->p);
    int to = plane * plane_of(p->out) + o;
    want[to] = pow(sum, 1.0 / p->p);
    for (int k = 0; k < plane_of(p->kernel) && want[to] > 0.0; k++) {
        if (under(p, o, k) < 0)
            continue;
        int at = plane * n + under(p, o, k);
        double own = (double)x[at];
        want_dx[at] += own == 0.0 ? 0.0
                                  : (double)dy[to] * (own < 0.0 ? -1.0 : 1.0) *
                                        pow(fabs(own) / want[to], p->p - 1);
    }
}

/* x and dy on the device. */
/* Where number i of what has planes of `size` lies: channels side by side, if there are several. */
static size_t offset_in(const launch_pool *p, const int32_t size[POOL_AXES], size_t i)
{
    size_t plane = i / (size_t)plane_of(size), element = i % (size_t)plane_of(size);
    size_t channels = (size_t)p->channels, first = plane / channels * (size_t)plane_of(size);
    return (first + element) * channels + plane % channels;
}

/* As the kernels are to find it; `from` is then as it is stored. */
static void *laid_out(const launch_pool *p, const int32_t size[POOL_AXES], float *from)
{
    static float moved[MOST];
    for (size_t i = 0; i < whole(size); i++)
        moved[offset_in(p, size, i)] = from[i];
    void *ret = stored_on_device(p->type, moved, whole(size));
    for (size_t i = 0; i < whole(size); i++)
        from[i] = moved[offset_in(p, size, i)];
    return ret;
}

static void *room_for(const launch_pool *p, const int32_t size[POOL_AXES])
{
    return stored_alloc(p->type, whole(size));
}

/* In the order of planes. */
static void fetch(float *ret, const launch_pool *p, const int32_t size[POOL_AXES],
                  const void *device)
{
    static float moved[MOST];
    stored_from_device(moved, p->type, device, whole(size));
    for (size_t i = 0; i < whole(size); i++)
        ret[i] = moved[offset_in(p, size, i)];
}

typedef struct drawn {
    void *x, *dy;
} drawn;

/* Draws x, with many equals, and dy. */
static drawn draw(const launch_pool *p)
{
    random_floats(x, whole(p->in), 1);
    for (size_t i = 0; i < whole(p->in); i++)
        x[i] = roundf(8.0f * x[i]) / 8.0f;
    random_floats(dy, whole(p->out), 2);
    memset(want_dx, 0, sizeof want_dx);
    return (drawn){laid_out(p, p->in, x), laid_out(p, p->out, dy)};
}

static void expect(const char *what, const launch_pool *p, const void *device, const double *wanted,
                   const int32_t size[POOL_AXES])
{
    char name[96];
    snprintf(name, sizeof name, "%s, planes of %d %d %d", what, p->in[0], p->in[1], p->in[2]);
    double grain = p->type == LAUNCH_F32 ? 2e-6 : 4.0 * stored_grain(p->type);
    fetch(got, p, size, device);
    assert_floats_close(name, got, wanted, whole(size), grain, grain);
}

static void play_max(const launch_pool *p, drawn d)
{
    size_t n = whole(p->out), tap_bytes = p->wide_taps ? sizeof(int32_t) : sizeof(uint8_t);
    void *taps = device_alloc(n * tap_bytes);
    void *y = room_for(p, p->out), *dx = room_for(p, p->in);
    int64_t *indices = p->channels == 1 ? device_alloc(n * sizeof *indices) : NULL;
    int64_t indices_got[MOST];
    unsigned char bytes[MOST * sizeof(int32_t)];
    launch_max_pool(kernel_test_stream(), p, y, taps, indices, d.x);
    each_window(p, max_window);
    fetch(got, p, p->out, y);
    from_device(bytes, taps, n * tap_bytes);
    if (indices)
        from_device(indices_got, indices, n * sizeof *indices);
    for (size_t i = 0; i < n; i++) {
        size_t at = offset_in(p, p->out, i);
        int32_t tap = bytes[at];
        if (p->wide_taps)
            memcpy(&tap, bytes + at * sizeof tap, sizeof tap);
        assert_true((double)got[i] == want[i] || (got[i] != got[i] && want[i] != want[i]));
        assert_int_equal(tap, want_taps[i]);
        if (indices)
            assert_int_equal(indices_got[i], want_indices[i]);
    }
    launch_max_pool_bwd(kernel_test_stream(), p, dx, d.dy, taps);
    expect("gradients of the largest", p, dx, want_dx, p->in);
}

static void play_average(const launch_pool *p, drawn d)
{
    void *y = room_for(p, p->out), *dx = room_for(p, p->in);
    launch_average_pool(kernel_test_stream(), p, y, d.x);
    launch_average_pool_bwd(kernel_test_stream(), p, dx, d.dy);
    each_window(p, average_window);
    expect("averages", p, y, want, p->out);
    expect("gradients of averages", p, dx, want_dx, p->in);
}

static void play_norm(const launch_pool *p, drawn d)
{
    void *y = room_for(p, p->out), *dx = room_for(p, p->in);
    launch_lp_pool(kernel_test_stream(), p, y, d.x);
    launch_lp_pool_bwd(kernel_test_stream(), p, dx, d.dy, d.x, y);
    each_window(p, lp_window);
    expect("norms", p, y, want, p->out);
    expect("gradients of norms", p, dx, want_dx, p->in);
}

/* --- tests: each of a scene --- */

enum { FORMS = 3 };

static launch_pool scene_of(void *const *state, int form)
{
    static const launch_type types[FORMS] = {LAUNCH_F32, LAUNCH_BF16, LAUNCH_F16};
    static const int channels[FORMS] = {1, 3, 2};
    launch_pool p = *(const launch_pool *)*state;
    p.type = types[form];
    p.channels = channels[form];
    p.planes = PLANES / p.channels;
    return p;
}

static void the_largest(void **state)
{
    for (int form = 0; form < FORMS; form++) {
        launch_pool p = scene_of(state, form);
        play_max(&p, draw(&p));
    }
}

/* It counts as the largest, so what has gone wrong is seen; the first one is remembered. */
static void no_number_wins(void **state)
{
    for (int form = 0; form < FORMS; form++) {
        launch_pool p = scene_of(state, form);
        drawn d = draw(&p);
        for (size_t k = 0; k < whole(p.in); k += 5)
            x[k] = k % 3 ? NAN : -INFINITY;
        d.x = laid_out(&p, p.in, x);
        play_max(&p, d);
    }
}

static void averages(void **state)
{
    for (int form = 0; form < FORMS; form++) {
        launch_pool p = scene_of(state, form);
        play_average(&p, draw(&p));
        p.counts_padding = true;
        play_average(&p, draw(&p));
    }
}

static void norms(void **state)
{
    launch_pool p = scene_of(state, 0);
    for (p.p = 1; p.p <= 3; p.p++)
        play_norm(&p, draw(&p));
    p = scene_of(state, 1);
    p.p = 2;
    play_norm(&p, draw(&p));
}

/* Windows of zeros have no gradient. */
static void norms_of_zeros(void **state)
{
    launch_pool p = scene_of(state, 0);
    drawn d = draw(&p);
    p.p = 2;
    memset(x, 0, whole(p.in) / 2 * sizeof *x);
    d.x = laid_out(&p, p.in, x);
    play_norm(&p, d);
}

static void nothing_is_launched_for_nothing(void **state)
{
    (void)state;
    launch_pool p = scenes[0];
    launch_max_pool(kernel_test_stream(), &p, NULL, NULL, NULL, NULL);
    launch_max_pool_bwd(kernel_test_stream(), &p, NULL, NULL, NULL);
    launch_average_pool(kernel_test_stream(), &p, NULL, NULL);
    launch_lp_pool_bwd(kernel_test_stream(), &p, NULL, NULL, NULL, NULL);
}

int main(void)
{
    static const struct CMUnitTest kinds[] = {
        KERNEL_TEST(the_largest), KERNEL_TEST(no_number_wins), KERNEL_TEST(averages),
        KERNEL_TEST(norms),       KERNEL_TEST(norms_of_zeros),
    };
    enum { KINDS = sizeof kinds / sizeof *kinds };
    struct CMUnitTest tests[KINDS * SCENES + 1] = {KERNEL_TEST(nothing_is_launched_for_nothing)};
    for (int i = 0; i < KINDS * SCENES; i++) {
        tests[1 + i] = kinds[i % KINDS];
        tests[1 + i].initial_state = (void *)(uintptr_t)&scenes[i / KINDS];
    }
    return kernel_tests_run(tests, KINDS * SCENES + 1);
}
