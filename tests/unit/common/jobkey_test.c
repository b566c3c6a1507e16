/* CTest labels: smoke */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/jobkey.h"
#include "support/folder.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

static const char digits[] = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

static jobkey counting_key(void)
{
    jobkey k;
    for (int i = 0; i < JOBKEY_BYTES; i++)
        k.bytes[i] = (unsigned char)i;
    return k;
}

static void test_text(void **state)
{
    (void)state;
    jobkey k = counting_key(), back;
    char text[JOBKEY_TEXT];
    jobkey_text(&k, text);
    assert_string_equal(text, digits);
    char *around = xasprintf(" \t%s\r\n", digits);
    assert_int_equal(jobkey_parse(around, &back, NULL), OK);
    assert_true(jobkey_equal(&back, &k));
    free(around);
}

/* Refused, and the message does not repeat it. */
static void test_what_is_no_key(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "\n",
        "secret",
        "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e",
        "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20",
        "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1g",
        "000102030405060708090a0b0c0d0e0f 101112131415161718191a1b1c1d1e1",
        "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f again",
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        jobkey k = counting_key(), before = k;
        error err = ERROR_INIT;
        assert_int_equal(jobkey_parse(bad[i], &k, &err), E_CONFIG);
        assert_true(jobkey_equal(&k, &before));
        assert_non_null(strstr(err.text, "64 hexadecimal digits"));
        assert_null(strstr(err.text, "0001"));
        assert_null(strstr(err.text, "secret"));
    }
}

static void test_keys_are_random(void **state)
{
    (void)state;
    jobkey k[16];
    for (size_t i = 0; i < COUNT_OF(k); i++) {
        assert_int_equal(jobkey_make(&k[i], NULL), OK);
        for (size_t j = 0; j < i; j++)
            assert_false(jobkey_equal(&k[i], &k[j]));
    }
}

/* What ZeroMQ itself takes for a pair, the same each time, another one for each key and use. */
static void test_pairs(void **state)
{
    (void)state;
    jobkey keys[2] = {counting_key(), counting_key()};
    keys[1].bytes[31] ^= 1;
    jobkey_pair pairs[4], again;
    for (int i = 0; i < 4; i++) {
        jobkey_use use = i % 2 ? JOBKEY_LISTENERS : JOBKEY_DIALLERS;
        jobkey_derive(&keys[i / 2], use, &pairs[i]);
        jobkey_derive(&keys[i / 2], use, &again);
        assert_memory_equal(&pairs[i], &again, sizeof again);
        char secret[41], public[41];
        assert_non_null(zmq_z85_encode(secret, pairs[i].secret, JOBKEY_BYTES));
        assert_int_equal(zmq_curve_public(public, secret), 0);
        unsigned char bytes[JOBKEY_BYTES];
        assert_non_null(zmq_z85_decode(bytes, public));
        assert_memory_equal(bytes, pairs[i].public, sizeof bytes);
        assert_memory_not_equal(pairs[i].secret, keys[i / 2].bytes, JOBKEY_BYTES);
        for (int j = 0; j < i; j++)
            assert_memory_not_equal(pairs[i].secret, pairs[j].secret, JOBKEY_BYTES);
    }
}

static void test_files(void **state)
{
    (void)state;
    jobkey k = counting_key(), back;
    char *path = folder_file("key");
    mode_t mask = umask(0);
    assert_int_equal(jobkey_write(path, &k, NULL), OK);
    umask(mask);
    struct stat s;
    assert_int_equal(stat(path, &s), 0);
    assert_int_equal(s.st_mode & 07777, 0600);
    assert_int_equal(s.st_size, JOBKEY_TEXT);
    assert_int_equal(jobkey_read(path, &back, NULL), OK);
    assert_true(jobkey_equal(&back, &k));

    error err = ERROR_INIT;
    jobkey other = k;
    other.bytes[0] ^= 1;
    assert_int_equal(jobkey_write(path, &other, &err), E_CONFIG);
    assert_non_null(strstr(err.text, "not overwritten"));
    assert_int_equal(jobkey_read(path, &back, NULL), OK);
    assert_true(jobkey_equal(&back, &k));
    free(path);
}

static void test_files_that_others_may_use(void **state)
{
    (void)state;
    jobkey k = counting_key(), back;
    char *path = folder_file("open");
    assert_int_equal(jobkey_write(path, &k, NULL), OK);
    static const mode_t modes[] = {0640, 0604, 0620, 0602, 0610, 0601, 0644, 0777};
    for (size_t i = 0; i < COUNT_OF(modes); i++) {
        error err = ERROR_INIT;
        assert_int_equal(chmod(path, modes[i]), 0);
        assert_int_equal(jobkey_read(path, &back, &err), E_CONFIG);
        assert_non_null(strstr(err.text, path));
        assert_non_null(strstr(err.text, "chmod 600"));
    }
    assert_int_equal(chmod(path, 0400), 0);
    assert_int_equal(jobkey_read(path, &back, NULL), OK);
    free(path);
}

static void test_files_that_hold_no_key(void **state)
{
    (void)state;
    jobkey back;
    error err = ERROR_INIT;
    assert_int_equal(jobkey_read(folder_path(), &back, NULL), E_CONFIG);
    char *path = folder_file("none");
    assert_int_equal(jobkey_read(path, &back, &err), E_CONFIG);
    assert_non_null(strstr(err.text, "No such file"));
    error_clear(&err);
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    char noise[4096];
    memset(noise, 'a', sizeof noise);
    assert_int_equal(write(fd, noise, sizeof noise), sizeof noise);
    close(fd);
    assert_int_equal(jobkey_read(path, &back, &err), E_CONFIG);
    assert_non_null(strstr(err.text, path));
    assert_null(strstr(err.text, "aaaa"));
    free(path);
}

/* The same on every host, and neither the key nor another use's. */
static void test_tokens(void **state)
{
    (void)state;
    jobkey k = counting_key();
    char page[JOBKEY_TEXT], again[JOBKEY_TEXT], metrics[JOBKEY_TEXT], key[JOBKEY_TEXT];
    jobkey_derive_token(&k, JOBKEY_PAGE, page);
    jobkey_derive_token(&k, JOBKEY_PAGE, again);
    jobkey_derive_token(&k, JOBKEY_METRICS, metrics);
    jobkey_text(&k, key);
    assert_string_equal(page, again);
    assert_int_equal(strlen(page), JOBKEY_TEXT - 1);
    assert_string_not_equal(page, metrics);
    assert_string_not_equal(page, key);
    assert_true(jobkey_equal_bytes(page, again, JOBKEY_TEXT));
    assert_false(jobkey_equal_bytes(page, metrics, JOBKEY_TEXT));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_what_is_no_key),
        cmocka_unit_test(test_keys_are_random),
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_files_that_others_may_use),
        cmocka_unit_test(test_files_that_hold_no_key),
    };
    return cmocka_run_group_tests(tests, folder_set_up, folder_tear_down);
}
