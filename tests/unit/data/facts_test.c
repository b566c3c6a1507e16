/* Facts of data: the same for the same examples, wherever and however packed these lie; others when one
 * value that is read differs, and only then. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/store/safetensors.h"
#include "data/data.h"
#include "support/folder.h"
#include "unit/data/support_config.h"
#include "unit/data/support_idx.h"

#include <stdlib.h>
#include <string.h>

/* Of the data at `path`; free them. */
static char *facts_at(const char *reader, const char *path, facts_check how)
{
    config *c = test_config(reader);
    dataset *d = NULL;
    error err = ERROR_INIT;
    buf facts = BUF_INIT;
    if (dataset_open(config_section(c, "dataset_reader"), path, &d, &err) != OK)
        fail_msg("%s", err.text);
    dataset_facts(d, "train_data_path", how, &facts);
    dataset_close(&d);
    config_destroy(&c);
    return buf_detach(&facts);
}

static char *facts_of(const char *reader, const char *name, const void *data, size_t bytes, bool packed)
{
    buf b = BUF_INIT;
    buf_add(&b, data, bytes);
    if (packed)
        idx_gzip(&b);
    char *path = test_file(folder_path(), name, &b);
    char *facts = facts_at(reader, path, FACTS_SAMPLED);
    free(path);
    buf_fini(&b);
    return facts;
}

static void expect_same(const char *reader, const char *one, const char *other)
{
    char *a = facts_of(reader, "one", one, strlen(one), false);
    char *b = facts_of(reader, "other", other, strlen(other), true);
    assert_string_equal(a, b);
    free(a);
    free(b);
}

static void expect_other(const char *reader, const char *one, const char *other, const char *key)
{
    char *a = facts_of(reader, "one", one, strlen(one), false);
    char *b = facts_of(reader, "other", other, strlen(other), false);
    buf what = BUF_INIT;
    assert_true(facts_differ(a, b, &what));
    if (!strstr(what.data, key))
        fail_msg("\"%s\" lacks \"%s\"", what.data, key);
    buf_fini(&what);
    free(a);
    free(b);
}

static const char table[] = "{type: 'csv', numeric: ['a'], categorical: ['b'], scaling: 'none'}";

static void test_tables(void **state)
{
    (void)state;
    expect_same(table, "a,b,c\n1,x,7\n2,y,8\n", "a,b,c\n1,x,9\n2,y,9\n"); /* c is not read */
    expect_same(table, "a,b\n1,x\n2,y\n", "b,a\nx, 1.0\ny,\"2\"\n");
    expect_other(table, "a,b\n1,x\n2,y\n", "a,b\n1,x\n3,y\n", "sampled_sha256");
    expect_other(table, "a,b\n1,x\n2,y\n", "a,b\n1,x\n2,z\n", "vocabulary_sha256");
    expect_other(table, "a,b\n1,x\n2,y\n", "a,b\n1,y\n2,x\n", "sampled_sha256");
    expect_other(table, "a,b\n1,x\n2,y\n", "a,b\n1,x\n", "'train_data_path.examples' is 1 there, 2 here");
}

static void test_texts(void **state)
{
    (void)state;
    static const char whole[] = "{type: 'text', context: 2}",
                      half[] = "{type: 'text', context: 2, range: [0, 0.5]}";
    expect_same(whole, "abcabcab", "abcabcab");
    expect_other(whole, "abcabcab", "abcacbab", "sampled_sha256");
    expect_other(whole, "abcabcab", "abdabdab", "vocabulary_sha256");
    expect_same(half, "abcabcab", "abcacbab");
}

static void check_bytes(const char *reader, void *data, size_t bytes, size_t at)
{
    char *before = facts_of(reader, "t", data, bytes, false);
    char *packed = facts_of(reader, "u", data, bytes, true);
    ((char *)data)[at] ^= 1;
    char *after = facts_of(reader, "v", data, bytes, false);
    assert_string_equal(before, packed);
    assert_true(facts_differ(before, after, NULL));
    free(before);
    free(packed);
    free(after);
}

static void test_records(void **state)
{
    (void)state;
    static unsigned char records[2 * 3073];
    check_bytes("{type: 'cifar10'}", records, sizeof records, 4000);
    check_bytes("{type: 'cifar10'}", records, sizeof records, 3073); /* a label */
    char *facts = facts_of("{type: 'cifar10', limit: 1}", "w", records, sizeof records, false);
    assert_non_null(strstr(facts, "train_data_path.bytes=3073\n"));
    free(facts);
}

static void test_images_and_their_labels(void **state)
{
    (void)state;
    char *images = test_pair(folder_path(), 12, 3, 2);
    char *all = facts_at("{type: 'idx'}", images, FACTS_SAMPLED);
    char *some = facts_at("{type: 'idx', limit: 5}", images, FACTS_SAMPLED);
    char *full = facts_at("{type: 'idx'}", images, FACTS_FULL);
    assert_non_null(strstr(all, "train_data_path.fields=image float32 [1, 3, 2], label int64 [] of 10\n"));
    assert_non_null(strstr(all, "train_data_path.bytes=84\n"));
    assert_non_null(strstr(some, "train_data_path.bytes=35\n"));
    assert_false(facts_differ(all, full, NULL));
    assert_non_null(strstr(full, "train_data_path.sha256="));
    char *off = facts_at("{type: 'idx'}", images, FACTS_OFF);
    assert_string_equal(off, "");
    free(off);
    free(full);
    free(some);
    free(all);
    free(images);
}

static void test_arrays(void **state)
{
    (void)state;
    float x[] = {1, 2, 3, 4};
    st_tensor t = {.name = "x", .dtype = DT_F32, .rank = 2, .dim = {2, 2}, .data = x, .bytes = sizeof x};
    char *path = folder_file("x.safetensors"), *facts[2];
    for (int i = 0; i < 2; i++) {
        st_writer *w = NULL;
        x[3] += (float)i;
        assert_int_equal(st_writer_open(path, &t, 1, NULL, 0, &w, NULL), OK);
        assert_int_equal(st_writer_add(w, x, sizeof x, NULL), OK);
        assert_int_equal(st_writer_close(&w, NULL, NULL, NULL), OK);
        facts[i] = facts_at("{type: 'arrays'}", path, FACTS_SAMPLED);
    }
    assert_non_null(strstr(facts[0], "train_data_path.examples=2\n"));
    assert_true(facts_differ(facts[0], facts[1], NULL));
    free(facts[0]);
    free(facts[1]);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables),  cmocka_unit_test(test_texts),
        cmocka_unit_test(test_records), cmocka_unit_test(test_images_and_their_labels),
        cmocka_unit_test(test_arrays),
    };
    return cmocka_run_group_tests(tests, folder_set_up, folder_tear_down);
}
