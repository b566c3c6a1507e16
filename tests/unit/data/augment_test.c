/* Augmentation against a plain reference: every pixel moved and mirrored by itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "data/augment.h"
#include "unit/data/support_config.h"

#include <string.h>

enum { C = 2, H = 6, W = 5, PIXELS = C * H * W };

static const data_field image = {
    .name = "image", .dtype = DT_F32, .rank = 3, .dim = {C, H, W}, .background = -0.5f};

static void fill(float *pixels)
{
    for (int i = 0; i < PIXELS; i++)
        pixels[i] = (float)(i + 1);
}

/* Whether `out` is `in`, mirrored or not, moved by (dx, dy). */
static bool is_moved(const float *in, const float *out, int dx, int dy, bool flip)
{
    for (int c = 0; c < C; c++)
        for (int y = 0; y < H; y++)
            for (int x = 0; x < W; x++) {
                int fy = y - dy, fx = x - dx;
                float want = image.background;
                if (fy >= 0 && fy < H && fx >= 0 && fx < W)
                    want = in[(c * H + fy) * W + (flip ? W - 1 - fx : fx)];
                if (out[(c * H + y) * W + x] != want)
                    return false;
            }
    return true;
}

static void test_moves_and_mirrors(void **state)
{
    (void)state;
    const augment a = {.shift = 2, .flip = true};
    float in[PIXELS], out[PIXELS];
    int seen[2][5][5] = {0};
    fill(in);
    for (uint64_t batch = 0; batch < 60; batch++) {
        rng draws = rng_make(4, RNG_AUGMENT, batch);
        for (int64_t i = 0; i < 32; i++) {
            int matches = 0;
            augment_apply(&a, &draws, i, &image, in, out);
            for (int flip = 0; flip < 2; flip++)
                for (int dy = -2; dy <= 2; dy++)
                    for (int dx = -2; dx <= 2; dx++)
                        if (is_moved(in, out, dx, dy, flip)) {
                            matches++;
                            seen[flip][dy + 2][dx + 2]++;
                        }
            assert_int_equal(matches, 1);
        }
    }
    for (int k = 0; k < 50; k++) /* 1920 draws of 50 outcomes */
        assert_in_range((&seen[0][0][0])[k], 15, 70);
}

static void test_is_a_pure_function(void **state)
{
    (void)state;
    const augment a = {.shift = 2, .flip = true};
    float in[PIXELS], out[2][PIXELS];
    fill(in);
    int differing = 0;
    for (uint64_t batch = 0; batch < 50; batch++) {
        rng draws = rng_make(1, RNG_AUGMENT, batch), other = rng_make(1, RNG_AUGMENT, batch + 1);
        augment_apply(&a, &draws, 3, &image, in, out[0]);
        augment_apply(&a, &draws, 3, &image, in, out[1]);
        assert_memory_equal(out[0], out[1], sizeof out[0]);
        augment_apply(&a, &other, 3, &image, in, out[1]);
        differing += memcmp(out[0], out[1], sizeof out[0]) != 0;
    }
    assert_true(differing > 40);
}

static void test_nothing_asked_nothing_done(void **state)
{
    (void)state;
    const augment none = {0};
    float in[PIXELS], out[PIXELS];
    rng draws = rng_make(1, RNG_AUGMENT, 0);
    fill(in);
    assert_false(augment_is_on(&none));
    augment_apply(&none, &draws, 0, &image, in, out);
    assert_memory_equal(in, out, sizeof in);
}

static void test_a_shift_beyond_the_image_leaves_background(void **state)
{
    (void)state;
    const augment wide = {.shift = 1000000};
    float in[PIXELS], out[PIXELS];
    rng draws = rng_make(1, RNG_AUGMENT, 0);
    fill(in);
    augment_apply(&wide, &draws, 0, &image, in, out);
    for (int i = 0; i < PIXELS; i++)
        assert_true(out[i] == image.background);
}

/* Numbers are cropped as bytes are. */
static void test_windows_of_numbers(void **state)
{
    (void)state;
    const augment a = {.changes = {.pads = true, .padding = 2, .fill = 9}};
    float in[PIXELS], out[PIXELS];
    data_field viewed = image;
    viewed.is_viewed = true;
    fill(in);
    for (int64_t place = 0; place < 100; place++) {
        const picture_draws d = {rng_make(1, RNG_PICTURE, 0), place};
        picture_box b = picture_changes_window(&a.changes, &d, W, H, W, H);
        memcpy(out, in, sizeof out);
        augment_paint(&a, &d, &image, out, NULL);
        for (int i = 0; i < PIXELS; i++) {
            int x = i % W + b.x, y = i / W % H + b.y;
            bool inside = x >= 0 && x < W && y >= 0 && y < H;
            assert_true(out[i] == (inside ? in[i / (W * H) * W * H + y * W + x] : 9.0f));
        }
        memcpy(out, in, sizeof out);
        augment_paint(&a, &d, &viewed, out, NULL); /* the reader did it */
        assert_memory_equal(out, in, sizeof out);
    }
}

static status check(const char *reader, const data_field *f, error *err)
{
    config *c = test_config(reader);
    status st = augment_check(config_section(c, "dataset_reader.augment"), f, 1, err);
    config_destroy(&c);
    return st;
}

static void test_what_the_data_do_not_have_is_refused(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    const data_field bytes = {.dtype = DT_U8, .rank = 3, .dim = {3, H, W}};
    const data_field row = {.dtype = DT_F32, .rank = 1, .dim = {W}};
    assert_int_equal(check("{augment: {flip: true}}", &image, NULL), OK);
    assert_int_equal(check("{augment: {rand_augment: {}}}", &bytes, NULL), OK);
    assert_int_equal(check("{augment: {rand_augment: {}}}", &image, &err), E_CONFIG);
    assert_string_equal(err.text, "dataset_reader.augment.rand_augment: the data have no pictures, fields [1,H,W] or "
                                  "[3,H,W] whose values are bytes");
    error_clear(&err);
    assert_int_equal(check("{augment: {random_crop: {}}}", &row, &err), E_CONFIG);
    assert_string_equal(err.text,
                        "dataset_reader.augment: the data have no images, fields [C,H,W] of float32 or bytes");
    data_field video = {.name = "clip", .dtype = DT_F32, .rank = 4, .dim = {3, 2, H, W}};
    error_clear(&err);
    assert_int_equal(check("{augment: {random_crop: {}}}", &video, &err), E_CONFIG);
    assert_string_equal(err.text, "dataset_reader.augment.random_crop: 'clip' is a video that is not read from files "
                                  "of frames, which it does not change; shift moves it");
    video.is_viewed = true;
    assert_int_equal(check("{augment: {random_crop: {}}}", &video, NULL), OK);
    error_clear(&err);
    assert_int_equal(check("{augment: {random_erasing: {}}}", &video, &err), E_CONFIG);
    assert_string_equal(err.text, "dataset_reader.augment.random_erasing: is of images, fields [C,H,W], and 'clip' is "
                                  "a video; leave it out");
}

static void test_reads_its_section(void **state)
{
    (void)state;
    config *c = test_config("{augment: {shift: 3, flip: true}}");
    augment a = augment_read(config_section(c, "dataset_reader.augment"));
    assert_int_equal(a.shift, 3);
    assert_true(a.flip);
    a = augment_read(NULL);
    assert_false(augment_is_on(&a));
    config_destroy(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_moves_and_mirrors),
        cmocka_unit_test(test_is_a_pure_function),
        cmocka_unit_test(test_nothing_asked_nothing_done),
        cmocka_unit_test(test_a_shift_beyond_the_image_leaves_background),
        cmocka_unit_test(test_windows_of_numbers),
        cmocka_unit_test(test_what_the_data_do_not_have_is_refused),
        cmocka_unit_test(test_reads_its_section),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
