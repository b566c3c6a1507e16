/* Pictures: the pixels that torchvision and Pillow make of them (golden/make_pictures.py), and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "data/pictures/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static buf read_file(const char *name)
{
    buf b = BUF_INIT;
    error err = ERROR_INIT;
    char *path = xasprintf("%s/pictures/%s", TEST_DATA_DIR, name);
    if (fs_read(path, 1 << 24, &b, &err) != OK)
        fail_msg("%s", err.text);
    free(path);
    return b;
}

static status decodes(const buf *file, picture *ret, error *err)
{
    return picture_decode((const unsigned char *)file->data, file->size, &(picture_decoding){.turn = true}, ret, err);
}

/* --- golden --- */

static const unsigned char *expect_case(const char *line, const unsigned char *want)
{
    char name[64];
    picture_view v = {.channels = 0};
    int turns;
    assert_int_equal(sscanf(line, "%63s %d %d %d %d %d", name, &v.channels, &v.height, &v.width, &v.resize, &turns), 6);
    v.decoding.turn = turns;
    buf file = read_file(name);
    size_t n = (size_t)v.channels * (size_t)v.height * (size_t)v.width;
    unsigned char *got = xcalloc(n, 1);
    error err = ERROR_INIT;
    if (picture_view_take(&v, NULL, (const unsigned char *)file.data, file.size, got, &err) != OK)
        fail_msg("%s: %s", line, err.text);
    for (size_t i = 0; i < n; i++)
        if (got[i] != want[i])
            fail_msg("%s: byte %zu of %zu is %d; torchvision has %d", line, i, n, got[i], want[i]);
    free(got);
    buf_fini(&file);
    return want + n;
}

static void test_pixels_are_those_of_torchvision(void **state)
{
    (void)state;
    buf cases = read_file("cases.txt"), expected = read_file("expected.bin");
    const unsigned char *want = (const unsigned char *)expected.data;
    char *rest = NULL;
    for (char *line = strtok_r(cases.data, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        want = expect_case(line, want);
    assert_ptr_equal(want, expected.data + expected.size);
    buf_fini(&cases);
    buf_fini(&expected);
}

static void test_a_jpeg_at_half_its_size_looks_the_same(void **state)
{
    (void)state;
    buf file = read_file("colour.jpg");
    enum { SIDE = 24, N = 3 * SIDE * SIDE };
    unsigned char whole[N], half[N];
    int64_t difference = 0;
    picture_view v = {.channels = 3, .width = SIDE, .height = SIDE, .resize = SIDE};
    assert_int_equal(picture_view_take(&v, NULL, (const unsigned char *)file.data, file.size, whole, NULL), OK);
    v.decoding.shortest = SIDE;
    assert_int_equal(picture_view_take(&v, NULL, (const unsigned char *)file.data, file.size, half, NULL), OK);
    for (int i = 0; i < N; i++)
        difference += abs(whole[i] - half[i]);
    assert_true(difference > 0 && difference / N < 6);
    picture p;
    assert_int_equal(picture_decode((const unsigned char *)file.data, file.size, &v.decoding, &p, NULL), OK);
    assert_int_equal(p.height, 31); /* of 61: a quarter would have 16 */
    picture_fini(&p);
    buf_fini(&file);
}

/* --- heads --- */

static void test_heads_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        picture_head head;
    } heads[] = {
        {"colour.jpg", {PICTURE_JPEG, 97, 61, 3, 8, false, false, 1}},
        {"progressive.jpg", {PICTURE_JPEG, 50, 83, 3, 8, false, true, 1}},
        {"grey.jpg", {PICTURE_JPEG, 64, 48, 1, 8, false, false, 1}},
        {"cmyk.jpg", {PICTURE_JPEG, 40, 56, 3, 8, true, false, 1}},
        {"turned6.jpg", {PICTURE_JPEG, 29, 20, 3, 8, false, false, 6}},
        {"sixteen.png", {PICTURE_PNG, 37, 31, 1, 16, false, false, 1}},
        {"palette.png", {PICTURE_PNG, 45, 33, 3, 4, false, false, 1}},
    };
    for (size_t i = 0; i < COUNT_OF(heads); i++) {
        picture_head got, want = heads[i].head;
        buf file = read_file(heads[i].name);
        assert_int_equal(picture_read_head((const unsigned char *)file.data, file.size, &got, NULL), OK);
        assert_int_equal(got.format, want.format);
        assert_int_equal(got.width, want.width);
        assert_int_equal(got.height, want.height);
        assert_int_equal(got.channels, want.channels);
        assert_int_equal(got.bits, want.bits);
        assert_int_equal(got.is_cmyk, want.is_cmyk);
        assert_int_equal(got.is_whole, want.is_whole);
        assert_int_equal(got.orientation, want.orientation);
        buf_fini(&file);
    }
}

static void test_decoding_takes_memory(void **state)
{
    (void)state;
    const picture_decoding plain = {.shortest = 0}, small = {.turn = true, .shortest = 30};
    picture_head head = {PICTURE_JPEG, 100, 61, 3, 8, false, false, 6};
    assert_int_equal(picture_decoding_bytes(&head, &plain), 100 * 61 * 3);
    assert_int_equal(picture_decoding_bytes(&head, &small), 2 * 50 * 31 * 3); /* and turned */
    head.is_whole = true;
    assert_int_equal(picture_decoding_bytes(&head, &plain), 100 * 61 * 3 * (1 + 2));
    head = (picture_head){PICTURE_PNG, 100, 61, 1, 16, false, false, 1};
    assert_int_equal(picture_decoding_bytes(&head, &small), 100 * 61);
}

static void test_names_say_a_format(void **state)
{
    (void)state;
    bool other;
    assert_int_equal(picture_format_of_name("a/b.JPG", &other), PICTURE_JPEG);
    assert_int_equal(picture_format_of_name("b.jpeg", NULL), PICTURE_JPEG);
    assert_int_equal(picture_format_of_name("b.png", &other), PICTURE_PNG);
    assert_false(other);
    assert_int_equal(picture_format_of_name("b.gif", &other), -1);
    assert_true(other);
    assert_int_equal(picture_format_of_name("notes.txt", &other), -1);
    assert_false(other);
    assert_int_equal(picture_format_of_name(".jpg", &other), -1);
}

/* --- what is refused --- */

static void expect_refusal(const buf *file, const char *why)
{
    picture p;
    error err = ERROR_INIT;
    assert_int_equal(decodes(file, &p, &err), E_DATA);
    if (!strstr(err.text, why))
        fail_msg("\"%s\" is not in \"%s\"", why, err.text);
}

static void test_other_files_are_refused_by_what_they_are(void **state)
{
    (void)state;
    static const struct {
        const char *bytes, *why;
        size_t n;
    } files[] = {
        {"", "is empty", 0},
        {"GIF89a....", "is a GIF by its first bytes; JPEG, PNG and WebP are read", 10},
        {"<!DOCTYPE html>", "is a HTML page", 15},
        {"hello", "is no JPEG, PNG or WebP", 5},
        {"\xff\xd8\xff\xe0", "is a damaged JPEG", 4},
        {"\x89PNG\r\n\x1a\n\0\0", "is a damaged PNG: it ends too early", 10},
    };
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        buf b = BUF_INIT;
        buf_add(&b, files[i].bytes, files[i].n);
        expect_refusal(&b, files[i].why);
        buf_fini(&b);
    }
}

/* Wherever a file ends early, nothing is guessed. */
static void test_cut_files_are_refused(void **state)
{
    (void)state;
    static const char *const names[] = {"colour.jpg", "progressive.jpg", "grey.jpg", "colour.png", "palette.png"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        buf file = read_file(names[i]);
        for (size_t n = file.size - 3; n > 0; n -= n < 97 ? n : 97) {
            buf cut = BUF_INIT;
            buf_add(&cut, file.data, n);
            expect_refusal(&cut, "");
            buf_fini(&cut);
        }
        buf_fini(&file);
    }
}

static void test_changed_bytes_crash_nothing(void **state)
{
    (void)state;
    static const char *const names[] = {"colour.jpg", "progressive.jpg", "cmyk.jpg", "turned6.jpg", "palette.png"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        buf file = read_file(names[i]);
        for (size_t at = 0; at < file.size; at += 5) {
            picture p = {.pixels = NULL};
            char was = file.data[at];
            file.data[at] = (char)~was;
            if (decodes(&file, &p, NULL) == OK)
                picture_fini(&p);
            file.data[at] = was;
        }
        buf_fini(&file);
    }
}

/* A head may claim what memory does not hold. */
static void test_too_many_pixels_are_refused(void **state)
{
    (void)state;
    buf file = read_file("colour.jpg");
    for (size_t i = 0; i + 9 < file.size; i++)
        if ((unsigned char)file.data[i] == 0xff && (unsigned char)file.data[i + 1] == 0xc0)
            memset(file.data + i + 5, 0x7f, 4);
    expect_refusal(&file, "has 32639 x 32639 pixels; 134217728 are the most in all");
    buf_fini(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pixels_are_those_of_torchvision),
        cmocka_unit_test(test_a_jpeg_at_half_its_size_looks_the_same),
        cmocka_unit_test(test_heads_are_read),
        cmocka_unit_test(test_decoding_takes_memory),
        cmocka_unit_test(test_names_say_a_format),
        cmocka_unit_test(test_other_files_are_refused_by_what_they_are),
        cmocka_unit_test(test_cut_files_are_refused),
        cmocka_unit_test(test_changed_bytes_crash_nothing),
        cmocka_unit_test(test_too_many_pixels_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
