/* tf.train.Examples as examples: features of each list, bytes, gzip, and refusals. The first record is,
 * byte by byte, what TensorFlow's documentation of the format says of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "data/reader.h"
#include "proto/example.pb-c.h"
#include "support/folder.h"
#include "unit/data/support_idx.h"
#include "unit/data/support_records.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* features { feature { key: "a" value { int64_list { value: [3] } } } }, packed */
static const unsigned char by_hand[] = {0x0a, 0x0c, 0x0a, 0x0a, 0x0a, 0x01, 'a',
                                        0x12, 0x05, 0x1a, 0x03, 0x0a, 0x01, 0x03};
/* the same, not packed: each number with a tag of its own */
static const unsigned char not_packed[] = {0x0a, 0x0b, 0x0a, 0x09, 0x0a, 0x01, 'a',
                                           0x12, 0x04, 0x1a, 0x02, 0x08, 0x04};

static void test_by_hand(void **state)
{
    (void)state;
    buf b = BUF_INIT;
    records_add_tfrecord(&b, by_hand, sizeof by_hand);
    records_add_tfrecord(&b, not_packed, sizeof not_packed);
    dataset *d = NULL;
    error err = ERROR_INIT;
    if (records_open_bytes("tfrecord", "{fields: [{name: 'a', type: 'integer'}]}", &b,
                           &(dataset_options){.part = NULL}, &d, &err) != OK)
        fail_msg("%s", err.text);
    int64_t a;
    assert_int_equal(dataset_read(d, 0, (void *[]){&a}, NULL), OK);
    assert_int_equal(a, 3);
    assert_int_equal(dataset_read(d, 1, (void *[]){&a}, NULL), OK);
    assert_int_equal(a, 4);
    dataset_close(&d);
    buf_fini(&b);
}

/* x: floats, pixels: 4 bytes, word, label */
static void add_example(buf *b, const float *x, size_t n_x, const char *pixels, char *word, int64_t label)
{
    Tensorflow__FloatList floats = TENSORFLOW__FLOAT_LIST__INIT;
    Tensorflow__BytesList bytes = TENSORFLOW__BYTES_LIST__INIT, one_word = TENSORFLOW__BYTES_LIST__INIT;
    Tensorflow__Int64List labels = TENSORFLOW__INT64_LIST__INIT;
    Tensorflow__Feature f[4];
    Tensorflow__FeatureEntry e[4], *all[4];
    static char *const keys[] = {"x", "pixels", "word", "label"};
    ProtobufCBinaryData pixel_data = {.len = strlen(pixels), .data = (uint8_t *)(uintptr_t)pixels};
    ProtobufCBinaryData word_data = {.len = strlen(word), .data = (uint8_t *)word};
    floats.n_value = n_x, floats.value = (float *)(uintptr_t)x;
    bytes.n_value = 1, bytes.value = &pixel_data;
    one_word.n_value = 1, one_word.value = &word_data;
    labels.n_value = 1, labels.value = &label;
    for (int i = 0; i < 4; i++) {
        tensorflow__feature__init(&f[i]);
        tensorflow__feature_entry__init(&e[i]);
        e[i].key = keys[i];
        e[i].value = &f[i];
        all[i] = &e[i];
    }
    f[0].kind_case = TENSORFLOW__FEATURE__KIND_FLOAT_LIST, f[0].float_list = &floats;
    f[1].kind_case = TENSORFLOW__FEATURE__KIND_BYTES_LIST, f[1].bytes_list = &bytes;
    f[2].kind_case = TENSORFLOW__FEATURE__KIND_BYTES_LIST, f[2].bytes_list = &one_word;
    f[3].kind_case = TENSORFLOW__FEATURE__KIND_INT64_LIST, f[3].int64_list = &labels;
    Tensorflow__Features features = TENSORFLOW__FEATURES__INIT;
    Tensorflow__Example example = TENSORFLOW__EXAMPLE__INIT;
    features.n_feature = 4, features.feature = all;
    example.features = &features;
    size_t size = tensorflow__example__get_packed_size(&example);
    uint8_t *packed = malloc(size);
    tensorflow__example__pack(&example, packed);
    records_add_tfrecord(b, packed, size);
    free(packed);
}

static const char all_fields[] =
    "{fields: [{name: 'x', type: 'numbers', shape: [2]}, {name: 'image', key: 'pixels', type: "
    "'bytes', shape: [1, 2, 2]}, {name: 'kind', key: 'word', type: 'word'}, "
    "{name: 'label', type: 'label'}]}";

static void test_features(void **state)
{
    (void)state;
    buf b = BUF_INIT;
    add_example(&b, (float[]){1.5f, -2.0f}, 2, "\x01\xff\x80\x02", "red", 4);
    add_example(&b, (float[]){0.0f, 0.0f}, 2, "abcd", "blue", 0);
    for (int gzip = 0; gzip < 2; gzip++) {
        if (gzip)
            idx_gzip(&b);
        dataset *d = NULL;
        error err = ERROR_INIT;
        if (records_open_bytes("tfrecord", all_fields, &b, &(dataset_options){.part = NULL}, &d, &err) != OK)
            fail_msg("%s", err.text);
        size_t n;
        const data_field *f = dataset_fields(d, &n);
        assert_int_equal(f[1].rank, 3);
        assert_int_equal(f[1].bytes.channels, 1);
        assert_int_equal(f[3].classes, 5);
        float x[2], image[4];
        unsigned char raw[4];
        int64_t kind, label;
        assert_int_equal(dataset_read(d, 0, (void *[]){x, image, &kind, &label}, NULL), OK);
        assert_true(x[0] == 1.5f && x[1] == -2.0f && kind == 1 && label == 4);
        assert_true(fabsf(image[1] - 1.0f) < 1e-6f && image[0] == 1.0f * f[1].bytes.scale[0]);
        assert_int_equal(dataset_read_bytes(d, 0, (void *[]){x, raw, &kind, &label}, NULL), OK);
        assert_memory_equal(raw, "\x01\xff\x80\x02", 4);
        dataset_close(&d);
    }
    buf_fini(&b);
}

static void test_lists_that_vary(void **state)
{
    (void)state;
    static const char fields[] = "{fields: [{name: 'x', type: 'numbers', most: 3, filler: -1}, "
                                 "{name: 'mask', type: 'mask', most: 3, key: 'x'}]}";
    buf b = BUF_INIT;
    dataset *d = NULL;
    error err = ERROR_INIT;
    add_example(&b, (float[]){1.5f, -2.0f}, 2, "abcd", "red", 4);
    add_example(&b, (float[]){1.0f, 2.0f, 3.0f}, 3, "abcd", "red", 4);
    if (records_open_bytes("tfrecord", fields, &b, &(dataset_options){.part = NULL}, &d, &err) != OK)
        fail_msg("%s", err.text);
    float x[3];
    int64_t mask[3];
    assert_int_equal(dataset_read(d, 0, (void *[]){x, mask}, NULL), OK);
    assert_true(x[0] == 1.5f && x[1] == -2.0f && x[2] == -1.0f);
    assert_true(mask[0] == 1 && mask[1] == 1 && mask[2] == 0);
    assert_memory_equal(dataset_lengths(d), ((uint32_t[]){2, 3}), 2 * sizeof(uint32_t));
    dataset_close(&d);
    buf_fini(&b);
}

static void refuses(const buf *b, const char *fields, const char *part)
{
    dataset *d = NULL;
    error err = ERROR_INIT;
    assert_int_equal(records_open_bytes("tfrecord", fields, b, &(dataset_options){.part = NULL}, &d, &err),
                     E_DATA);
    if (!strstr(err.text, part))
        fail_msg("message \"%s\" lacks \"%s\"", err.text, part);
}

static void test_refusals(void **state)
{
    (void)state;
    buf b = BUF_INIT;
    add_example(&b, (float[]){1.0f, 2.0f}, 2, "abcd", "red", 1);
    size_t second = b.size;
    add_example(&b, (float[]){1.0f, (float)NAN}, 2, "abc", "red", -1);
    char part[100];
    snprintf(part, sizeof part, "t.data': record 1 (byte %zu): field 'x': element 1 is no finite", second);
    refuses(&b, "{fields: [{name: 'x', type: 'numbers', shape: [2]}]}", part);
    refuses(&b, "{fields: [{name: 'x', type: 'mask', most: 1}]}",
            "record 0 (byte 0): field 'x': is ");
    refuses(&b, "{fields: [{name: 'x', type: 'numbers', shape: [3]}]}",
            "record 0 (byte 0): field 'x': is a list of 2 floats; expected 3");
    refuses(&b, "{fields: [{name: 'x', type: 'integers', shape: [2]}]}",
            "is a list of 2 floats; expected 2 integers");
    refuses(&b, "{fields: [{name: 'pixels', type: 'bytes', shape: [4]}]}", "has 3 bytes; its shape says 4");
    refuses(&b, "{fields: [{name: 'label', type: 'label'}]}", "field 'label': class -1");
    refuses(&b, "{fields: [{name: 'y', type: 'label'}]}", "there is no 'y'; there are: x, pixels, word, label");
    b.data[second + 20] ^= 1;
    snprintf(part, sizeof part, "t.data': record 1 (byte %zu): its checksum does not fit", second);
    refuses(&b, "{fields: [{name: 'x', type: 'numbers', shape: [2]}]}", part);
    buf_clear(&b);
    records_add_tfrecord(&b, "\x0a\xff", 2);
    refuses(&b, "{fields: [{name: 'x', type: 'number'}]}", "record 0 (byte 0): is no tf.train.Example");
    buf_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_features),
        cmocka_unit_test(test_lists_that_vary),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, folder_set_up, folder_tear_down);
}
