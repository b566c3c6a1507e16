/* WebP: a lossless one has the pixels of the PNG that it was made of (colour.png, by ffmpeg's encoder), a lossy one is
 * like it; what is cut off or changed is refused, or a picture. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "data/pictures/picture.h"

#include <stdlib.h>
#include <string.h>

static buf read_file(const char *name)
{
    buf b = BUF_INIT;
    char *path = xasprintf("%s/pictures/%s", TEST_DATA_DIR, name);
    assert_int_equal(fs_read(path, 1 << 20, &b, NULL), OK);
    free(path);
    return b;
}

static status decode(const buf *file, picture *ret, error *err)
{
    return picture_decode((const unsigned char *)file->data, file->size, &(picture_decoding){.turn = true}, ret, err);
}

static picture decode_file(const char *name)
{
    picture p = {.pixels = NULL};
    error err = ERROR_INIT;
    buf file = read_file(name);
    if (decode(&file, &p, &err) != OK)
        fail_msg("%s: %s", name, err.text);
    buf_fini(&file);
    return p;
}

static void test_pixels(void **state)
{
    (void)state;
    picture png = decode_file("colour.png"), lossless = decode_file("lossless.webp"), lossy = decode_file("lossy.webp");
    size_t n = (size_t)png.width * (size_t)png.height * (size_t)png.channels, difference = 0;
    assert_int_equal(lossless.width, png.width);
    assert_int_equal(lossless.height, png.height);
    assert_int_equal(lossless.channels, png.channels);
    assert_memory_equal(lossless.pixels, png.pixels, n);
    assert_int_equal(lossy.width, png.width);
    assert_int_equal(lossy.height, png.height);
    for (size_t i = 0; i < n; i++)
        difference += (size_t)abs(lossy.pixels[i] - png.pixels[i]);
    assert_in_range(difference, 1, 12 * n);
    picture_fini(&png);
    picture_fini(&lossless);
    picture_fini(&lossy);
}

static void test_damage(void **state)
{
    (void)state;
    static const char *const names[] = {"lossless.webp", "lossy.webp"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        buf file = read_file(names[i]);
        size_t whole = file.size;
        picture p;
        error err = ERROR_INIT;
        for (file.size = 12; file.size + 8 < whole; file.size += 37) {
            assert_int_equal(decode(&file, &p, &err), E_DATA);
            assert_non_null(strstr(err.text, "is a damaged WebP: "));
            err = (error)ERROR_INIT;
        }
        file.size = whole;
        for (size_t at = 0; at < whole; at += 5) {
            char was = file.data[at];
            file.data[at] = (char)~was;
            status st = decode(&file, &p, NULL);
            assert_true(st == OK || st == E_DATA);
            if (st == OK)
                picture_fini(&p);
            file.data[at] = was;
        }
        buf_fini(&file);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pixels),
        cmocka_unit_test(test_damage),
    };
    if (strcmp(picture_library_version(PICTURE_WEBP), "none") == 0) {
        print_message("skipped: libwebp is not here\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
