/* Random changes of pictures: pixels are torchvision's, given its parameters (golden/make_pictures.py); what is drawn
 * is a pure function, and spread as is asked for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/base/fs.h"
#include "data/augment.h"
#include "data/pictures/jitter.h"
#include "data/pictures/view.h"
#include "unit/data/support_config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static buf read_file(const char *name)
{
    buf b = BUF_INIT;
    char *path = xasprintf("%s/pictures/%s", TEST_DATA_DIR, name);
    assert_int_equal(fs_read(path, 1 << 24, &b, NULL), OK);
    free(path);
    return b;
}

static picture read_picture(void)
{
    picture p;
    buf file = read_file("colour.png");
    assert_int_equal(picture_decode((const unsigned char *)file.data, file.size, &(picture_decoding){.shortest = 0}, &p,
                                    NULL),
                     OK);
    buf_fini(&file);
    return p;
}

/* --- arithmetic --- */

static void to_planes(const unsigned char *in, size_t n, unsigned char *out)
{
    for (size_t i = 0; i < 3 * n; i++)
        out[i % 3 * n + i / 3] = in[i];
}

/* Its pixels, as planes; how many there are of each. */
static size_t change(const char *line, const picture *p, unsigned char *ret)
{
    static void (*const of_colours[])(const jitter_picture *, float) = {jitter_brightness, jitter_contrast,
                                                                        jitter_saturation, jitter_hue};
    static const char *const names[] = {"brightness", "contrast", "saturation", "hue"};
    picture_box from;
    int size;
    unsigned char room[3 * 64 * 64];
    if (sscanf(line, "crop %d %d %d %d %d", &from.y, &from.x, &from.height, &from.width, &size) == 5) {
        const picture_box all = {0, 0, size, size};
        assert_int_equal(picture_resample(p, &from, size, size, &all, room, NULL), OK);
        to_planes(room, (size_t)(size * size), ret);
        return (size_t)(size * size);
    }
    size_t n = (size_t)p->width * (size_t)p->height;
    to_planes(p->pixels, n, ret);
    for (size_t i = 0; i < 4; i++)
        if (strncmp(line, names[i], strlen(names[i])) == 0)
            of_colours[i](&(jitter_picture){ret, 3, n}, strtof(line + strlen(names[i]), NULL));
    return n;
}

static void test_pixels_are_those_of_torchvision(void **state)
{
    (void)state;
    picture p = read_picture();
    buf cases = read_file("changes.txt"), expected = read_file("changes.bin");
    const unsigned char *want = (const unsigned char *)expected.data;
    unsigned char got[3 * 64 * 64];
    char *rest = NULL;
    for (char *line = strtok_r(cases.data, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        size_t n = 3 * change(line, &p, got);
        for (size_t i = 0; i < n; i++)
            if (got[i] != want[i])
                fail_msg("%s: byte %zu of %zu is %d; torchvision has %d", line, i, n, got[i], want[i]);
        want += n;
    }
    assert_ptr_equal(want, expected.data + expected.size);
    buf_fini(&cases);
    buf_fini(&expected);
    picture_fini(&p);
}

/* --- draws --- */

static const config *section_of(const char *section, config **ret)
{
    char *reader = xasprintf("{type: 'image_folder', size: 8, augment: %s}", section);
    *ret = test_config(reader);
    free(reader);
    return config_section(config_section(*ret, "dataset_reader"), "augment");
}

static picture_draws draws_of(int64_t place)
{
    return (picture_draws){rng_make(5, RNG_PICTURE, 3), place};
}

static void test_parts_are_as_large_as_asked_for(void **state)
{
    (void)state;
    config *c = NULL;
    picture_changes changes = picture_changes_read(section_of("{random_resized_crop: {}}", &c));
    enum { N = 2000, W = 300, H = 200 };
    double areas = 0.0, wide = 0.0;
    for (int64_t i = 0; i < N; i++) {
        picture_draws d = draws_of(i);
        picture_box b = picture_changes_crop(&changes, &d, W, H), again = picture_changes_crop(&changes, &d, W, H);
        assert_memory_equal(&b, &again, sizeof b);
        assert_true(b.x >= 0 && b.y >= 0 && b.width > 0 && b.height > 0);
        assert_true(b.x + b.width <= W && b.y + b.height <= H);
        double area = (double)b.width * b.height / (W * H), sides = (double)b.width / b.height;
        assert_true(area > 0.079 && area < 1.01 && sides > 0.73 && sides < 1.37);
        areas += area / N;
        wide += (double)(sides > 1.0) / N;
    }
    /* 20000 draws of torchvision's get_params: 0.3896 and 0.5791 */
    assert_true(areas > 0.375 && areas < 0.405);
    assert_true(wide > 0.545 && wide < 0.615);
    config_destroy(&c);
}

/* Nothing of a long picture fits: its middle, in the nearest proportion. */
static void test_the_middle_is_what_remains(void **state)
{
    (void)state;
    config *c = NULL;
    picture_changes changes = picture_changes_read(section_of("{random_resized_crop: {scale: [1, 1]}}", &c));
    picture_draws d = draws_of(0);
    picture_box wide = picture_changes_crop(&changes, &d, 90, 30), high = picture_changes_crop(&changes, &d, 30, 90);
    const picture_box want_wide = {25, 0, 40, 30}, want_high = {0, 25, 30, 40};
    assert_memory_equal(&wide, &want_wide, sizeof wide);
    assert_memory_equal(&high, &want_high, sizeof high);
    config_destroy(&c);
}

static void test_colours_are_changed_by_their_draws(void **state)
{
    (void)state;
    config *c = NULL;
    picture_changes none = picture_changes_read(section_of("{color_jitter: {}}", &c));
    picture p = read_picture();
    enum { N = 64 };
    unsigned char first[3 * N], changed[3 * N];
    picture_draws d = draws_of(0), other = draws_of(1);
    memcpy(changed, p.pixels, sizeof changed);
    picture_changes_jitter(&none, &d, changed, 3, N);
    assert_memory_equal(changed, p.pixels, sizeof changed);
    config_destroy(&c);
    static const char every[] = "{color_jitter: {brightness: 0.4, contrast: 2, saturation: 0.4, hue: 0.1}}";
    picture_changes all = picture_changes_read(section_of(every, &c));
    memcpy(first, p.pixels, sizeof first);
    memcpy(changed, p.pixels, sizeof changed);
    picture_changes_jitter(&all, &d, first, 3, N);
    picture_changes_jitter(&all, &d, changed, 3, N);
    assert_memory_equal(first, changed, sizeof first);
    memcpy(changed, p.pixels, sizeof changed);
    picture_changes_jitter(&all, &other, changed, 3, N);
    assert_memory_not_equal(first, changed, sizeof first);
    picture_fini(&p);
    config_destroy(&c);
}

static void test_a_rectangle_is_erased(void **state)
{
    (void)state;
    enum { SIDE = 40, PLANE = SIDE * SIDE, N = 1000 };
    static float image[2 * PLANE];
    const data_field f = {.dtype = DT_F32, .rank = 3, .dim = {2, SIDE, SIDE}, .background = -3.0f};
    config *c = NULL;
    augment a = augment_read(section_of("{random_erasing: {p: 0.25}}", &c));
    assert_true(augment_erases(&a, &f));
    int n_erased = 0;
    for (int64_t i = 0; i < N; i++) {
        picture_draws d = draws_of(i);
        int32_t erased = 0;
        for (int k = 0; k < 2 * PLANE; k++)
            image[k] = 1.0f;
        augment_erase(&a, &d, &f, image);
        for (int k = 0; k < PLANE; k++) {
            assert_true(image[k] == image[PLANE + k]);
            erased += image[k] == -3.0f;
        }
        assert_true(erased == 0 || (erased > 0.015 * PLANE && erased < 0.36 * PLANE));
        n_erased += erased > 0;
    }
    assert_in_range(n_erased, 200, 300);
    config_destroy(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pixels_are_those_of_torchvision),
        cmocka_unit_test(test_parts_are_as_large_as_asked_for),
        cmocka_unit_test(test_the_middle_is_what_remains),
        cmocka_unit_test(test_colours_are_changed_by_their_draws),
        cmocka_unit_test(test_a_rectangle_is_erased),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
