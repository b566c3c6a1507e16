/*
 * Images that are left to a device: finished by finish.h from what was read and drawn, they are the host's, bit for
 * bit, whatever is asked for, of bytes and numbers, grey, in colours, of four channels and of videos.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "data/augment.h"
#include "data/finish_batch.h"
#include "data/reader.h"
#include "unit/data/support_config.h"

#include <string.h>

enum { EXAMPLES = 25, BATCH = 8, SEED = 5 }; /* the last batch is of one example */

/* --- data whose values are made up */

static uint8_t byte_of(int64_t example, int64_t field, int64_t at)
{
    return (uint8_t)(example * 37 + field * 101 + at * 13 + at / 7);
}

static void read_field(const dataset *d, int64_t example, size_t i, bool as_bytes, void *ret)
{
    const data_field *f = &d->fields[i];
    int64_t n = data_field_elements(f);
    for (int64_t at = 0; at < n; at++) {
        uint8_t byte = byte_of(example, (int64_t)i, at);
        if (f->dtype == DT_I64)
            ((int64_t *)ret)[at] = example % 10;
        else if (f->dtype == DT_F32 && !f->bytes.channels)
            ((float *)ret)[at] = (float)byte / 3.0f - 40.0f;
        else
            ((uint8_t *)ret)[at] = byte;
    }
    if (f->bytes.channels && !as_bytes)
        data_bytes_spread(f, ret);
}

static status read_numbers(const dataset *d, int64_t example, void *const *ret, error *err)
{
    (void)err;
    for (size_t i = 0; i < d->n_fields; i++)
        read_field(d, example, i, false, ret[i]);
    return OK;
}

static status read_bytes(const dataset *d, int64_t example, void *const *ret, error *err)
{
    (void)err;
    for (size_t i = 0; i < d->n_fields; i++)
        read_field(d, example, i, true, ret[i]);
    return OK;
}

static const reader_ops made_up = {.read = read_numbers, .read_bytes = read_bytes};

static const data_field label = {.name = "label", .dtype = DT_I64, .classes = 10};

/* A byte of 100 means 0 in the first of these: its background is a byte. */
#define IMAGE(...) {.name = "image", .dtype = DT_F32, .rank = 3, .dim = {__VA_ARGS__}}
#define MEANS(n, byte)                                                                              \
    {.channels = (n),                                                                               \
     .scale = {0.01f, 0.017f, 1.0f / 3.0f, 2.0f},                                                   \
     .offset = {-0.7f, 11.0f, -0.1f, 0.3f},                                                         \
     .background = (byte)}

static dataset data_of(data_field image, const data_bytes *bytes, dtype type)
{
    image.bytes = bytes ? *bytes : (data_bytes){0};
    image.dtype = type;
    image.background = bytes ? 0.125f : type == DT_U8 ? 0.0f : -2.5f;
    if (bytes && bytes->background >= 0)
        image.background = (float)bytes->background * bytes->scale[0] + bytes->offset[0];
    return (dataset){.ops = &made_up, .examples = EXAMPLES, .n_fields = 2, .fields = {image, label}};
}

/* --- what is asked for: each is read once */

static struct {
    const char *asked;
    config *whole;
} sections[32];

static const config *section_of(const char *asked)
{
    char text[512];
    size_t i = 0;
    while (sections[i].asked && strcmp(sections[i].asked, asked) != 0)
        i++;
    assert_true(i + 1 < COUNT_OF(sections));
    if (!sections[i].asked) {
        snprintf(text, sizeof text, "{augment: {%s}}", asked);
        sections[i].asked = asked;
        sections[i].whole = test_config(text);
    }
    return config_section(sections[i].whole, "dataset_reader.augment");
}

static int forget_sections(void **state)
{
    (void)state;
    for (size_t i = 0; sections[i].asked; i++)
        config_destroy(&sections[i].whole);
    return 0;
}

/* --- the two ways */

static loader *make(const dataset *d, const config *section, bool unfinished)
{
    loader *l = NULL;
    error err = ERROR_INIT;
    const loader_options o = {.dataset = d,
                              .batch_size = BATCH,
                              .seed = SEED,
                              .shuffle = true,
                              .augment = section,
                              .depth = 2,
                              .workers = 1,
                              .bytes = unfinished,
                              .unfinished = unfinished};
    if (loader_create(&o, &l, &err) != OK)
        fail_msg("%s", err.text);
    return l;
}

static void compare_finished(const finish_form *f, const data_batch *b, size_t field, const void *want)
{
    static float finished[BATCH * 512];
    int64_t n = b->slot.n, size = finish_elements(f);
    assert_true(size <= 512);
    finish_batch(f, b->draws[field], b->data[field], n, finished);
    assert_memory_equal(finished, want, (size_t)(n * size) * (f->kind == FINISH_PIXELS ? 1 : sizeof *finished));
}

static void compare_field(const loader *l, size_t field, const data_batch *b, const data_batch *plain)
{
    const data_field *f = &b->fields[field];
    const finish_form *form = loader_form(l, field);
    assert_true(!form == !b->draws[field]);
    assert_null(plain->draws[field]);
    if (form) {
        compare_finished(form, b, field, plain->data[field]);
        return;
    }
    size_t bytes = data_field_bytes(f), wide = data_field_bytes(&plain->fields[field]);
    for (size_t i = 0; i < (size_t)b->slot.n; i++) {
        float example[4096];
        assert_true(wide <= sizeof example);
        memcpy(example, (const char *)b->data[field] + i * bytes, bytes);
        if (f->dtype == DT_U8 && f->bytes.channels)
            data_bytes_spread(f, example);
        assert_memory_equal(example, (const char *)plain->data[field] + i * wide, wide);
    }
}

/* Whether the device finishes fields too. */
static void compare(dataset d, const char *asked, bool is_finished)
{
    const config *section = section_of(asked);
    loader *plain = make(&d, section, false), *left = make(&d, section, true);
    const steps s = {.examples = EXAMPLES, .batch_size = BATCH, .per_step = 1};
    bool any = false;
    for (size_t f = 0; f < d.n_fields; f++)
        any = any || loader_form(left, f);
    assert_true(any == is_finished);
    for (int64_t step = 0; step < 8; step++) {
        step_slot slot = steps_slot(&s, step, 0);
        const data_batch *a = NULL, *b = NULL;
        assert_int_equal(loader_take(plain, &slot, &a, NULL), OK);
        assert_int_equal(loader_take(left, &slot, &b, NULL), OK);
        for (size_t f = 0; f < d.n_fields; f++)
            compare_field(left, f, b, a);
        loader_release(plain, a);
        loader_release(left, b);
    }
    loader_destroy(&plain);
    loader_destroy(&left);
}

static const char *const changes[] = {
    "flip: true",
    "shift: 3",
    "shift: 1000000, flip: true",
    "random_crop: {padding: 2, fill: 30}",
    "random_crop: {padding: 3, fill: 200}, flip: true",
    "random_erasing: {p: 0.8}",
    "random_crop: {padding: 1}, flip: true, random_erasing: {}, cutmix: {}",
    "flip: true, shift: 2, random_erasing: {p: 1}, cutmix: {alpha: 0.3}",
    "cutmix: {}",
};

/* What is no byte's. */
static const char *const mixtures[] = {
    "mixup: {alpha: 0.4}",
    "shift: 1, random_erasing: {}, mixup: {}",
    "random_crop: {padding: 2, fill: 255}, flip: true, random_erasing: {p: 1}, mixup: {alpha: 0.2}, cutmix: {}",
};

static void compare_all(dataset d, bool mixes)
{
    for (size_t i = 0; i < COUNT_OF(changes); i++)
        compare(d, changes[i], true);
    for (size_t i = 0; mixes && i < COUNT_OF(mixtures); i++)
        compare(d, mixtures[i], true);
}

static void test_images(void **state)
{
    (void)state;
    const data_field grey = IMAGE(1, 7, 5), colours = IMAGE(3, 5, 8), four = IMAGE(4, 1, 6), pixel = IMAGE(1, 1, 1);
    const data_bytes alike = MEANS(1, 70), each = MEANS(3, -1), of_four = MEANS(4, -1);
    compare_all(data_of(grey, &alike, DT_F32), true);
    compare_all(data_of(colours, &alike, DT_F32), true);
    compare_all(data_of(colours, &each, DT_F32), true);
    compare_all(data_of(four, &of_four, DT_F32), true);
    compare_all(data_of(pixel, &alike, DT_F32), true);
    compare_all(data_of(colours, NULL, DT_F32), true);
    compare_all(data_of(grey, NULL, DT_F32), true);
    compare_all(data_of(colours, NULL, DT_U8), false);
    compare_all(data_of(four, NULL, DT_U8), false);
}

static void test_videos(void **state)
{
    (void)state;
    const data_field video = {.name = "video", .rank = 4, .dim = {3, 2, 5, 4}};
    const data_field frames = {.name = "video", .rank = 4, .dim = {2, 3, 5, 4}};
    const data_bytes each = MEANS(3, -1);
    for (size_t i = 0; i < 3; i++) {
        compare(data_of(video, &each, DT_F32), changes[i], true);
        compare(data_of(frames, NULL, DT_F32), changes[i], true);
    }
}

/* Colours come behind a crop, and in front of all else. */
static void test_what_the_host_does_first(void **state)
{
    (void)state;
    const data_field colours = IMAGE(3, 9, 8);
    const data_bytes each = MEANS(3, -1);
    dataset d = data_of(colours, &each, DT_F32);
    compare(d, "color_jitter: {brightness: 0.5, hue: 0.2}, flip: true, shift: 2", true);
    compare(d, "random_crop: {padding: 3, fill: 9}, rand_augment: {}, flip: true, random_erasing: {}, mixup: {}", true);
    compare(d, "random_crop: {padding: 3, fill: 9}, trivial_augment_wide: {}", false);
    compare(data_of(colours, NULL, DT_U8), "random_crop: {padding: 2}, color_jitter: {hue: 0.4}, flip: true", true);
}

/* Two images, of which one is of bytes, move and are mixed alike; what is no image stays. */
static void test_several_fields(void **state)
{
    (void)state;
    const data_field colours = IMAGE(3, 6, 5), row = {.name = "row", .dtype = DT_F32, .rank = 1, .dim = {9}};
    const data_bytes each = MEANS(3, -1);
    dataset d = data_of(colours, &each, DT_F32), depth = data_of((data_field)IMAGE(1, 6, 5), NULL, DT_F32);
    d.fields[2] = depth.fields[0];
    d.fields[2].name = "depth";
    d.n_fields = 3;
    compare_all(d, true);
    d.fields[2] = row;
    d.fields[2].bytes = (data_bytes)MEANS(1, -1);
    compare(d, "flip: true, random_crop: {padding: 2}, random_erasing: {}", true);
}

/* A field whose length varies is not moved, and where it would have to be erased the host does all. */
static void test_what_no_device_does(void **state)
{
    (void)state;
    const data_field colours = IMAGE(3, 6, 5);
    dataset d = data_of(colours, NULL, DT_F32);
    d.fields[0].varies = true;
    compare(d, "random_erasing: {p: 1}", false);
}

static void expect_work(const dataset *d, const char *asked, bool left, size_t up, const char *device, const char *host)
{
    loader_work w;
    const loader_options o = {.dataset = d, .batch_size = BATCH, .depth = 2, .bytes = true, .unfinished = left,
                              .augment = section_of(asked)};
    loader_work_of(&o, &w);
    assert_int_equal(w.up, up);
    assert_string_equal(w.device.size ? w.device.data : "", device);
    assert_string_equal(w.host.size ? w.host.data : "", host);
    loader_work_fini(&w);
}

static void test_who_does_what(void **state)
{
    (void)state;
    const data_field colours = IMAGE(3, 9, 8);
    const data_bytes each = MEANS(3, -1);
    const size_t pixels = 3 * 9 * 8, number = sizeof(int64_t);
    dataset d = data_of(colours, &each, DT_F32);
    expect_work(&d, "flip: true", true, pixels + 64 + number, "bytes to numbers, flip", "");
    expect_work(&d, "flip: true", false, pixels + number, "bytes to numbers", "flip");
    expect_work(&d, "shift: 1, color_jitter: {}", false, 4 * pixels + number, "",
                "color_jitter, bytes to numbers, shift");
    expect_work(&d, "random_crop: {}, mixup: {}", true, pixels + 64 + 10 * sizeof(float),
                "random_crop, bytes to numbers, mixup", "");
    expect_work(&d, "random_crop: {}, color_jitter: {}, random_erasing: {}", true, pixels + 64 + number,
                "bytes to numbers, random_erasing", "random_crop, color_jitter");
    d.fields[0].is_viewed = true;
    expect_work(&d, "random_crop: {}, random_resized_crop: null, rand_augment: {}, cutmix: {}", true,
                pixels + 64 + 10 * sizeof(float), "bytes to numbers, cutmix", "random_crop, rand_augment");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_images),
        cmocka_unit_test(test_videos),
        cmocka_unit_test(test_what_the_host_does_first),
        cmocka_unit_test(test_several_fields),
        cmocka_unit_test(test_what_no_device_does),
        cmocka_unit_test(test_who_does_what),
    };
    return cmocka_run_group_tests(tests, NULL, forget_sections);
}
