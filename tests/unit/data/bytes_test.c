/*
 * Images that stay bytes until a device has them mean, augmented or not, the numbers they would
 * have been, bit for bit; and stay none where augmentation needs a number that is no byte.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "data/augment.h"
#include "data/reader.h"
#include "support/folder.h"
#include "unit/data/support_config.h"
#include "unit/data/support_idx.h"

#include <stdlib.h>
#include <string.h>

enum { EXAMPLES = 23, BATCH = 5, RECORD = 1 + 3 * 32 * 32 };

static dataset *open_idx(void)
{
    dataset *d = NULL;
    char *path = test_pair(folder_path(), EXAMPLES, 5, 7);
    const idx_reader_options options = {.mean = 0.3, .std = 0.7};
    assert_int_equal(idx_reader_open(&options, path, &d, NULL), OK);
    free(path);
    return d;
}

static dataset *open_cifar10(void)
{
    dataset *d = NULL;
    buf b = BUF_INIT;
    for (int i = 0; i < EXAMPLES; i++) {
        unsigned char record[RECORD] = {(unsigned char)(i % 10)};
        for (int k = 1; k < RECORD; k++)
            record[k] = (unsigned char)(i * 31 + k * 7 + k / 1024);
        buf_add(&b, record, sizeof record);
    }
    char *path = test_file(folder_path(), "cifar", &b);
    const cifar10_reader_options options = {.mean = {0.4, 0.5, 0.6}, .std = {0.2, 0.3, 0.7}};
    assert_int_equal(cifar10_reader_open(&options, path, &d, NULL), OK);
    free(path);
    buf_fini(&b);
    return d;
}

static loader *make_loader(const dataset *d, const config *augmentation, bool bytes)
{
    loader *l = NULL;
    const loader_options options = {.dataset = d,
                                    .batch_size = BATCH,
                                    .seed = 3,
                                    .shuffle = true,
                                    .augment = augmentation,
                                    .depth = 2,
                                    .bytes = bytes};
    assert_int_equal(loader_create(&options, &l, NULL), OK);
    return l;
}

/* By the plain formula. */
static void expect_meaning(const data_field *f, const uint8_t *bytes, const float *numbers,
                           int64_t n)
{
    int64_t size = 1, plane = f->dim[1] * f->dim[2];
    for (int32_t i = 0; i < f->rank; i++)
        size *= f->dim[i];
    for (int64_t i = 0; i < n * size; i++) {
        int64_t c = f->bytes.channels == 1 ? 0 : i / plane % f->bytes.channels;
        float product = (float)bytes[i] * f->bytes.scale[c], want = product + f->bytes.offset[c];
        assert_memory_equal(&numbers[i], &want, sizeof want);
    }
}

static void compare(const dataset *d, const char *section, bool stays_bytes)
{
    config *c = section ? test_config(section) : NULL;
    const config *augmentation = c ? config_section(c, "dataset_reader.augment") : NULL;
    loader *plain = make_loader(d, augmentation, false), *raw = make_loader(d, augmentation, true);
    const steps s = {.examples = EXAMPLES, .batch_size = BATCH, .per_step = 1};
    size_t n;
    const data_field *fields = loader_fields(raw, &n);
    assert_int_equal(n, 2);
    assert_int_equal(fields[0].dtype, stays_bytes ? DT_U8 : DT_F32);
    assert_int_equal(loader_fields(plain, &n)[0].dtype, DT_F32);
    for (int64_t step = 0; step < 7; step++) {
        step_slot slot = steps_slot(&s, step, 0);
        const data_batch *numbers = NULL, *bytes = NULL;
        assert_int_equal(loader_take(plain, &slot, &numbers, NULL), OK);
        assert_int_equal(loader_take(raw, &slot, &bytes, NULL), OK);
        assert_ptr_equal(bytes->fields, fields);
        if (stays_bytes)
            expect_meaning(&fields[0], bytes->data[0], numbers->data[0], slot.n);
        else
            assert_memory_equal(bytes->data[0], numbers->data[0],
                                (size_t)slot.n * data_field_bytes(&fields[0]));
        assert_memory_equal(bytes->data[1], numbers->data[1], (size_t)slot.n * sizeof(int64_t));
        loader_release(plain, numbers);
        loader_release(raw, bytes);
    }
    loader_destroy(&plain);
    loader_destroy(&raw);
    config_destroy(&c);
}

static const char flip[] = "{augment: {flip: true}}";
static const char shift[] = "{augment: {shift: 2, flip: true}}";

static const char window[] = "{augment: {flip: true, random_crop: {padding: 2, fill: 30}}}";
static const char trivial[] = "{augment: {random_crop: {padding: 1}, trivial_augment_wide: {}}}";
static const char colours[] = "{augment: {flip: true, color_jitter: {brightness: 0.5, hue: 0.2}, rand_augment: {}}}";

static void test_images_whose_background_is_a_byte(void **state)
{
    (void)state;
    dataset *d = open_idx();
    compare(d, NULL, true);
    compare(d, flip, true);
    compare(d, window, true);
    compare(d, trivial, true);
    compare(d, colours, true);
    compare(d, shift, true);
    dataset_close(&d);
}

static void test_images_whose_background_is_the_mean(void **state)
{
    (void)state;
    dataset *d = open_cifar10();
    compare(d, NULL, true);
    compare(d, flip, true);
    compare(d, window, true);
    compare(d, trivial, true);
    compare(d, colours, true);
    compare(d, shift, false);
    dataset_close(&d);
}

static void test_memory(void **state)
{
    (void)state;
    dataset *d = open_cifar10();
    loader_options o = {.dataset = d, .batch_size = BATCH, .depth = 2};
    const size_t label = 2 * sizeof(int64_t), pixels = RECORD - 1; /* and which example it is */
    assert_int_equal(loader_bytes(&o), 2 * BATCH * (pixels * sizeof(float) + label));
    o.bytes = true;
    assert_int_equal(loader_bytes(&o), 2 * BATCH * (pixels + label));
    dataset_close(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_images_whose_background_is_a_byte),
        cmocka_unit_test(test_images_whose_background_is_the_mean),
    };
    return cmocka_run_group_tests(tests, folder_set_up, folder_tear_down);
}
