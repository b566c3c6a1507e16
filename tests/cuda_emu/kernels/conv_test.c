/* Convolutions and their gradients, by tiles and directly, against loops in double. */
#include "cuda_emu/kernel_test.h"

#include "backend/cuda/kernels/conv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 15 };

/* Arrays of the host are [batch, channel, position] and [map, channel of the group, position]. */
static float x[MOST], w[MOST], dy[MOST], got[MOST], again[MOST];
static double y[MOST], dx[MOST], dw[MOST], db[MOST];

typedef struct shape {
    int64_t batch, groups, channels, maps;
    int32_t in[3], kernel[3], stride[3], dilation[3], pad[3], pad_behind[3];
} shape;

static const shape shapes[] = {
    {2, 1, 3, 5, {1, 6, 7}, {1, 3, 2}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 0}},
    {1, 1, 8, 66, {1, 1, 9}, {1, 1, 3}, {1, 1, 2}, {1, 1, 1}, {0, 0, 2}, {0, 0, 1}},
    {2, 1, 8, 8, {1, 9, 8}, {1, 3, 3}, {1, 2, 2}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
    {1, 1, 16, 8, {1, 7, 7}, {1, 2, 3}, {1, 1, 1}, {1, 2, 2}, {0, 2, 0}, {0, 1, 3}},
    {1, 2, 8, 16, {3, 4, 5}, {2, 3, 2}, {2, 1, 1}, {1, 1, 2}, {1, 0, 1}, {0, 1, 2}},
    {2, 3, 6, 9, {1, 5, 6}, {1, 2, 2}, {1, 3, 1}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}},
    {2, 6, 6, 6, {1, 6, 5}, {1, 3, 3}, {1, 1, 2}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
    {1, 40, 40, 80, {1, 4, 4}, {1, 2, 3}, {1, 1, 1}, {1, 1, 2}, {0, 1, 2}, {0, 0, 2}},
    {2, 1, 70, 16, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}},
    {1, 1, 4, 4, {1, 5, 5}, {1, 1, 1}, {1, 3, 3}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

typedef struct way {
    tile_kind kind;
    bool images_last, weights_last, direct; /* channels last */
    int64_t pieces;
    int64_t shift; /* elements in front of every array */
} way;

static int64_t volume(const int32_t size[3])
{
    return (int64_t)size[0] * size[1] * size[2];
}

static conv_task task_of(const shape *s, const way *m)
{
    conv_task t = {.kind = m->kind,
                   .batch = s->batch,
                   .groups = s->groups,
                   .channels = s->channels,
                   .maps = s->maps,
                   .direct = m->direct,
                   .end = {.alpha = 1.0f},
                   .cut = {.pieces = m->pieces ? m->pieces : 1}};
    for (int a = 0; a < 3; a++) {
        int32_t reach = (s->kernel[a] - 1) * s->dilation[a] + 1;
        t.in[a] = s->in[a];
        t.out[a] = (s->in[a] + s->pad[a] + s->pad_behind[a] - reach) / s->stride[a] + 1;
        t.kernel[a] = s->kernel[a];
        t.stride[a] = s->stride[a];
        t.dilation[a] = s->dilation[a];
        t.pad[a] = s->pad[a];
    }
    return t;
}

static int64_t size_of_x(const conv_task *t)
{
    return t->batch * t->channels * volume(t->in);
}
static int64_t size_of_y(const conv_task *t)
{
    return t->batch * t->maps * volume(t->out);
}
static int64_t size_of_w(const conv_task *t)
{
    return t->maps * (t->channels / t->groups) * volume(t->kernel);
}

/* The position of the input that tap k of output o reads, or -1. */
static int64_t position_read(const conv_task *t, int64_t o, int64_t k)
{
    int64_t at = 0, step = 1;
    for (int a = 2; a >= 0; a--) {
        int64_t i = o % t->out[a] * t->stride[a] - t->pad[a] + k % t->kernel[a] * t->dilation[a];
        if (i < 0 || i >= t->in[a])
            return -1;
        at += i * step;
        step *= t->in[a];
        o /= t->out[a];
        k /= t->kernel[a];
    }
    return at;
}

static void convolve_on_host(const conv_task *t)
{
    int64_t positions = volume(t->in), taps = volume(t->kernel), outs = volume(t->out);
    int64_t of_group = t->channels / t->groups, maps = t->maps / t->groups;
    memset(y, 0, sizeof y);
    memset(dx, 0, sizeof dx);
    memset(dw, 0, sizeof dw);
    memset(db, 0, sizeof db);
    for (int64_t i = 0; i < t->batch * t->maps * outs; i++) {
        int64_t n = i / outs / t->maps, m = i / outs % t->maps, o = i % outs;
        db[m] += (double)dy[i];
        for (int64_t j = 0; j < of_group * taps; j++) {
            int64_t at = position_read(t, o, j % taps), c = m / maps * of_group + j / taps;
            if (at < 0)
                continue;
            int64_t from = (n * t->channels + c) * positions + at, weight = m * of_group * taps + j;
            y[i] += (double)x[from] * (double)w[weight];
            dx[from] += (double)dy[i] * (double)w[weight];
            dw[weight] += (double)dy[i] * (double)x[from];
        }
    }
}

static conv_layout layout_of(int64_t channels, int64_t positions, bool channels_last)
{
    return (conv_layout){.outer = channels * positions,
                         .channel = channels_last ? 1 : positions,
                         .position = channels_last ? channels : 1};
}

/* Index into memory of element i of [outer, channels, positions]. */
static int64_t offset_in(const conv_layout *l, int64_t i, int64_t channels, int64_t positions)
{
    return i / (channels * positions) * l->outer + i / positions % channels * l->channel +
           i % positions * l->position;
}

static launch_type lies_as(tile_kind kind)
{
    return kind == TILE_BF16 ? LAUNCH_BF16 : kind == TILE_F16 ? LAUNCH_F16 : LAUNCH_F32;
}

static void tf32_all(float *values, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        uint32_t u;
        memcpy(&u, &values[i], sizeof u);
        u = (u + 0x1000u) & ~0x1fffu;
        memcpy(&values[i], &u, sizeof u);
    }
}

/* A factor on the device; `values` become what is multiplied. */
static conv_operand factor(const way *m, float *values, int64_t n, int64_t channels,
                           int64_t positions, bool channels_last)
{
    static float lying[MOST];
    static uint32_t bytes[MOST];
    launch_type type = lies_as(m->kind);
    conv_operand o = {.type = type == LAUNCH_BF16  ? DT_BF16
                              : type == LAUNCH_F16 ? DT_F16
                                                   : DT_F32,
                      .at = layout_of(channels, positions, channels_last)};
    if (m->kind == TILE_TF32)
        tf32_all(values, n);
    for (int64_t i = 0; i < n; i++)
        lying[m->shift + offset_in(&o.at, i, channels, positions)] = values[i];
    size_t all = (size_t)(m->shift + n);
    to_stored(bytes, type, lying, all);
    o.data =
        (char *)on_device(bytes, stored_bytes(type, all)) + stored_bytes(type, (size_t)m->shift);
    to_stored(bytes, type, values, (size_t)n);
    from_stored(values, type, bytes, (size_t)n);
    return o;
}

static conv_operand result(int64_t n, int64_t channels, int64_t positions, bool channels_last)
{
    return (conv_operand){.data = device_alloc((size_t)n * sizeof(float)),
                          .type = DT_F32,
                          .at = layout_of(channels, positions, channels_last)};
}

/* Back in the order of the host's arrays. */
static void take(float *ret, const conv_operand *o, int64_t n, int64_t channels, int64_t positions)
{
    static float lying[MOST];
    from_device(lying, o->data, (size_t)n * sizeof(float));
    for (int64_t i = 0; i < n; i++)
        ret[i] = lying[offset_in(&o->at, i, channels, positions)];
}

static void set_factors(const conv_task *t, const way *m, conv_task *ret)
{
    random_floats(x, (size_t)size_of_x(t), 1);
    random_floats(w, (size_t)size_of_w(t), 2);
    random_floats(dy, (size_t)size_of_y(t), 3);
    ret->x = factor(m, x, size_of_x(t), t->channels, volume(t->in), m->images_last);
    ret->w =
        factor(m, w, size_of_w(t), t->channels / t->groups, volume(t->kernel), m->weights_last);
    ret->y = factor(m, dy, size_of_y(t), t->maps, volume(t->out), m->images_last);
}

static float *parts_for(const conv_task *t, int64_t of_made)
{
    return t->cut.pieces > 1 ? device_alloc((size_t)(t->cut.pieces * of_made) * sizeof(float))
                             : NULL;
}

static const char *said(int number, const way *m, const char *what)
{
    static char text[160];
    snprintf(text, sizeof text, "%s, shape %d, kind %d%s%s%s, pieces %d, shift %d", what, number,
             (int)m->kind, m->images_last ? ", NHWC" : "", m->weights_last ? ", weights last" : "",
             m->direct ? ", direct" : "", (int)m->pieces, (int)m->shift);
    return text;
}

static void check(int number, const way *m)
{
    const conv_task t = task_of(&shapes[number], m);
    int64_t of_group = t.channels / t.groups, taps = volume(t.kernel);
    conv_task all = t;
    set_factors(&t, m, &all);
    convolve_on_host(&t);

    conv_task made = all;
    made.y = result(size_of_y(&t), t.maps, volume(t.out), m->images_last);
    made.cut.parts = parts_for(&t, size_of_y(&t));
    launch_conv(kernel_test_stream(), &made);
    take(got, &made.y, size_of_y(&t), t.maps, volume(t.out));
    assert_floats_close(said(number, m, "y"), got, y, (size_t)size_of_y(&t), 2e-5, 1e-6);

    made = all;
    made.x = result(size_of_x(&t), t.channels, volume(t.in), m->images_last);
    made.cut.parts = parts_for(&t, size_of_x(&t));
    launch_conv_bwd_data(kernel_test_stream(), &made);
    take(got, &made.x, size_of_x(&t), t.channels, volume(t.in));
    assert_floats_close(said(number, m, "dx"), got, dx, (size_t)size_of_x(&t), 2e-5, 1e-6);

    made = all;
    made.w = result(size_of_w(&t), of_group, taps, m->weights_last);
    made.cut.parts = parts_for(&t, size_of_w(&t));
    launch_conv_bwd_weights(kernel_test_stream(), &made);
    take(got, &made.w, size_of_w(&t), of_group, taps);
    assert_floats_close(said(number, m, "dw"), got, dw, (size_t)size_of_w(&t), 2e-5, 1e-6);

    conv_operand bias = result(t.maps, t.maps, 1, true);
    launch_conv_bwd_bias(kernel_test_stream(), &made, bias.data);
    take(got, &bias, t.maps, t.maps, 1);
    assert_floats_close(said(number, m, "db"), got, db, (size_t)t.maps, 2e-5, 1e-6);
}

static void every_shape(const way *m)
{
    for (int i = 0; i < SHAPES; i++)
        check(i, m);
}

static void planes_of_channels(void **state)
{
    (void)state;
    every_shape(&(way){.kind = TILE_F32});
    every_shape(&(way){.kind = TILE_BF16});
}

static void channels_last(void **state)
{
    (void)state;
    every_shape(&(way){.kind = TILE_F32, .images_last = true, .weights_last = true});
    every_shape(&(way){.kind = TILE_F16, .images_last = true, .weights_last = true});
}

static void channels_last_with_plain_weights(void **state)
{
    (void)state;
    every_shape(&(way){.kind = TILE_TF32, .images_last = true});
    every_shape(&(way){.kind = TILE_BF16, .images_last = true});
}

static void planes_with_weights_last(void **state)
{
    (void)state;
    every_shape(&(way){.kind = TILE_F16, .weights_last = true});
}

static void directly(void **state)
{
    (void)state;
    every_shape(&(way){.kind = TILE_F32, .direct = true});
    every_shape(&(way){.kind = TILE_BF16, .direct = true, .images_last = true});
    every_shape(&(way){.kind = TILE_F16, .direct = true, .pieces = 3});
}

static void in_pieces(void **state)
{
    (void)state;
    every_shape(&(way){.kind = TILE_F32, .pieces = 2});
    every_shape(&(way){.kind = TILE_BF16, .images_last = true, .weights_last = true, .pieces = 3});
}

static void at_any_alignment(void **state)
{
    (void)state;
    every_shape(&(way){.kind = TILE_F32, .images_last = true, .weights_last = true, .shift = 1});
    every_shape(&(way){.kind = TILE_BF16, .images_last = true, .weights_last = true, .shift = 3});
}

/* Bias by channel, of groups too: what a Conv and a ConvTranspose end with. */
static void a_bias_ends_it(void **state)
{
    (void)state;
    for (int i = 0; i < 16; i++) {
        way m = {.kind = TILE_F32, .images_last = i & 1, .direct = i & 2, .pieces = i & 4 ? 2 : 1};
        const conv_task t = task_of(&shapes[4], &m);
        conv_task made = t;
        static float bias[64];
        bool back = i & 8;
        set_factors(&t, &m, &made);
        convolve_on_host(&t);
        int64_t n = back ? size_of_x(&t) : size_of_y(&t), channels = back ? t.channels : t.maps;
        int64_t positions = volume(back ? t.in : t.out);
        double *want = back ? dx : y;
        random_floats(bias, 64, 5);
        made.end = (tile_end){.alpha = 1.0f,
                              .beta = 1.0f,
                              .c = on_device(bias, (size_t)channels * sizeof(float)),
                              .c_type = DT_F32,
                              .c_column = 1};
        made.cut.parts = parts_for(&t, n);
        *(back ? &made.x : &made.y) = result(n, channels, positions, m.images_last);
        (back ? launch_conv_bwd_data : launch_conv)(kernel_test_stream(), &made);
        take(got, back ? &made.x : &made.y, n, channels, positions);
        for (int64_t j = 0; j < n; j++)
            want[j] += (double)bias[j / positions % channels];
        assert_floats_close(said(4, &m, "end"), got, want, (size_t)n, 2e-5, 1e-6);
    }
}

static void a_second_run_has_the_same_bits(void **state)
{
    (void)state;
    way m = {.kind = TILE_F32, .images_last = true, .pieces = 3};
    const conv_task t = task_of(&shapes[2], &m);
    conv_task made = t;
    set_factors(&t, &m, &made);
    made.w = result(size_of_w(&t), 8, 9, false);
    made.cut.parts = parts_for(&t, size_of_w(&t));
    launch_conv_bwd_weights(kernel_test_stream(), &made);
    take(got, &made.w, size_of_w(&t), 8, 9);
    launch_conv_bwd_weights(kernel_test_stream(), &made);
    take(again, &made.w, size_of_w(&t), 8, 9);
    assert_memory_equal(got, again, (size_t)size_of_w(&t) * sizeof(float));
}

/* Without images there is no image to make, and weights and bias get zeros. */
static void no_images(void **state)
{
    (void)state;
    for (int direct = 0; direct < 2; direct++) {
        way m = {.kind = TILE_F32, .direct = direct};
        conv_task t = task_of(&shapes[0], &m);
        t.batch = 0;
        t.x.at = layout_of(t.channels, volume(t.in), false);
        t.y.at = layout_of(t.maps, volume(t.out), false);
        t.w = result(size_of_w(&t), t.channels, volume(t.kernel), false);
        launch_conv(kernel_test_stream(), &t);
        launch_conv_bwd_data(kernel_test_stream(), &t);
        launch_conv_bwd_weights(kernel_test_stream(), &t);
        take(got, &t.w, size_of_w(&t), t.channels, volume(t.kernel));
        memset(dw, 0, sizeof dw);
        assert_floats_close("no images", got, dw, (size_t)size_of_w(&t), 0, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(planes_of_channels),
        KERNEL_TEST(channels_last),
        KERNEL_TEST(channels_last_with_plain_weights),
        KERNEL_TEST(planes_with_weights_last),
        KERNEL_TEST(directly),
        KERNEL_TEST(in_pieces),
        KERNEL_TEST(at_any_alignment),
        KERNEL_TEST(a_bias_ends_it),
        KERNEL_TEST(a_second_run_has_the_same_bits),
        KERNEL_TEST(no_images),
    };
    return kernel_tests_run(tests, sizeof tests / sizeof *tests);
}
