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

#include <math.h>
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

static picture read_picture(const char *name)
{
    picture p;
    buf file = read_file(name);
    assert_int_equal(picture_decode((const unsigned char *)file.data, file.size, &(picture_decoding){.shortest = 0}, &p,
                                    NULL),
                     OK);
    buf_fini(&file);
    return p;
}

/* --- arithmetic --- */

enum { MOST = 3 * 64 * 64, PLACES = 4096 };

static void to_planes(const picture *p, unsigned char *out)
{
    size_t n = (size_t)p->width * (size_t)p->height, channels = (size_t)p->channels;
    for (size_t i = 0; i < channels * n; i++)
        out[i % channels * n + i / channels] = p->pixels[i];
}

static picture_draws draws_of(int64_t place)
{
    return (picture_draws){rng_make(5, RNG_PICTURE, 3), place};
}

static data_field field_of(const picture *p)
{
    return (data_field){.dtype = DT_U8, .rank = 3, .dim = {p->channels, p->height, p->width}};
}

static size_t resized_crop(const char *line, const picture *p, unsigned char *ret)
{
    picture_box from;
    int size;
    unsigned char room[MOST];
    assert_int_equal(sscanf(line, "crop %d %d %d %d %d", &from.y, &from.x, &from.height, &from.width, &size), 5);
    const picture_box all = {0, 0, size, size};
    assert_int_equal(picture_resample(p, &from, size, size, &all, room, NULL), OK);
    to_planes(&(picture){.width = size, .height = size, .channels = p->channels, .pixels = room}, ret);
    return (size_t)(size * size);
}

static void colours(const char *line, const picture *p, unsigned char *ret)
{
    static void (*const of_colours[])(const jitter_picture *, float) = {jitter_brightness, jitter_contrast,
                                                                        jitter_saturation, jitter_hue};
    static const char *const names[] = {"brightness", "contrast", "saturation", "hue"};
    size_t n = (size_t)p->width * (size_t)p->height;
    for (size_t i = 0; i < 4; i++)
        if (strncmp(line, names[i], strlen(names[i])) == 0)
            of_colours[i](&(jitter_picture){ret, 3, n}, strtof(line + strlen(names[i]), NULL));
}

/* The place whose draws are that window. */
static void window(const char *line, const picture *p, unsigned char *ret)
{
    int top, left, padding, fill;
    int64_t place = 0;
    assert_int_equal(sscanf(line, "window %d %d %d %d", &top, &left, &padding, &fill), 4);
    const augment a = {.changes = {.pads = true, .padding = padding, .fill = (unsigned char)fill}};
    for (;; place++) {
        picture_draws d = draws_of(place);
        picture_box b = picture_changes_window(&a.changes, &d, p->width, p->height, p->width, p->height);
        if (b.x == left - padding && b.y == top - padding)
            break;
        assert_true(place < PLACES);
    }
    const data_field f = field_of(p);
    picture_draws d = draws_of(place);
    augment_paint(&a, &d, &f, ret, NULL);
}

/* What is drawn of some place: either the picture itself or its mirror image. */
static void flip(const picture *p, unsigned char *ret)
{
    const augment a = {.flip = true};
    const data_field f = field_of(p);
    const rng draws = rng_make(5, RNG_AUGMENT, 3);
    unsigned char in[MOST];
    size_t bytes = (size_t)data_field_elements(&f);
    memcpy(in, ret, bytes);
    for (int64_t place = 0; memcmp(in, ret, bytes) == 0; place++) {
        assert_true(place < PLACES);
        augment_apply(&a, &draws, place, &f, in, ret);
    }
}

/* The box that is drawn for a place. */
static void erase(const char *line, const picture *p, unsigned char *ret)
{
    int place;
    picture_box want, got;
    const augment a = {.changes = {.erases = true, .chance = 1.0, .erased = {{0.02, 0.33}, {0.3, 3.3}}}};
    const data_field f = field_of(p);
    assert_int_equal(sscanf(line, "erase %d %d %d %d %d", &place, &want.x, &want.y, &want.width, &want.height), 5);
    picture_draws d = draws_of(place);
    assert_true(picture_changes_erased(&a.changes, &d, p->width, p->height, &got));
    if (memcmp(&got, &want, sizeof got) != 0)
        fail_msg("%s: drawn are %d %d %d %d", line, got.x, got.y, got.width, got.height);
    augment_erase(&a, &d, &f, ret);
}

static void operation(const char *line, const picture *p, unsigned char *ret)
{
    static const char *const names[] = {"Identity", "ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate",
                                        "Brightness", "Color", "Contrast", "Sharpness", "Posterize", "Solarize",
                                        "AutoContrast", "Equalize"};
    char name[20];
    double magnitude;
    int fill, op = 0;
    unsigned char room[MOST];
    assert_int_equal(sscanf(line, "operation %19s %lf %d", name, &magnitude, &fill), 3);
    while (strcmp(name, names[op]) != 0)
        op++;
    picture_operate((picture_operation)op, magnitude, (unsigned char)fill,
                    &(picture_planes){ret, p->channels, p->width, p->height}, room);
}

/* Its pixels, as planes; how many bytes that is. */
static size_t change(const char *line, const picture *p, unsigned char *ret)
{
    if (strncmp(line, "crop", 4) == 0)
        return 3 * resized_crop(line, p, ret);
    to_planes(p, ret);
    if (strncmp(line, "window", 6) == 0)
        window(line, p, ret);
    else if (strncmp(line, "flip", 4) == 0)
        flip(p, ret);
    else if (strncmp(line, "erase", 5) == 0)
        erase(line, p, ret);
    else if (strncmp(line, "operation", 9) == 0)
        operation(line, p, ret);
    else
        colours(line, p, ret);
    return (size_t)p->width * (size_t)p->height * (size_t)p->channels;
}

static void test_pixels_are_those_of_torchvision(void **state)
{
    (void)state;
    picture p = read_picture("colour.png"), grey = read_picture("grey.png");
    buf cases = read_file("changes.txt"), expected = read_file("changes.bin");
    const unsigned char *want = (const unsigned char *)expected.data;
    unsigned char got[MOST];
    char *rest = NULL;
    for (char *line = strtok_r(cases.data, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        bool is_grey = strncmp(line, "grey ", 5) == 0;
        size_t n = change(line + (is_grey ? 5 : 0), is_grey ? &grey : &p, got);
        for (size_t i = 0; i < n; i++)
            if (got[i] != want[i])
                fail_msg("%s: byte %zu of %zu is %d; torchvision has %d", line, i, n, got[i], want[i]);
        want += n;
    }
    assert_ptr_equal(want, expected.data + expected.size);
    buf_fini(&cases);
    buf_fini(&expected);
    picture_fini(&p);
    picture_fini(&grey);
}

/* (x / 255 - mean) / std is computed as one product and one sum: 2e-6 is a few units in the last place. */
static void test_numbers_are_those_of_torchvision(void **state)
{
    (void)state;
    picture p = read_picture("colour.png");
    buf expected = read_file("normalized.bin");
    static union {
        unsigned char bytes[MOST];
        float numbers[MOST];
    } got;
    const double mean[] = {0.485, 0.456, 0.406}, std[] = {0.229, 0.224, 0.225};
    data_field f = field_of(&p);
    f.dtype = DT_F32;
    f.bytes.channels = 3;
    for (int c = 0; c < 3; c++) {
        f.bytes.scale[c] = (float)(1.0 / (255.0 * std[c]));
        f.bytes.offset[c] = (float)(-mean[c] / std[c]);
    }
    to_planes(&p, got.bytes);
    data_bytes_spread(&f, &got);
    assert_int_equal(data_field_bytes(&f), expected.size);
    for (size_t i = 0; i < expected.size / sizeof(float); i++) {
        float want;
        memcpy(&want, expected.data + i * sizeof want, sizeof want);
        assert_true(fabsf(got.numbers[i] - want) <= 2e-6f);
    }
    buf_fini(&expected);
    picture_fini(&p);
}

/* They are whole pixels in the end, or sixteenth bits of them, so one unit in the last place is no matter. */
static void test_magnitudes_are_those_of_torchvision(void **state)
{
    (void)state;
    buf cases = read_file("magnitudes.txt");
    char *rest = NULL;
    int n = 0;
    for (char *line = strtok_r(cases.data, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest), n++) {
        char name[8];
        int bins, width, height, op, bin, has_sign;
        double want;
        assert_int_equal(sscanf(line, "%7s %d %d %d %d %d %lf %d", name, &bins, &width, &height, &op, &bin, &want,
                                &has_sign),
                         8);
        bool is_signed;
        const picture_policy policy = {.operations = 1, .is_trivial = strcmp(name, "wide") == 0, .bins = bins};
        double got = picture_policy_magnitude(&policy, (picture_operation)op, bin, width, height, &is_signed);
        if (!(fabs(got - want) <= 1e-6 * want) || (int)got != (int)want || is_signed != (has_sign == 1))
            fail_msg("%s: %.9g, %s sign", line, got, is_signed ? "a" : "no");
    }
    assert_true(n > 300);
    buf_fini(&cases);
}

/* --- draws --- */

static const config *section_of(const char *section, config **ret)
{
    char *reader = xasprintf("{type: 'image_folder', size: 8, augment: %s}", section);
    *ret = test_config(reader);
    free(reader);
    return config_section(config_section(*ret, "dataset_reader"), "augment");
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

/* Of a picture in a file the window is one of all that was resized, not of what fit would keep of it. */
static void test_windows_are_of_the_whole_picture(void **state)
{
    (void)state;
    enum { W = 32, H = 24, SIDE = 20 }; /* 45 x 33 with the shorter side 24 */
    config *c = NULL;
    picture p = read_picture("colour.png");
    buf file = read_file("colour.png");
    unsigned char whole[3 * W * H], planes[3 * W * H], got[3 * SIDE * SIDE];
    const picture_box from = {0, 0, p.width, p.height}, all = {0, 0, W, H};
    assert_int_equal(picture_resample(&p, &from, W, H, &all, whole, NULL), OK);
    to_planes(&(picture){.width = W, .height = H, .channels = 3, .pixels = whole}, planes);
    const picture_view v = {.channels = 3, .width = SIDE, .height = SIDE, .resize = H,
                            .changes = picture_changes_read(section_of("{random_crop: {padding: 9, fill: 7}}", &c))};
    int outside = 0, inside = 0;
    for (int64_t place = 0; place < 50; place++) {
        picture_draws d = draws_of(place);
        picture_box b = picture_changes_window(&v.changes, &d, SIDE, SIDE, W, H);
        assert_int_equal(picture_view_take(&v, &d, (const unsigned char *)file.data, file.size, got, NULL), OK);
        for (int i = 0; i < 3 * SIDE * SIDE; i++) {
            int x = i % SIDE + b.x, y = i / SIDE % SIDE + b.y;
            bool is_inside = x >= 0 && x < W && y >= 0 && y < H;
            assert_int_equal(got[i], is_inside ? planes[i / (SIDE * SIDE) * W * H + y * W + x] : 7);
            inside += is_inside;
            outside += !is_inside;
        }
    }
    assert_true(inside > 10000 && outside > 10000);
    buf_fini(&file);
    picture_fini(&p);
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

static void take_colours(const picture_changes *c, int64_t place, const picture *p, unsigned char *ret)
{
    unsigned char room[MOST];
    picture_draws d = draws_of(place);
    to_planes(p, ret);
    picture_changes_colours(c, &d, &(picture_planes){ret, p->channels, p->width, p->height}, room);
}

static void test_colours_are_changed_by_their_draws(void **state)
{
    (void)state;
    static const char *const sections[] = {
        "{color_jitter: {brightness: 0.4, contrast: 2, saturation: 0.4, hue: 0.1}}", "{rand_augment: {}}",
        "{trivial_augment_wide: {}}"};
    config *c = NULL;
    picture p = read_picture("colour.png");
    size_t n = 3 * (size_t)p.width * (size_t)p.height;
    unsigned char as_it_is[MOST], first[MOST], again[MOST];
    to_planes(&p, as_it_is);
    picture_changes none = picture_changes_read(section_of("{color_jitter: {}}", &c));
    take_colours(&none, 0, &p, first);
    assert_memory_equal(first, as_it_is, n);
    config_destroy(&c);
    for (size_t i = 0; i < 3; i++) {
        picture_changes all = picture_changes_read(section_of(sections[i], &c));
        int others = 0;
        assert_true(picture_changes_paint(&all));
        for (int64_t place = 0; place < 16; place++) {
            take_colours(&all, place, &p, first);
            take_colours(&all, place, &p, again);
            assert_memory_equal(first, again, n);
            take_colours(&all, place + 1, &p, again);
            others += memcmp(first, again, n) != 0;
        }
        assert_true(others >= 12);
        config_destroy(&c);
    }
    picture_fini(&p);
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
        cmocka_unit_test(test_numbers_are_those_of_torchvision),
        cmocka_unit_test(test_magnitudes_are_those_of_torchvision),
        cmocka_unit_test(test_parts_are_as_large_as_asked_for),
        cmocka_unit_test(test_windows_are_of_the_whole_picture),
        cmocka_unit_test(test_the_middle_is_what_remains),
        cmocka_unit_test(test_colours_are_changed_by_their_draws),
        cmocka_unit_test(test_a_rectangle_is_erased),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
