/* Images that are finished on the device are, bit for bit, what a plain loop over data/finish.h's order makes. */
#include "cuda_emu/kernel_test.h"

#include "backend/cuda/kernels/finish.h"
#include "data/finish.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 14 };

typedef struct scene {
    int64_t n;
    finish_form form;
    finish_draw draws[8];
    union {
        uint8_t bytes[MOST];
        float floats[MOST];
    } in;
} scene;

static int between(uint32_t *seed, int low, int high)
{
    *seed = *seed * 1664525u + 1013904223u;
    return low + (int)((*seed >> 8) % (uint32_t)(high - low + 1));
}

static finish_box box_in(uint32_t *seed, int width, int height)
{
    finish_box b = {between(seed, 0, width - 1), between(seed, 0, height - 1), 0, 0};
    b.width = between(seed, 0, width - b.x);
    b.height = between(seed, 0, height - b.y);
    return b;
}

static void draw_all(scene *s, finish_mixing mixing, uint32_t seed)
{
    int width = (int)s->form.width, height = (int)s->form.height;
    float share = 0.3f + (float)between(&seed, 0, 9) / 17.0f;
    finish_box cut = box_in(&seed, width, height);
    for (int64_t i = 0; i < s->n; i++)
        s->draws[i] = (finish_draw){.left = between(&seed, -3, 3),
                                    .top = between(&seed, -3, 3),
                                    .dx = between(&seed, -3, 3),
                                    .dy = between(&seed, -3, 3),
                                    .is_mirrored = between(&seed, 0, 1),
                                    .erased = box_in(&seed, width, height),
                                    .mixing = mixing,
                                    .share = share,
                                    .rest = 1.0f - share,
                                    .cut = cut};
    for (int i = 0; i < MOST; i++)
        if (s->form.kind == FINISH_FLOATS)
            s->in.floats[i] = (float)between(&seed, -99999, 99999) / 777.0f;
        else
            s->in.bytes[i] = (uint8_t)between(&seed, 0, 255);
}

/* --- the same by passes over whole images, as the host makes them */

static float *read_image(const scene *s, int64_t i)
{
    const finish_form *f = &s->form;
    int plane = (int)(f->width * f->height), size = (int)f->planes * plane;
    float *image = malloc((size_t)size * sizeof *image);
    for (int k = 0; k < size; k++)
        image[k] = f->kind == FINISH_FLOATS ? s->in.floats[i * size + k] : (float)s->in.bytes[i * size + k];
    return image;
}

/* Each pixel becomes the one at (x * step + left, y + top), and outside that value. */
static void move(const finish_form *f, float *image, int left, int top, bool mirrors, float outside)
{
    int w = (int)f->width, h = (int)f->height, size = (int)f->planes * w * h;
    float *was = malloc((size_t)size * sizeof *was);
    memcpy(was, image, (size_t)size * sizeof *was);
    for (int k = 0; k < size; k++) {
        int x = k % w, y = k / w % h + top, plane = k / (w * h);
        x = (mirrors ? w - 1 - x : x) + left;
        image[k] = x < 0 || x >= w || y < 0 || y >= h ? outside : was[(plane * h + y) * w + x];
    }
    free(was);
}

static bool is_in(const finish_box *b, int x, int y)
{
    return x >= b->x && x < b->x + b->width && y >= b->y && y < b->y + b->height;
}

static float *finished(const scene *s, int64_t i)
{
    const finish_form *f = &s->form;
    const finish_draw *d = &s->draws[i];
    int w = (int)f->width, h = (int)f->height, size = (int)f->planes * w * h;
    float *image = read_image(s, i);
    move(f, image, d->left, d->top, false, f->fill);
    for (int k = 0; f->kind == FINISH_BYTES && k < size; k++) {
        int channel = k / (w * h) / (int)f->planes_a_channel;
        float product = image[k] * f->scale[channel];
        image[k] = product + f->offset[channel];
    }
    move(f, image, 0, 0, d->is_mirrored, 0);
    move(f, image, -d->dx, -d->dy, false, f->background);
    for (int k = 0; k < size; k++)
        if (is_in(&d->erased, k % w, k / w % h))
            image[k] = f->erased;
    return image;
}

static void mix(const scene *s, int64_t i, float *own, const float *other)
{
    const finish_draw *d = &s->draws[i];
    int w = (int)s->form.width, h = (int)s->form.height, size = (int)s->form.planes * w * h;
    for (int k = 0; k < size; k++) {
        float rest = other[k] * d->rest, share = own[k] * d->share;
        if (d->mixing == FINISH_BLENDED)
            own[k] = rest + share;
        else if (d->mixing == FINISH_CUT && is_in(&d->cut, k % w, k / w % h))
            own[k] = other[k];
    }
}

static void compare(const scene *s)
{
    int64_t size = finish_elements(&s->form), all = s->n * size;
    bool is_bytes = s->form.kind == FINISH_PIXELS;
    static union {
        uint8_t bytes[MOST];
        float floats[MOST];
    } got;
    assert_true(all <= MOST);
    void *y = device_alloc((size_t)all * (is_bytes ? 1 : 4));
    launch_finish(kernel_test_stream(), &s->form, y,
                  on_device(&s->in, (size_t)all * (s->form.kind == FINISH_FLOATS ? 4 : 1)),
                  on_device(s->draws, (size_t)s->n * sizeof *s->draws), s->n);
    from_device(&got, y, (size_t)all * (is_bytes ? 1 : 4));
    for (int64_t i = 0; i < s->n; i++) {
        float *own = finished(s, i), *other = finished(s, i ? i - 1 : s->n - 1);
        mix(s, i, own, other);
        for (int64_t k = 0; k < size && is_bytes; k++)
            assert_int_equal(got.bytes[i * size + k], (int)own[k]);
        if (!is_bytes)
            assert_memory_equal(got.floats + i * size, own, (size_t)size * sizeof *own);
        free(own);
        free(other);
    }
    device_clear();
}

static scene scene_of(finish_kind kind, int planes, int channels, int height, int width)
{
    scene s = {.n = 3,
               .form = {.kind = kind,
                        .planes = (uint32_t)planes,
                        .height = (uint32_t)height,
                        .width = (uint32_t)width,
                        .planes_a_channel = (uint32_t)(planes / channels),
                        .scale = {1.0f / 255.0f, 0.017f, 0.3f, -2.0f},
                        .offset = {-0.7f, -0.2f, 11.0f, 0.1f},
                        .fill = 77,
                        .background = kind == FINISH_PIXELS ? 5 : -0.31f,
                        .erased = kind == FINISH_PIXELS ? 9 : 0.62f}};
    return s;
}

static void images_are_finished_as_on_the_host(void **state)
{
    (void)state;
    static const int shapes[][4] = {{1, 1, 1, 1}, {1, 1, 28, 28}, {3, 3, 7, 5}, {3, 1, 5, 19}, {4, 4, 9, 3},
                                    {8, 4, 4, 6}, {6, 3, 11, 2}};
    for (finish_kind kind = 0; kind < FINISH_KINDS; kind++)
        for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
            for (finish_mixing mixing = FINISH_ALONE; mixing <= FINISH_CUT; mixing++) {
                scene s = scene_of(kind, shapes[k][0], shapes[k][1], shapes[k][2], shapes[k][3]);
                if (kind == FINISH_PIXELS && mixing == FINISH_BLENDED)
                    continue;
                draw_all(&s, mixing, (uint32_t)(k * 31 + (size_t)mixing * 7 + 1));
                compare(&s);
            }
}

static void what_lies_far_outside_is_background(void **state)
{
    (void)state;
    scene s = scene_of(FINISH_BYTES, 3, 3, 6, 7);
    draw_all(&s, FINISH_ALONE, 3);
    s.draws[0].dx = 7;
    s.draws[1].dy = -6;
    s.draws[2].left = -4096;
    compare(&s);
}

static void nothing_is_launched_for_nothing(void **state)
{
    (void)state;
    finish_form none = {.planes = 1, .height = 4}, some = {.planes = 1, .height = 4, .width = 4};
    launch_finish(kernel_test_stream(), &none, NULL, NULL, NULL, 3);
    launch_finish(kernel_test_stream(), &some, NULL, NULL, NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(images_are_finished_as_on_the_host),
        KERNEL_TEST(what_lies_far_outside_is_background),
        KERNEL_TEST(nothing_is_launched_for_nothing),
    };
    return kernel_tests_run(tests, sizeof tests / sizeof *tests);
}
