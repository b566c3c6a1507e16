/* The tensors of a safetensors file as examples: what is read, and every refusal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/store/safetensors.h"
#include "data/reader.h"
#include "support/folder.h"
#include "unit/data/support_config.h"
#include "unit/data/support_idx.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A tensor of 4-byte or 8-byte values, by its name: 3 examples. */
static st_tensor tensor(const char *name, dtype type, const void *data, int64_t examples,
                        int64_t width)
{
    st_tensor t = {.name = name, .dtype = type, .rank = width ? 2 : 1, .dim = {examples, width}};
    t.data = data;
    t.bytes = dtype_bytes(type) * (size_t)examples * (size_t)(width ? width : 1);
    return t;
}

static char *file_of(const st_tensor *tensors, size_t n)
{
    char *path = folder_file("arrays.safetensors");
    st_writer *w = NULL;
    assert_int_equal(st_writer_open(path, tensors, n, NULL, 0, &w, NULL), OK);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(st_writer_add(w, tensors[i].data, tensors[i].bytes, NULL), OK);
    assert_int_equal(st_writer_close(&w, NULL, NULL, NULL), OK);
    return path;
}

static const float values[] = {0.5f, 1, 2, 3, 4, 5, 6, 7};
static const int64_t labels[] = {2, 0, 1, -100};
static const unsigned char flags[] = {1, 0, 1, 1};

static void refuses(const st_tensor *tensors, size_t n, int64_t classes, const char *part)
{
    arrays_reader_options o = {.label = "label", .classes = classes};
    error err = ERROR_INIT;
    dataset *d = NULL;
    char *path = file_of(tensors, n);
    assert_int_equal(arrays_reader_open(&o, path, &d, &err), E_DATA);
    assert_null(d);
    if (!strstr(err.text, part))
        fail_msg("message \"%s\" lacks \"%s\"", err.text, part);
    free(path);
}

static dataset *opens(int64_t classes)
{
    const st_tensor tensors[] = {tensor("x", DT_F32, values, 4, 2),
                                 tensor("label", DT_I64, labels, 4, 0),
                                 tensor("flag", DT_BOOL, flags, 4, 0)};
    arrays_reader_options o = {.label = "label", .classes = classes};
    error err = ERROR_INIT;
    dataset *d = NULL;
    char *path = file_of(tensors, COUNT_OF(tensors));
    if (arrays_reader_open(&o, path, &d, &err) != OK)
        fail_msg("%s", err.text);
    free(path);
    return d;
}

static void test_tensors_are_fields(void **state)
{
    (void)state;
    dataset *d = opens(0);
    size_t n;
    const data_field *f = dataset_fields(d, &n);
    assert_int_equal(n, 3);
    assert_int_equal(dataset_examples(d), 4);
    void *out[DATA_FIELDS];
    float x[2] = {0, 0};
    int64_t label = 0;
    unsigned char flag = 0;
    for (size_t i = 0; i < n; i++) {
        bool is_x = strcmp(f[i].name, "x") == 0, is_label = strcmp(f[i].name, "label") == 0;
        out[i] = is_x ? (void *)x : is_label ? (void *)&label : (void *)&flag;
        assert_int_equal(f[i].dtype, is_x ? DT_F32 : is_label ? DT_I64 : DT_BOOL);
        assert_int_equal(f[i].rank, is_x ? 1 : 0);
        assert_int_equal(f[i].classes, is_label ? 3 : 0);
    }
    for (int64_t e = 0; e < 4; e++) {
        assert_int_equal(dataset_read(d, e, out, NULL), OK);
        assert_true(x[0] == values[2 * e] && x[1] == values[2 * e + 1]);
        assert_int_equal(label, labels[e]);
        assert_int_equal(flag, flags[e]);
    }
    dataset_close(&d);
    d = opens(7);
    f = dataset_fields(d, &n);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(f[i].classes, strcmp(f[i].name, "label") == 0 ? 7 : 0);
    dataset_close(&d);
}

static void test_refusals(void **state)
{
    (void)state;
    const double wide[] = {1, 2};
    const st_tensor two = tensor("x", DT_F32, values, 2, 0), three = tensor("y", DT_F32, values, 3, 0),
                    of_double = tensor("x", DT_F64, wide, 2, 0), none = tensor("x", DT_F32, values, 0, 3);
    st_tensor scalar = tensor("x", DT_F32, values, 1, 0);
    scalar.rank = 0;
    refuses((st_tensor[]){two, three}, 2, 0,
            "'x' has 2 examples, but 'y' 3: the first axis counts them");
    refuses(&of_double, 1, 0,
            "'x' is float64; examples are float32, int64, int32, uint8 or bool");
    refuses(&none, 1, 0, "'x' has no axis that counts examples, or an empty one");
    refuses(&scalar, 1, 0, "'x' has no axis that counts examples");
    refuses(NULL, 0, 0, "has 0 tensors; examples have 1 to 8 fields");
    refuses(&two, 1, 4, "has no tensor 'label' of int64 whose classes");
    const int64_t bad[] = {0, 3, -1};
    const st_tensor high = tensor("label", DT_I64, bad, 2, 0), low = tensor("label", DT_I64, bad, 3, 0);
    refuses(&high, 1, 3, "'label', example 1: label 3; classes are 0 to 2, and -100 counts as none");
    refuses(&low, 1, 0, "'label', example 2: label -1; classes are 0 to");
}

static void test_numbers_must_be_finite(void **state)
{
    (void)state;
    const float bad[] = {1, 2, 3, (float)INFINITY};
    const st_tensor t = tensor("x", DT_F32, bad, 2, 2);
    arrays_reader_options o = {.label = "label"};
    dataset *d = NULL;
    error err = ERROR_INIT;
    float out[2];
    char *path = file_of(&t, 1);
    assert_int_equal(arrays_reader_open(&o, path, &d, NULL), OK);
    assert_int_equal(dataset_read(d, 0, (void *[]){out}, &err), OK);
    assert_int_equal(dataset_read(d, 1, (void *[]){out}, &err), E_DATA);
    assert_non_null(strstr(err.text, "'x', example 1: value 1 is not a finite number"));
    dataset_close(&d);
    free(path);
}

static void test_no_file(void **state)
{
    (void)state;
    arrays_reader_options o = {.label = "label"};
    dataset *d = NULL;
    error err = ERROR_INIT;
    assert_int_equal(arrays_reader_open(&o, "/nonexistent/file", &d, &err), E_DATA);
    assert_int_equal(err.code, E_DATA);
    assert_non_null(strstr(err.text, "/nonexistent/file"));
}

/* What range and limit leave, by a configuration. */
static void test_a_part_of_the_examples(void **state)
{
    (void)state;
    static const struct {
        const char *reader;
        int64_t examples, first;
    } cases[] = {
        {"{type: 'arrays', range: [0.5, 1]}", 2, 2},
        {"{type: 'arrays', range: [0, 0.75], limit: 2}", 2, 0},
        {"{type: 'arrays', range: [0.25, 0.75], limit: 9}", 2, 1},
        {"{type: 'arrays'}", 4, 0},
        {"{type: 'arrays', range: [0.1, 0.2]}", 0, 0},
    };
    const st_tensor t = tensor("label", DT_I64, labels, 4, 0);
    char *path = file_of(&t, 1);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char *text = xasprintf("{dataset_reader: %s, train_data_path: 'x', model: 'mlp', "
                               "data_loader: {batch_size: 1}}",
                               cases[i].reader);
        config *c = NULL;
        dataset *d = NULL;
        error err = ERROR_INIT;
        int64_t label;
        config_source source = {.text = text};
        assert_int_equal(config_load(&source, &c, NULL), OK);
        status st = dataset_open(config_section(c, "dataset_reader"), path, &d, &err);
        if (cases[i].examples == 0) {
            assert_int_equal(st, E_DATA);
            assert_non_null(strstr(err.text, "range [0.1, 0.2] leaves none of 4 examples"));
        } else {
            assert_int_equal(st, OK);
            assert_int_equal(dataset_examples(d), cases[i].examples);
            assert_int_equal(dataset_read(d, 0, (void *[]){&label}, NULL), OK);
            assert_int_equal(label, labels[cases[i].first]);
        }
        dataset_close(&d);
        config_destroy(&c);
        free(text);
    }
    free(path);
}

/* A label that is no class, or none at all, does not matter where labels do not. */
static void test_without_labels(void **state)
{
    (void)state;
    static const int64_t wrong[4] = {3, -7, 1 << 20, 0};
    const st_tensor t[2] = {tensor("x", DT_F32, values, 4, 2), tensor("label", DT_I64, wrong, 4, 0)};
    arrays_reader_options options = {.label = "label", .classes = 5, .without_labels = true};
    for (size_t n = 1; n <= 2; n++) {
        char *path = file_of(t, n);
        dataset *d = NULL;
        size_t n_fields;
        assert_int_equal(arrays_reader_open(&options, path, &d, NULL), OK);
        assert_string_equal(dataset_fields(d, &n_fields)[0].name, "x");
        assert_int_equal(n_fields, 1);
        dataset_close(&d);
        free(path);
    }
    char *path = file_of(t + 1, 1);
    dataset *d = NULL;
    error err = ERROR_INIT;
    assert_int_equal(arrays_reader_open(&options, path, &d, &err), E_DATA);
    assert_non_null(strstr(err.text, "holds labels alone"));
    free(path);
}

/* --- pictures --- */

enum { PICTURES = 4, PIXELS = 3 * 5 * 5 };

static loader *load(const char *augment, dataset **ret, config **ret_config)
{
    static unsigned char pixels[PICTURES * PIXELS];
    const st_tensor tensors[] = {{.name = "image", .dtype = DT_U8, .rank = 4, .dim = {PICTURES, 3, 5, 5},
                                  .data = pixels, .bytes = sizeof pixels},
                                 tensor("label", DT_I64, labels, PICTURES, 0)};
    loader *l = NULL;
    memset(pixels, 77, sizeof pixels);
    char *path = file_of(tensors, 2), *reader = xasprintf("{type: 'arrays', augment: %s}", augment);
    assert_int_equal(arrays_reader_open(&(arrays_reader_options){.label = "label"}, path, ret, NULL), OK);
    *ret_config = test_config(reader);
    const loader_options o = {.dataset = *ret, .batch_size = PICTURES, .depth = 2,
                              .augment = config_section(*ret_config, "dataset_reader.augment")};
    assert_int_equal(loader_create(&o, &l, NULL), OK);
    free(path);
    free(reader);
    return l;
}

static const step_slot first = {.n = PICTURES};

/* Pictures that are bytes, and stay so. */
static void test_pictures_are_augmented(void **state)
{
    (void)state;
    static const char *const sections[] = {"{random_crop: {padding: 4, fill: 9}}", "{shift: 4}",
                                           "{color_jitter: {brightness: 0.9}}",
                                           "{cutmix: {}, random_crop: {padding: 4}}"};
    dataset *d = NULL;
    config *c = NULL;
    for (size_t i = 0; i < COUNT_OF(sections); i++) {
        const data_batch *batch = NULL;
        bool with_labels = !strstr(sections[i], "cutmix");
        loader *l = load(sections[i], &d, &c);
        error err = ERROR_INIT;
        status st = loader_take(l, &first, &batch, &err);
        int others = 0;
        for (int k = 0; st == OK && k < PICTURES * PIXELS; k++)
            others += ((const unsigned char *)batch->data[0])[k] != 77;
        if (with_labels) {
            assert_int_equal(st, OK);
            assert_int_equal(batch->fields[0].dtype, DT_U8);
            assert_true(others > PIXELS / 2);
            loader_release(l, batch);
        } else { /* a label of -100 counts in no loss, but is no class either */
            assert_int_equal(st, E_DATA);
            assert_non_null(strstr(err.text, "index 3: 'label' is -100, which is no class; such examples"));
        }
        loader_destroy(&l);
        dataset_close(&d);
        config_destroy(&c);
    }
}

/* A class for each pixel would stay where it is while the pixels move. */
static void test_labels_of_pixels_are_not_left_behind(void **state)
{
    (void)state;
    enum { SIDE = 3 };
    static const unsigned char pixels[PICTURES * SIDE * SIDE] = {0};
    static const int64_t classes[PICTURES * SIDE * SIDE] = {1};
    const st_tensor tensors[] = {{.name = "image", .dtype = DT_U8, .rank = 4, .dim = {PICTURES, 1, SIDE, SIDE},
                                  .data = pixels, .bytes = sizeof pixels},
                                 {.name = "label", .dtype = DT_I64, .rank = 3, .dim = {PICTURES, SIDE, SIDE},
                                  .data = classes, .bytes = sizeof classes}};
    char *path = file_of(tensors, 2);
    dataset *d = NULL;
    loader *l = NULL;
    error err = ERROR_INIT;
    assert_int_equal(arrays_reader_open(&(arrays_reader_options){.label = "label"}, path, &d, NULL), OK);
    config *c = test_config("{type: 'arrays', augment: {flip: true}}");
    const loader_options o = {.dataset = d, .batch_size = PICTURES, .depth = 2,
                              .augment = config_section(c, "dataset_reader.augment")};
    assert_int_equal(loader_create(&o, &l, &err), E_CONFIG);
    assert_non_null(strstr(err.text, "dataset_reader.augment.flip: would change 'image', and leave 'label'"));
    dataset_close(&d);
    config_destroy(&c);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tensors_are_fields),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_numbers_must_be_finite),
        cmocka_unit_test(test_no_file),
        cmocka_unit_test(test_a_part_of_the_examples),
        cmocka_unit_test(test_without_labels),
        cmocka_unit_test(test_pictures_are_augmented),
        cmocka_unit_test(test_labels_of_pixels_are_not_left_behind),
    };
    return cmocka_run_group_tests(tests, folder_set_up, folder_tear_down);
}
