/* Images in records, as samples of a tar and as tf.train.Examples of TF-slim's keys: pixels, sizes and random crops are
 * those of the same files read by image_list; and refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "data/data.h"
#include "proto/example.pb-c.h"
#include "support/folder.h"
#include "unit/data/support_config.h"
#include "unit/data/support_records.h"

#include <stdlib.h>
#include <string.h>

enum { SIDE = 12, VALUES = 3 * SIDE * SIDE, PICTURES = 4 };

#define VIEW "size: 12, resize: 15, mean: [0.4, 0.5, 0.6], std: [0.2, 0.3, 0.4]"
#define CROPPED ", augment: {random_resized_crop: {}, color_jitter: {hue: 0.1}}"

static const char *const names[PICTURES] = {"colour.jpg", "grey.jpg", "cmyk.jpg", "turned6.jpg"};

static const char samples[] = "{fields: [{name: 'image', type: 'image', key: 'jpg', " VIEW "}, {name: 'label', "
                              "type: 'label', key: 'cls'}]" CROPPED "}";
static const char slim[] = "{fields: [{name: 'image', type: 'image', key: 'image/encoded', " VIEW "}, {name: 'label', "
                           "type: 'label', key: 'image/class/label'}]" CROPPED "}";

static buf read_picture(const char *name)
{
    buf b = BUF_INIT;
    char *path = xasprintf("%s/pictures/%s", TEST_DATA_DIR, name);
    assert_int_equal(fs_read(path, 1 << 20, &b, NULL), OK);
    free(path);
    return b;
}

static void write_file(const char *name, const void *data, size_t n)
{
    char *path = folder_file("%s", name);
    assert_int_equal(fs_write_atomic(path, data, n, NULL), OK);
    free(path);
}

/* What the files say that are in the folder, by a list of them. */
static dataset *open_list(void)
{
    dataset *d = NULL;
    error err = ERROR_INIT;
    buf list = BUF_INIT;
    for (int i = 0; i < PICTURES; i++)
        buf_addf(&list, "%d.jpg %d\n", i, i);
    write_file("list.txt", list.data, list.size);
    char *path = folder_file("list.txt");
    if (records_open_path("image_list", "{" VIEW CROPPED "}", path, &(dataset_options){.part = NULL}, &d, &err) != OK)
        fail_msg("%s", err.text);
    free(path);
    buf_fini(&list);
    return d;
}

static void make_samples(void)
{
    for (int i = 0; i < PICTURES; i++) {
        buf b = read_picture(names[i]);
        char *file = xasprintf("%d.jpg", i), *class = xasprintf("%d.cls", i), *number = xasprintf("%d", i);
        write_file(file, b.data, b.size);
        write_file(class, number, strlen(number));
        free(file);
        free(class);
        free(number);
        buf_fini(&b);
    }
    char *command = xasprintf("cd '%s' && tar -cf all.tar [0-9].*", folder_path());
    assert_int_equal(system(command), 0);
    free(command);
}

static void add_slim(buf *to, const void *data, size_t n, int64_t label)
{
    Tensorflow__BytesList bytes = TENSORFLOW__BYTES_LIST__INIT;
    Tensorflow__Int64List labels = TENSORFLOW__INT64_LIST__INIT;
    Tensorflow__Feature f[2] = {TENSORFLOW__FEATURE__INIT, TENSORFLOW__FEATURE__INIT};
    Tensorflow__FeatureEntry e[2] = {TENSORFLOW__FEATURE_ENTRY__INIT, TENSORFLOW__FEATURE_ENTRY__INIT};
    Tensorflow__FeatureEntry *all[2] = {&e[0], &e[1]};
    Tensorflow__Features features = TENSORFLOW__FEATURES__INIT;
    Tensorflow__Example example = TENSORFLOW__EXAMPLE__INIT;
    ProtobufCBinaryData encoded = {.len = n, .data = (uint8_t *)(uintptr_t)data};
    char encoded_key[] = "image/encoded", label_key[] = "image/class/label";
    bytes.n_value = 1, bytes.value = &encoded;
    labels.n_value = 1, labels.value = &label;
    f[0].kind_case = TENSORFLOW__FEATURE__KIND_BYTES_LIST, f[0].bytes_list = &bytes;
    f[1].kind_case = TENSORFLOW__FEATURE__KIND_INT64_LIST, f[1].int64_list = &labels;
    e[0].key = encoded_key, e[0].value = &f[0];
    e[1].key = label_key, e[1].value = &f[1];
    features.n_feature = 2, features.feature = all;
    example.features = &features;
    size_t size = tensorflow__example__get_packed_size(&example);
    uint8_t *packed = malloc(size);
    assert_non_null(packed);
    tensorflow__example__pack(&example, packed);
    records_add_tfrecord(to, packed, size);
    free(packed);
}

/* --- the same as files --- */

static void expect_fields(const dataset *d)
{
    size_t n;
    const data_field *f = dataset_fields(d, &n);
    assert_int_equal(n, 2);
    assert_int_equal(f[0].dtype, DT_F32);
    assert_int_equal(f[0].rank, 3);
    assert_memory_equal(f[0].dim, ((int64_t[]){3, SIDE, SIDE}), 3 * sizeof(int64_t));
    assert_int_equal(f[0].bytes.channels, 3);
    assert_true(f[0].is_viewed && !f[1].is_viewed);
    assert_int_equal(f[1].classes, PICTURES);
    /* The largest, colour.jpg of 97 x 61 pixels, in its file, decoded and brought to its size. */
    assert_true(dataset_reading_bytes(d) >= 2 * 97 * 61 * 3);
}

static void expect_as_files(const dataset *d)
{
    dataset *files = open_list();
    expect_fields(d);
    assert_int_equal(dataset_reading_bytes(d), dataset_reading_bytes(files));
    for (int64_t i = 0; i < PICTURES; i++) {
        float image[VALUES], want[VALUES];
        unsigned char bytes[VALUES], want_bytes[VALUES];
        int64_t label, want_label;
        picture_draws draws = {rng_make(7, RNG_PICTURE, 3), i};
        assert_int_equal(dataset_read(d, i, (void *[]){image, &label}, NULL), OK);
        assert_int_equal(dataset_read(files, i, (void *[]){want, &want_label}, NULL), OK);
        assert_memory_equal(image, want, sizeof want);
        assert_int_equal(label, want_label);
        assert_int_equal(dataset_read_bytes(d, i, (void *[]){bytes, &label}, NULL), OK);
        assert_int_equal(dataset_read_bytes(files, i, (void *[]){want_bytes, &label}, NULL), OK);
        assert_memory_equal(bytes, want_bytes, sizeof want_bytes);
        assert_int_equal(dataset_read_drawn(d, i, &draws, true, (void *[]){bytes, &label}, NULL), OK);
        assert_memory_not_equal(bytes, want_bytes, sizeof want_bytes);
        assert_int_equal(dataset_read_drawn(files, i, &draws, true, (void *[]){want_bytes, &label}, NULL), OK);
        assert_memory_equal(bytes, want_bytes, sizeof want_bytes);
    }
    dataset_close(&files);
}

static void test_samples(void **state)
{
    (void)state;
    dataset *d = NULL;
    error err = ERROR_INIT;
    make_samples();
    char *path = folder_file("all.tar");
    if (records_open_path("webdataset", samples, path, &(dataset_options){.part = NULL}, &d, &err) != OK)
        fail_msg("%s", err.text);
    expect_as_files(d);
    dataset_close(&d);
    free(path);
}

/* Bytes beside an image of a file get windows of their own, as they get them alone. */
static void test_bytes_beside_an_image_are_cropped(void **state)
{
    (void)state;
    enum { RAW = 5 * 5 };
    unsigned char raw[RAW];
    dataset *d = NULL;
    error err = ERROR_INIT;
    const data_batch *batch = NULL;
    const step_slot slot = {.n = PICTURES};
    make_samples();
    memset(raw, 51, sizeof raw);
    for (int i = 0; i < PICTURES; i++) {
        char *file = xasprintf("%d.raw", i);
        write_file(file, raw, sizeof raw);
        free(file);
    }
    char *command = xasprintf("cd '%s' && tar -cf beside.tar [0-9].[jr]*", folder_path());
    assert_int_equal(system(command), 0);
    char *path = folder_file("beside.tar");
    if (records_open_path("webdataset", "{fields: [{name: 'image', type: 'image', key: 'jpg', " VIEW "}, {name: 'raw', "
                          "type: 'bytes', key: 'raw', shape: [1, 5, 5]}], augment: {random_crop: {padding: 4, fill: "
                          "255}}}", path, &(dataset_options){.part = NULL}, &d, &err) != OK)
        fail_msg("%s", err.text);
    config *c = test_config("{augment: {random_crop: {padding: 4, fill: 255}}}");
    const loader_options o = {.dataset = d, .batch_size = PICTURES, .depth = 2,
                              .augment = config_section(c, "dataset_reader.augment")};
    loader *l = NULL;
    assert_int_equal(loader_create(&o, &l, NULL), OK);
    assert_int_equal(loader_take(l, &slot, &batch, NULL), OK);
    int filled = 0;
    for (int i = 0; i < PICTURES * RAW; i++)
        filled += ((const float *)batch->data[1])[i] == 1.0f;
    assert_in_range(filled, 1, PICTURES * RAW - 1);
    loader_release(l, batch);
    loader_destroy(&l);
    config_destroy(&c);
    dataset_close(&d);
    free(path);
    free(command);
}

static void test_examples(void **state)
{
    (void)state;
    dataset *d = NULL;
    error err = ERROR_INIT;
    buf all = BUF_INIT;
    make_samples();
    for (int i = 0; i < PICTURES; i++) {
        buf b = read_picture(names[i]);
        add_slim(&all, b.data, b.size, i);
        buf_fini(&b);
    }
    if (records_open_bytes("tfrecord", slim, &all, &(dataset_options){.part = NULL}, &d, &err) != OK)
        fail_msg("%s", err.text);
    expect_as_files(d);
    dataset_close(&d);
    buf_fini(&all);
}

/* --- images by their paths --- */

#define PATHS "{fields: [{name: 'image', type: 'image', key: 'file', " VIEW "}, {name: 'label', type: 'label'}]" CROPPED

static char *write_lines(const char *file, int n)
{
    buf lines = BUF_INIT;
    for (int i = 0; i < n; i++)
        buf_addf(&lines, "{\"file\": \"%d.jpg\", \"label\": %d}\n", i, i % PICTURES);
    write_file(file, lines.data, lines.size);
    buf_fini(&lines);
    return folder_file("%s", file);
}

static dataset *open_paths(const char *reader, const char *path)
{
    dataset *d = NULL;
    error err = ERROR_INIT;
    if (records_open_path("jsonl", reader, path, &(dataset_options){.part = NULL}, &d, &err) != OK)
        fail_msg("%s", err.text);
    return d;
}

static void test_lines_name_images(void **state)
{
    (void)state;
    make_samples();
    char *path = write_lines("lines.jsonl", PICTURES), *elsewhere = folder_file("elsewhere");
    dataset *d = open_paths(PATHS "}", path);
    expect_as_files(d);
    dataset_close(&d);
    /* as root says, wherever the lines are */
    assert_int_equal(fs_mkdirs(elsewhere, NULL), OK);
    char *other = write_lines("elsewhere/lines.jsonl", PICTURES);
    char *reader = xasprintf("%s, root: '%s'}", PATHS, folder_path());
    d = open_paths(reader, other);
    expect_as_files(d);
    dataset_close(&d);
    free(reader);
    free(other);
    free(elsewhere);
    free(path);
}

static void digest_of(const dataset *d, char ret[SHA256_HEX])
{
    buf facts = BUF_INIT;
    dataset_facts(d, "train", FACTS_FULL, &facts);
    sha256_hex(facts.data, facts.size, ret);
    buf_fini(&facts);
}

/* Line 3 of 5 names none that is whole: without it the others are as they were. */
static void test_lines_of_broken_images_are_skipped(void **state)
{
    (void)state;
    char before[SHA256_HEX], after[SHA256_HEX];
    make_samples();
    buf first = read_picture(names[0]), last = read_picture(names[3]);
    write_file("2.jpg", first.data, first.size / 2);
    write_file("4.jpg", last.data, last.size);
    char *path = write_lines("lines.jsonl", 5);
    error err = ERROR_INIT;
    dataset *d = open_paths(PATHS ", on_error: 'skip'}", path);
    assert_int_equal(dataset_examples(d), 4);
    float image[VALUES];
    for (int64_t i = 0, label; i < 4; i++) {
        assert_int_equal(dataset_read(d, i, (void *[]){image, &label}, NULL), OK);
        assert_int_equal(label, i < 2 ? i : (i + 1) % PICTURES);
    }
    digest_of(d, before);
    dataset_close(&d);

    /* other pixels under the same path are other data */
    write_file("4.jpg", first.data, first.size);
    d = open_paths(PATHS ", on_error: 'skip'}", path);
    digest_of(d, after);
    assert_string_not_equal(before, after);
    dataset_close(&d);

    /* what fails, fails where it is read; what is not there, at once */
    d = open_paths(PATHS "}", path);
    int64_t label;
    assert_int_equal(dataset_read(d, 2, (void *[]){image, &label}, &err), E_DATA);
    assert_non_null(strstr(err.text, "line 3"));
    assert_non_null(strstr(err.text, "2.jpg': is a damaged JPEG"));
    dataset_close(&d);
    free(path);
    path = write_lines("lines.jsonl", 7);
    err = (error)ERROR_INIT;
    assert_int_equal(records_open_path("jsonl", PATHS "}", path, &(dataset_options){.part = NULL}, &d, &err), E_DATA);
    assert_non_null(strstr(err.text, "2 of 7 pictures cannot be read"));
    assert_non_null(strstr(err.text, "'5.jpg': "));
    free(path);
    buf_fini(&first);
    buf_fini(&last);
}

/* --- refusals --- */

static void refuses(const buf *b, status code, const char *part)
{
    dataset *d = NULL;
    error err = ERROR_INIT;
    assert_int_equal(records_open_bytes("tfrecord", slim, b, &(dataset_options){.part = NULL}, &d, &err), code);
    if (!strstr(err.text, part))
        fail_msg("message \"%s\" lacks \"%s\"", err.text, part);
}

static void test_refusals(void **state)
{
    (void)state;
    buf good = read_picture("colour.jpg"), all = BUF_INIT;
    add_slim(&all, good.data, good.size, 0);
    add_slim(&all, "GIF89a and so on", 16, 0);
    refuses(&all, E_DATA, "field 'image': ");
    refuses(&all, E_DATA, "t.data': record 1 (byte ");
    buf_clear(&all);
    add_slim(&all, good.data, 100, 0);
    refuses(&all, E_DATA, "field 'image': is a damaged JPEG");

    /* A picture that is cut off behind its head fails where it is read. */
    dataset *d = NULL;
    error err = ERROR_INIT;
    float image[VALUES];
    int64_t label;
    buf_clear(&all);
    add_slim(&all, good.data, good.size / 2, 0);
    assert_int_equal(records_open_bytes("tfrecord", slim, &all, &(dataset_options){.part = NULL}, &d, &err), OK);
    assert_int_equal(dataset_read(d, 0, (void *[]){image, &label}, &err), E_DATA);
    assert_non_null(strstr(err.text, "record 0 (byte 0): field 'image': is a damaged JPEG: "));
    dataset_close(&d);

    records_refuse("jsonl", "{fields: [{name: 'image', type: 'image', size: 8}]}", "{\"image\": 3}\n", NULL, E_DATA,
                   "line 1 (byte 0): field 'image': is an integer; expected the path of a picture");
    records_refuse("jsonl", "{fields: [{name: 'image', type: 'bytes', shape: [3]}]}", "{\"image\": \"a\"}\n", NULL,
                   E_CONFIG, "fields[0].type: bytes: strings of jsonl are text; give integers or numbers as lists");
    records_refuse("jsonl", "{on_error: 'skip', fields: [{name: 'x', type: 'number'}]}", "{\"x\": 3}\n", NULL, E_CONFIG,
                   "dataset_reader.on_error: \"skip\" is of images, and no field is one");
    buf_fini(&all);
    buf_fini(&good);
}

/* Nothing is kept between runs. */
static int set_up(void **state)
{
    if (folder_set_up(state) != 0)
        return -1;
    char *cache = folder_file("cache");
    int code = setenv("TEQUIO_CACHE", cache, 1);
    free(cache);
    return code;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_samples),
        cmocka_unit_test(test_bytes_beside_an_image_are_cropped),
        cmocka_unit_test(test_examples),
        cmocka_unit_test(test_lines_name_images),
        cmocka_unit_test(test_lines_of_broken_images_are_skipped),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, set_up, folder_tear_down);
}
