/* CIFAR-10's binary records: planes, labels, several files, and every refusal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "data/reader.h"
#include "support/folder.h"
#include "unit/data/support_idx.h"

#include <stdlib.h>
#include <string.h>

enum { PIXELS = 3 * 32 * 32, RECORD = 1 + PIXELS };

static const cifar10_reader_options plain = {.std = {1, 1, 1}};
/* Records with labels from `first` on; pixel i is (i / 1024 + label) * 3. */
static void records(buf *b, int first, int n)
{
    for (int label = first; label < first + n; label++) {
        unsigned char record[RECORD] = {(unsigned char)label};
        for (int i = 0; i < PIXELS; i++)
            record[1 + i] = (unsigned char)((i / 1024 + label) * 3);
        buf_add(b, record, sizeof record);
    }
}

static void expect_example(const dataset *d, int64_t i, int64_t want)
{
    static float image[PIXELS];
    int64_t label;
    assert_int_equal(dataset_read(d, i, (void *[]){image, &label}, NULL), OK);
    assert_int_equal(label, want);
    for (int k = 0; k < PIXELS; k += 1023) {
        double x = (double)((k / 1024 + want) * 3) / 255.0 - (double)image[k];
        assert_true(x < 1e-6 && x > -1e-6);
    }
}

static void test_files_of_a_folder_follow_each_other(void **state)
{
    (void)state;
    char *path = folder_file("cifar");
    assert_int_equal(fs_mkdirs(path, NULL), OK);
    static const struct {
        const char *name;
        int first, n;
        bool packed;
    } files[] = {{"data_batch_2.bin", 3, 2, false},
                 {"data_batch_1.bin.gz", 0, 3, true},
                 {"test_batch.bin", 8, 1, false}};
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        buf b = BUF_INIT;
        records(&b, files[i].first, files[i].n);
        if (files[i].packed)
            idx_gzip(&b);
        free(test_file(path, files[i].name, &b));
        buf_fini(&b);
    }
    dataset *d = NULL;
    assert_int_equal(cifar10_reader_open(&plain, path, &d, NULL), OK);
    assert_int_equal(dataset_examples(d), 5);
    for (int64_t i = 0; i < 5; i++)
        expect_example(d, i, i);
    size_t n;
    const data_field *f = dataset_fields(d, &n);
    assert_int_equal(n, 2);
    assert_int_equal(f[0].rank, 3);
    assert_int_equal(f[1].classes, 10);
    dataset_close(&d);
    free(path);
}

static void test_colours_are_normalized(void **state)
{
    (void)state;
    static const cifar10_reader_options o = {.mean = {0.1, 0.2, 0.3}, .std = {0.5, 1, 2}};
    static float image[PIXELS];
    int64_t label;
    buf b = BUF_INIT;
    records(&b, 5, 1);
    char *path = test_file(folder_path(), "one.bin", &b);
    dataset *d = NULL;
    assert_int_equal(cifar10_reader_open(&o, path, &d, NULL), OK);
    assert_int_equal(dataset_read(d, 0, (void *[]){image, &label}, NULL), OK);
    for (int c = 0; c < 3; c++) {
        double want = ((double)((c + 5) * 3) / 255.0 - o.mean[c]) / o.std[c];
        double off = want - (double)image[c * 1024 + 7];
        assert_true(off < 1e-6 && off > -1e-6);
    }
    dataset_close(&d);
    buf_fini(&b);
    free(path);
}

static void refuses(const buf *b, const char *part)
{
    error err = ERROR_INIT;
    dataset *d = NULL;
    char *path = test_file(folder_path(), "bad.bin", b);
    assert_int_equal(cifar10_reader_open(&plain, path, &d, &err), E_DATA);
    if (!strstr(err.text, part))
        fail_msg("message \"%s\" lacks \"%s\"", err.text, part);
    free(path);
}

static void test_refusals(void **state)
{
    (void)state;
    buf b = BUF_INIT;
    refuses(&b, "bad.bin': is empty");
    records(&b, 9, 2);
    refuses(&b, "bad.bin': byte 3073, a label, is 10; labels are 0 to 9");
    b.size = RECORD + 5;
    refuses(&b, "3078 bytes are no multiple of 3073: this is no CIFAR-10");
    buf_fini(&b);
    error err = ERROR_INIT;
    dataset *d = NULL;
    char *path = folder_file("empty");
    assert_int_equal(fs_mkdirs(path, NULL), OK);
    assert_int_equal(cifar10_reader_open(&plain, path, &d, &err), E_DATA);
    assert_non_null(strstr(err.text, "holds no data_batch_*.bin"));
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files_of_a_folder_follow_each_other),
        cmocka_unit_test(test_colours_are_normalized),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, folder_set_up, folder_tear_down);
}
