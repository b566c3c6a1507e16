/* Labelled images: values, names of label files, and every error. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "data/reader.h"
#include "support/folder.h"
#include "unit/data/support_config.h"
#include "unit/data/support_idx.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const idx_reader_options plain = {.std = 1.0};

static void expect_error(const idx_reader_options *options, const char *path, const char *part)
{
    error err = ERROR_INIT;
    dataset *d = NULL;
    assert_int_equal(idx_reader_open(options, path, &d, &err), E_DATA);
    assert_null(d);
    if (!strstr(err.text, part))
        fail_msg("message \"%s\" lacks \"%s\"", err.text, part);
}

static dataset *opens(const idx_reader_options *options, const char *path)
{
    error err = ERROR_INIT;
    dataset *d = NULL;
    if (idx_reader_open(options, path, &d, &err) != OK)
        fail_msg("%s", err.text);
    return d;
}

static void test_gives_normalised_images(void **state)
{
    char *images = test_pair(*state, 25, 4, 3);
    dataset *d = opens(&(idx_reader_options){.mean = 0.25, .std = 0.5}, images);
    size_t n;
    const data_field *fields = dataset_fields(d, &n);
    assert_int_equal(n, 2);
    assert_string_equal(fields[0].name, "image");
    assert_int_equal(fields[0].rank, 3);
    assert_int_equal(fields[0].dim[0], 1);
    assert_int_equal(fields[0].dim[1], 4);
    assert_int_equal(fields[0].dim[2], 3);
    assert_int_equal(data_field_bytes(&fields[0]), 48);
    assert_true(fields[0].background == -0.5f);
    assert_string_equal(fields[1].name, "label");
    assert_int_equal(fields[1].rank, 0);
    assert_int_equal(fields[1].classes, 10);
    assert_int_equal(dataset_examples(d), 25);

    for (int64_t i = 0; i < 25; i++) {
        float image[12];
        int64_t label;
        assert_int_equal(dataset_read(d, i, (void *[]){image, &label}, NULL), OK);
        assert_int_equal(label, i % 10);
        for (int k = 0; k < 12; k++) {
            double pixel = (double)((i * 7 + k) % 256);
            assert_true(fabs((double)image[k] - (pixel / 255.0 - 0.25) / 0.5) < 1e-6);
        }
    }
    dataset_close(&d);
    dataset_close(&d);
    free(images);
}

static void test_classes(void **state)
{
    char *images = test_pair(*state, 25, 2, 2);
    dataset *d = opens(&(idx_reader_options){.std = 1.0, .classes = 12}, images);
    size_t n;
    assert_int_equal(dataset_examples(d), 25);
    assert_int_equal(dataset_fields(d, &n)[1].classes, 12);
    dataset_close(&d);
    expect_error(&(idx_reader_options){.std = 1.0, .classes = 7}, images,
                 "example 7 has label 7; with 7 classes, 0 to 6 are valid");
    free(images);
}

static char *write_idx(const char *dir, const char *name, int type, int rank, const uint32_t *dims,
                       const char *bytes, size_t n)
{
    buf b = BUF_INIT;
    idx_header(&b, type, rank, dims);
    buf_add(&b, bytes, n);
    char *path = test_file(dir, name, &b);
    buf_fini(&b);
    return path;
}

static void test_finds_labels_by_name(void **state)
{
    static const char *const names[][2] = {
        {"train-images-idx3-ubyte", "train-labels-idx1-ubyte.gz"},
        {"b-images-idx3-ubyte.gz", "b-labels-idx1-ubyte"},
        {"images.idx", "labels.idx"},
    };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        char *images = write_idx(*state, names[i][0], 8, 2, (uint32_t[]){1, 2}, "ab", 2);
        expect_error(&plain, images, "its labels are missing: neither");
        char *labels = write_idx(*state, names[i][1], 8, 1, (uint32_t[]){1}, "\3", 1);
        dataset *d = opens(&plain, images);
        size_t n;
        assert_int_equal(dataset_fields(d, &n)[0].rank, 1); /* N x D gives [D] */
        assert_int_equal(dataset_fields(d, &n)[1].classes, 4);
        dataset_close(&d);
        free(images);
        free(labels);
    }
}

static void test_labels_given(void **state)
{
    char *images = write_idx(*state, "pixels", 8, 2, (uint32_t[]){1, 2}, "ab", 2);
    expect_error(&plain, images, "no \"images\" in it); set dataset_reader.labels");
    char *labels = write_idx(*state, "targets", 0x0c, 1, (uint32_t[]){1}, "\0\0\1\0", 4);
    dataset *d = opens(&(idx_reader_options){.std = 1.0, .labels = labels}, images);
    int64_t label;
    float pixels[2];
    assert_int_equal(dataset_read(d, 0, (void *[]){pixels, &label}, NULL), OK);
    assert_int_equal(label, 256);
    dataset_close(&d);
    expect_error(&(idx_reader_options){.std = 1.0, .labels = "/nonexistent"}, images,
                 "/nonexistent");
    free(images);
    free(labels);
}

static void test_files_that_do_not_fit(void **state)
{
    char *dir = *state;
    char *row = write_idx(dir, "row-images", 8, 1, (uint32_t[]){2}, "ab", 2);
    char *labels = write_idx(dir, "row-labels", 8, 1, (uint32_t[]){2}, "\0\1", 2);
    expect_error(&plain, row, "row-images': holds 2 u8; images are N x D, N x H x W");
    char *grid = write_idx(dir, "grid-images", 8, 2, (uint32_t[]){2, 1}, "ab", 2);
    expect_error(&(idx_reader_options){.std = 1.0, .labels = grid}, grid,
                 "holds 2 x 1 u8; labels are one row of integers");
    char *three = write_idx(dir, "three", 8, 1, (uint32_t[]){3}, "\0\1\2", 3);
    expect_error(&(idx_reader_options){.std = 1.0, .labels = three}, grid,
                 "grid-images' holds 2 images, but ");
    char *none = write_idx(dir, "none-images", 8, 2, (uint32_t[]){0, 4}, "", 0);
    char *no_labels = write_idx(dir, "none-labels", 8, 1, (uint32_t[]){0}, "", 0);
    expect_error(&plain, none, "holds 0 x 4 u8: no examples");
    char *negative = write_idx(dir, "negative", 9, 1, (uint32_t[]){2}, "\1\377", 2);
    expect_error(&(idx_reader_options){.std = 1.0, .labels = negative}, grid,
                 "example 1 has label -1");
    expect_error(&plain, "/nonexistent-images", "/nonexistent-images");
    free(row);
    free(labels);
    free(grid);
    free(three);
    free(none);
    free(no_labels);
    free(negative);
}

static void test_other_types_are_not_scaled(void **state)
{
    char *images = write_idx(*state, "f-images", 0x0d, 4, (uint32_t[]){2, 1, 1, 2},
                             "\77\200\0\0\300\0\0\0\177\200\0\0\0\0\0\0", 16); /* 1 -2 inf 0 */
    char *labels = write_idx(*state, "f-labels", 8, 1, (uint32_t[]){2}, "\0\1", 2);
    dataset *d = opens(&(idx_reader_options){.mean = 1.0, .std = 2.0}, images);
    float pixels[2];
    int64_t label;
    assert_int_equal(dataset_read(d, 0, (void *[]){pixels, &label}, NULL), OK);
    assert_true(pixels[0] == 0.0f && pixels[1] == -1.5f);
    error err = ERROR_INIT;
    assert_int_equal(dataset_read(d, 1, (void *[]){pixels, &label}, &err), E_DATA);
    assert_non_null(strstr(err.text, "example 1, value 0 is not a finite number"));
    dataset_close(&d);
    free(images);
    free(labels);
}

static void test_opens_by_configuration(void **state)
{
    char *images = test_pair(*state, 25, 2, 2);
    static const struct {
        const char *reader;
        int64_t examples, classes;
        float black;
    } cases[] = {
        {"{}", 25, 10, 0.0f},
        {"{mean: 0.5, std: 0.25, classes: 11, limit: 5}", 5, 11, -2.0f},
        {"'idx'", 25, 10, 0.0f},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        config *c = test_config(cases[i].reader);
        dataset *d = NULL;
        size_t n;
        assert_int_equal(dataset_open(config_section(c, "dataset_reader"), images, &d, NULL), OK);
        assert_int_equal(dataset_examples(d), cases[i].examples);
        assert_int_equal(dataset_fields(d, &n)[1].classes, cases[i].classes);
        assert_true(dataset_fields(d, &n)[0].background == cases[i].black);
        dataset_close(&d);
        config_destroy(&c);
    }
    free(images);
}

/* What is asked for goes before what the configuration says. */
static void test_a_part_of_the_examples(void **state)
{
    char *images = test_pair(*state, 25, 2, 2);
    config *c = test_config("{limit: 5, classes: 11}");
    static const struct {
        dataset_part part;
        int64_t examples, first;
    } cases[] = {
        {{.to = 1.0}, 25, 0},
        {{.from = 0.4, .to = 1.0}, 15, 10},
        {{.to = 1.0, .limit = 9}, 9, 0},
        {{.from = 0.4, .to = 0.8, .limit = 20}, 10, 10},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        dataset *d = NULL;
        float pixels[4];
        int64_t label;
        dataset_options how = {.part = &cases[i].part};
        const config *reader = config_section(c, "dataset_reader");
        assert_int_equal(dataset_open_as(reader, images, &how, &d, NULL), OK);
        assert_int_equal(dataset_examples(d), cases[i].examples);
        assert_int_equal(dataset_read(d, 0, (void *[]){pixels, &label}, NULL), OK);
        assert_int_equal(label, cases[i].first % 10);
        dataset_close(&d);
    }
    config_destroy(&c);
    free(images);
}

static void test_images_alone(void **state)
{
    char *images = test_pair(*state, 25, 2, 2);
    char *labels = xasprintf("%s/none", (const char *)*state);
    idx_reader_options options = {.labels = labels, .std = 1.0, .without_labels = true};
    dataset *d = NULL;
    size_t n;
    float pixels[4];
    assert_int_equal(idx_reader_open(&options, images, &d, NULL), OK);
    assert_string_equal(dataset_fields(d, &n)[0].name, "image");
    assert_int_equal(n, 1);
    assert_int_equal(dataset_read(d, 24, (void *[]){pixels}, NULL), OK);
    dataset_close(&d);
    free(labels);
    free(images);
}

static int setup(void **state)
{
    *state = folder_create();
    return 0;
}

static int teardown(void **state)
{
    folder_destroy((char **)state);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_gives_normalised_images), TEST(test_classes),
        TEST(test_finds_labels_by_name),    TEST(test_labels_given),
        TEST(test_files_that_do_not_fit),   TEST(test_other_types_are_not_scaled),
        TEST(test_opens_by_configuration),  TEST(test_a_part_of_the_examples),
        TEST(test_images_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
