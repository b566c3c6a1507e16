/* Parts of JPEGs: whatever is left out in decoding, the pixels are those of the whole picture. The files are made here,
 * of each way to sample colours, in one scan or several. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/rng.h"
#include "data/pictures/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

enum { PARTS = 16, DRAWS = 12 };

typedef struct making {
    const char *name;
    J_COLOR_SPACE space;            /* of the file */
    int h, v;                       /* of the first component */
    int others;                     /* h of the others, whose v is 1 */
    bool is_progressive;
    int skips;                      /* scans of a progressive file that are left out at its end */
    unsigned restarts;              /* units of blocks */
} making;

static const making makings[] = {
    {"4:4:4", JCS_YCbCr, 1, 1, 1, false, 0, 0},       {"4:2:0", JCS_YCbCr, 2, 2, 1, false, 0, 0},
    {"4:2:2", JCS_YCbCr, 2, 1, 1, false, 0, 0},       {"4:4:0", JCS_YCbCr, 1, 2, 1, false, 0, 0},
    {"grey", JCS_GRAYSCALE, 1, 1, 1, false, 0, 0},    {"RGB", JCS_RGB, 1, 1, 1, false, 0, 0},
    {"4:2:0 progressive", JCS_YCbCr, 2, 2, 1, true, 0, 0}, {"4:2:2 progressive", JCS_YCbCr, 2, 1, 1, true, 0, 0},
    {"4:4:4 progressive", JCS_YCbCr, 1, 1, 1, true, 0, 0}, {"grey progressive", JCS_GRAYSCALE, 1, 1, 1, true, 0, 0},
    {"4:2:0 without its last scans", JCS_YCbCr, 2, 2, 1, true, 4, 0},
    {"4:2:0 with restarts", JCS_YCbCr, 2, 2, 1, false, 0, 3},
    {"4:1:1", JCS_YCbCr, 4, 1, 1, false, 0, 0},       {"4:1:0", JCS_YCbCr, 4, 2, 1, false, 0, 0},
    {"all 2 x 1", JCS_YCbCr, 2, 1, 2, false, 0, 0},   {"grey 2 x 2", JCS_GRAYSCALE, 2, 2, 1, false, 0, 0},
    {"CMYK", JCS_CMYK, 1, 1, 1, false, 0, 0},
};

static const struct {
    int32_t width, height;
} sizes[] = {{200, 150}, {97, 131}, {64, 64}, {17, 240}, {33, 9}};

/* Waves and noise: blocks differ from their neighbours. */
static void draw_row(int32_t y, int32_t width, int channels, unsigned char *ret)
{
    rng numbers = rng_make(7, RNG_PICTURE, (uint64_t)y);
    for (int32_t x = 0; x < width; x++)
        for (int c = 0; c < channels; c++) {
            int wave = ((x * (3 + c) + y * (5 - c)) / 4) % 256;
            *ret++ = (unsigned char)((wave + (int)rng_below(&numbers, (uint64_t)(x * channels + c), 90)) % 256);
        }
}

static void set_scans(struct jpeg_compress_struct *info, const making *m)
{
    if (!m->is_progressive)
        return;
    jpeg_simple_progression(info);
    info->num_scans -= m->skips;
}

static unsigned char *make_file(const making *m, int32_t width, int32_t height, unsigned long *ret_bytes)
{
    struct jpeg_compress_struct info;
    struct jpeg_error_mgr errors;
    unsigned char *file = NULL;
    *ret_bytes = 0;
    info.err = jpeg_std_error(&errors);
    jpeg_create_compress(&info);
    jpeg_mem_dest(&info, &file, ret_bytes);
    info.image_width = (JDIMENSION)width;
    info.image_height = (JDIMENSION)height;
    info.input_components = m->space == JCS_CMYK ? 4 : m->space == JCS_GRAYSCALE ? 1 : 3;
    info.in_color_space = m->space == JCS_YCbCr ? JCS_RGB : m->space;
    jpeg_set_defaults(&info);
    jpeg_set_colorspace(&info, m->space);
    jpeg_set_quality(&info, 80, TRUE);
    for (int i = 0; i < info.num_components; i++) {
        info.comp_info[i].h_samp_factor = i ? m->others : m->h;
        info.comp_info[i].v_samp_factor = i ? 1 : m->v;
    }
    info.restart_interval = m->restarts;
    set_scans(&info, m);
    jpeg_start_compress(&info, TRUE);
    unsigned char *row = xcalloc((size_t)width * (size_t)info.input_components, 1);
    for (int32_t y = 0; y < height; y++) {
        draw_row(y, width, info.input_components, row);
        jpeg_write_scanlines(&info, &row, 1);
    }
    jpeg_finish_compress(&info);
    jpeg_destroy_compress(&info);
    free(row);
    return file;
}

/* --- parts --- */

static picture_box draw_part(const rng *numbers, int i, int32_t width, int32_t height)
{
    uint64_t at = 4 * (uint64_t)i;
    int32_t w = 1 + (int32_t)rng_below(numbers, at, (uint64_t)width);
    int32_t h = 1 + (int32_t)rng_below(numbers, at + 1, (uint64_t)height);
    return (picture_box){(int32_t)rng_below(numbers, at + 2, (uint64_t)(width - w + 1)),
                         (int32_t)rng_below(numbers, at + 3, (uint64_t)(height - h + 1)), w, h};
}

static void expect_inside(const picture_box *in, const picture_box *has, const picture *whole)
{
    assert_true(has->x >= 0 && has->y >= 0 && has->x <= in->x && has->y <= in->y);
    assert_true(has->x + has->width >= in->x + in->width && has->x + has->width <= whole->width);
    assert_true(has->y + has->height >= in->y + in->height && has->y + has->height <= whole->height);
}

static void expect_same(const char *what, const picture *whole, const picture *p, const picture_box *has,
                        const picture_box *part)
{
    expect_inside(part, has, whole);
    assert_int_equal(p->channels, whole->channels);
    assert_int_equal(p->width, has->width);
    assert_int_equal(p->height, has->height);
    size_t n = (size_t)p->channels;
    for (int32_t y = part->y; y < part->y + part->height; y++) {
        const unsigned char *want = whole->pixels + ((size_t)y * (size_t)whole->width + (size_t)part->x) * n;
        const unsigned char *got =
            p->pixels + ((size_t)(y - has->y) * (size_t)p->width + (size_t)(part->x - has->x)) * n;
        if (memcmp(got, want, (size_t)part->width * n) != 0)
            fail_msg("%s: row %d of the part %d x %d at (%d, %d) of %d x %d differs", what, y, part->width,
                     part->height, part->x, part->y, whole->width, whole->height);
    }
}

/* *ret_area: how much was decoded of all that would be. */
static void try_file(const making *m, const unsigned char *file, size_t bytes, const picture_decoding *how,
                     int32_t orientation, double *ret_area)
{
    picture_head head;
    picture whole;
    rng numbers = rng_make(11, RNG_PICTURE, (uint64_t)(orientation * 100 + how->shortest));
    assert_int_equal(picture_read_head(file, bytes, &head, NULL), OK);
    assert_int_equal(picture_decode(file, bytes, how, &whole, NULL), OK);
    head.orientation = orientation;
    if (how->turn && orientation > 1)
        assert_int_equal(picture_turn(&whole, orientation, NULL), OK);
    int32_t width, height;
    picture_sides(&head, how, &width, &height);
    assert_int_equal(width, whole.width);
    assert_int_equal(height, whole.height);
    for (int i = 0; i < PARTS; i++) {
        picture p;
        picture_box has, part = draw_part(&numbers, i, width, height);
        assert_int_equal(picture_decode_part(file, bytes, &head, how, &part, &p, &has, NULL), OK);
        expect_same(m->name, &whole, &p, &has, &part);
        *ret_area += (double)has.width * has.height / ((double)width * height * PARTS);
        picture_fini(&p);
    }
    picture_fini(&whole);
}

static void test_parts_have_the_pixels_of_the_whole(void **state)
{
    (void)state;
    static const int32_t shortest[] = {0, 60, 30, 10};
    for (size_t i = 0; i < COUNT_OF(makings); i++)
        for (size_t k = 0; k < COUNT_OF(sizes); k++) {
            unsigned long bytes;
            double area = 0;
            unsigned char *file = make_file(&makings[i], sizes[k].width, sizes[k].height, &bytes);
            for (size_t s = 0; s < COUNT_OF(shortest); s++) {
                picture_decoding how = {.turn = true, .shortest = shortest[s]};
                try_file(&makings[i], file, bytes, &how, 1 + (int32_t)((i + k + s) % 8), &area);
            }
            free(file);
            if (k == 0 && i < 10) /* of a large one, where something is left out */
                assert_true(area / COUNT_OF(shortest) < 0.75);
        }
}

/* --- views --- */

static void expect_same_view(const picture_view *v, const picture_draws *d, const unsigned char *file, size_t bytes)
{
    size_t n = (size_t)v->channels * (size_t)v->width * (size_t)v->height;
    unsigned char *got = xcalloc(n, 1), *want = xcalloc(n, 1);
    picture p;
    assert_int_equal(picture_view_take(v, d, file, bytes, got, NULL), OK);
    assert_int_equal(picture_decode(file, bytes, &v->decoding, &p, NULL), OK);
    assert_int_equal(picture_view_show(v, d, &p, want, NULL), OK);
    assert_memory_equal(got, want, n);
    picture_fini(&p);
    free(got);
    free(want);
}

static void test_views_are_those_of_the_whole(void **state)
{
    (void)state;
    const picture_changes crop = {.crops = true, .crop = {{0.08, 1}, {0.75, 4.0 / 3}}};
    const picture_changes window = {.pads = true, .padding = 30, .fill = 9};
    const picture_view views[] = {
        {.channels = 3, .width = 32, .height = 24, .resize = 40},
        {.channels = 3, .width = 150, .height = 150, .resize = 150},
        {.channels = 1, .width = 20, .height = 30},
        {.channels = 3, .width = 24, .height = 24, .changes = crop},
        {.channels = 1, .width = 24, .height = 24, .decoding = {.shortest = 30}, .changes = crop},
        {.channels = 3, .width = 64, .height = 64, .resize = 80, .changes = window},
    };
    for (size_t i = 0; i < COUNT_OF(makings); i++) {
        unsigned long bytes;
        unsigned char *file = make_file(&makings[i], 200, 150, &bytes);
        for (size_t k = 0; k < COUNT_OF(views); k++)
            for (int64_t place = 0; place < DRAWS; place++) {
                picture_draws d = {rng_make(3, RNG_PICTURE, 5), place};
                expect_same_view(&views[k], place ? &d : NULL, file, bytes);
            }
        free(file);
    }
}

static status take_part(const unsigned char *file, size_t bytes, picture_box part, error *err)
{
    picture_head head;
    picture p;
    picture_box has;
    const picture_decoding how = {.shortest = 0};
    assert_int_equal(picture_read_head(file, bytes, &head, NULL), OK);
    TRY(picture_decode_part(file, bytes, &head, &how, &part, &p, &has, err));
    picture_fini(&p);
    return OK;
}

/* Wherever a file is cut off that is seen, also behind the part; what lies behind a picture does not matter. */
static void test_a_file_without_its_end_is_refused(void **state)
{
    (void)state;
    static const picture_box parts[] = {{10, 10, 100, 20}, {10, 100, 100, 50}, {0, 0, 200, 149}};
    for (size_t i = 0; i < 7; i += 3) { /* 4:4:4, 4:4:0, and one in several scans */
        unsigned long bytes;
        unsigned char *file = make_file(&makings[i], 200, 150, &bytes);
        for (size_t k = 0; k < COUNT_OF(parts); k++) {
            error err = ERROR_INIT;
            assert_int_equal(take_part(file, bytes, parts[k], NULL), OK);
            assert_int_equal(take_part(file, bytes - 1, parts[k], &err), E_DATA);
            assert_non_null(strstr(err.text, "is a damaged JPEG"));
            assert_int_equal(take_part(file, bytes / 2, parts[k], NULL), E_DATA);
        }
        file = xrealloc(file, bytes + 50);
        memset(file + bytes, 7, 50);
        assert_int_equal(take_part(file, bytes + 50, parts[0], NULL), OK);
        free(file);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_have_the_pixels_of_the_whole),
        cmocka_unit_test(test_views_are_those_of_the_whole),
        cmocka_unit_test(test_a_file_without_its_end_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
