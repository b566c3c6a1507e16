/* IDX files: every type, plain and gzip, and every way in which they can lie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/rng.h"
#include "data/idx.h"
#include "support/folder.h"
#include "unit/data/support_idx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void expect_error(const buf *b, const char *part)
{
    error err = ERROR_INIT;
    idx f;
    assert_int_equal(idx_open_memory(b->data, b->size, "a.idx", &f, &err), E_DATA);
    if (!strstr(err.text, part) || !strstr(err.text, "a.idx"))
        fail_msg("message \"%s\" lacks \"%s\"", err.text, part);
}

static void opens(const buf *b, idx *ret)
{
    error err = ERROR_INIT;
    if (idx_open_memory(b->data, b->size, "a.idx", ret, &err) != OK)
        fail_msg("%s", err.text);
}

static uint64_t bits_of(double x, idx_type type)
{
    uint64_t bits = 0;
    float single = (float)x;
    if (type == IDX_F32)
        memcpy(&bits, &single, sizeof single);
    else if (type == IDX_F64)
        memcpy(&bits, &x, sizeof x);
    else
        bits = (uint64_t)(int64_t)x;
    return bits;
}

static void test_reads_every_type(void **state)
{
    (void)state;
    static const struct {
        idx_type type;
        double values[4];
    } cases[] = {
        {IDX_U8, {0, 1, 127, 255}},        {IDX_I8, {0, -1, 127, -128}},
        {IDX_I16, {0, -2, 32767, -32768}}, {IDX_I32, {0, -3, 2147483647.0, -2147483648.0}},
        {IDX_F32, {0, -0.5, 1.25, 3e20f}}, {IDX_F64, {0, -0.1, 1e-300, 1e300}},
    };
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        for (int packed = 0; packed < 2; packed++) {
            buf b = BUF_INIT;
            idx_header(&b, cases[c].type, 2, (uint32_t[]){2, 2});
            for (int i = 0; i < 4; i++)
                idx_big_endian(&b, bits_of(cases[c].values[i], cases[c].type),
                               (int)idx_type_bytes(cases[c].type));
            if (packed)
                idx_gzip(&b);
            idx f;
            opens(&b, &f);
            assert_int_equal(f.rank, 2);
            assert_int_equal(f.dim[1], 2);
            assert_int_equal(f.values_per_item, 2);
            for (size_t i = 0; i < 4; i++)
                assert_true(idx_number(&f, i) == cases[c].values[i]);
            idx_close(&f);
            buf_fini(&b);
        }
    }
}

static void test_reads_members_in_a_row(void **state)
{
    (void)state;
    buf whole = BUF_INIT, head = BUF_INIT, tail = BUF_INIT;
    idx_header(&head, 8, 1, (uint32_t[]){5});
    buf_add(&head, "ab", 2);
    buf_add(&tail, "cde", 3);
    idx_gzip(&head);
    idx_gzip(&tail);
    buf_add(&whole, head.data, head.size);
    buf_add(&whole, tail.data, tail.size);
    idx f;
    opens(&whole, &f);
    assert_memory_equal(f.values, "abcde", 5);
    idx_close(&f);
    buf_fini(&head);
    buf_fini(&tail);
    buf_fini(&whole);
}

static void small_file(buf *b)
{
    idx_header(b, 8, 2, (uint32_t[]){3, 2});
    buf_add(b, "\1\2\3\4\5\6", 6);
}

static void test_refuses_bad_headers(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t n;
        const char *text;
    } cases[] = {
        {"", 0, "ends after 0 bytes, inside the header of 4"},
        {"\0\0\10", 3, "ends after 3 bytes, inside the header of 4"},
        {"\1\0\10\1", 4, "bytes 0 and 1 are 01 00, an IDX file begins with 00 00"},
        {"\0\0\7\1", 4, "byte 2 (type) is 07, known are 08 (u8)"},
        {"\0\0\10\0", 4, "byte 3 (number of dimensions) is 0, expected 1 to 8"},
        {"\0\0\10\11", 4, "byte 3 (number of dimensions) is 9, expected 1 to 8"},
        {"\0\0\10\2\0\0\0\1\0\0", 10, "ends after 10 bytes, inside the header of 12"},
        {"\0\0\16\3\377\377\377\377\377\377\377\377\377\377\377\377", 16,
         "bytes 4 to 15 promise 4294967295 x 4294967295 x 4294967295 f64 values, more than memory"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        for (int packed = 0; packed < 2; packed++) {
            buf b = BUF_INIT;
            buf_add(&b, cases[i].bytes, cases[i].n);
            if (packed)
                idx_gzip(&b);
            expect_error(&b, cases[i].text);
            buf_fini(&b);
        }
    }
}

static void test_size_must_match_to_the_byte(void **state)
{
    (void)state;
    buf shorter = BUF_INIT, longer = BUF_INIT;
    small_file(&shorter);
    small_file(&longer);
    shorter.size--;
    buf_add(&longer, "x", 1);
    expect_error(&shorter, "the header promises 6 bytes of values (3 x 2 u8), the file holds 5");
    expect_error(&longer, "the header promises 6 bytes of values (3 x 2 u8), the file holds 7");
    idx_gzip(&shorter);
    idx_gzip(&longer);
    expect_error(&shorter, "the file holds 5");
    expect_error(&longer, "the file holds more than 6");
    buf_fini(&shorter);
    buf_fini(&longer);
}

static void test_a_promise_costs_no_memory(void **state)
{
    (void)state;
    buf b = BUF_INIT;
    idx_header(&b, 8, 2, (uint32_t[]){0x7fffffff, 0x7fffffff});
    idx_gzip(&b);
    expect_error(&b, "too few compressed bytes for that");
    buf_fini(&b);
}

static void test_refuses_damaged_gzip(void **state)
{
    (void)state;
    buf b = BUF_INIT;
    idx_header(&b, 8, 2, (uint32_t[]){100, 20});
    rng r = rng_make(1, RNG_TEST, 0);
    for (uint64_t i = 0; i < 2000; i++)
        idx_big_endian(&b, rng_u32(&r, i), 1);
    idx_gzip(&b);

    for (size_t keep = 2; keep < b.size; keep += 17) {
        buf cut = {.data = b.data, .size = keep};
        expect_error(&cut, "gzip data break off at byte");
    }
    b.data[b.size - 6] ^= 1; /* the checksum */
    expect_error(&b, "damaged gzip data before byte");
    b.data[b.size - 6] ^= 1;
    b.data[3] = 0x7f; /* reserved flags */
    expect_error(&b, "damaged gzip data");
    b.data[3] = 0;
    size_t end = b.size;
    buf_adds(&b, "tail");
    char text[64];
    snprintf(text, sizeof text, "4 bytes after the end of the gzip data at byte %zu", end);
    expect_error(&b, text);
    buf_fini(&b);
}

static void test_any_change_is_noticed_or_harmless(void **state)
{
    (void)state;
    buf b = BUF_INIT;
    small_file(&b);
    rng r = rng_make(2, RNG_TEST, 0);
    for (uint64_t round = 0; round < 4000; round++) {
        buf copy = BUF_INIT;
        buf_add(&copy, b.data, b.size);
        if (round % 2)
            idx_gzip(&copy);
        for (uint64_t k = 0; k < 1 + round % 3; k++)
            copy.data[rng_below(&r, 8 * round + k, copy.size)] =
                (char)rng_u32(&r, 4 * (8 * round + k) + 3);
        idx f;
        error err = ERROR_INIT;
        status st = idx_open_memory(copy.data, copy.size, "a.idx", &f, &err);
        if (st == OK)
            idx_close(&f);
        else
            assert_true(err.text[0] != '\0');
        buf_fini(&copy);
    }
    buf_fini(&b);
}

static void test_opens_files(void **state)
{
    (void)state;
    char *dir = folder_create();
    buf b = BUF_INIT;
    small_file(&b);
    char *plain = test_file(dir, "plain", &b);
    idx_gzip(&b);
    char *packed = test_file(dir, "packed", &b); /* known by its bytes, not by its name */
    for (int i = 0; i < 2; i++) {
        idx f;
        char text[IDX_DIMS_TEXT];
        assert_int_equal(idx_open(i ? packed : plain, &f, NULL), OK);
        assert_memory_equal(f.values, "\1\2\3\4\5\6", 6);
        assert_string_equal(idx_dims_text(&f, text), "3 x 2 u8");
        idx_close(&f);
    }
    error err = ERROR_INIT;
    idx f;
    assert_int_equal(idx_open("/nonexistent/file", &f, &err), E_DATA);
    assert_int_equal(err.code, E_DATA);
    assert_non_null(strstr(err.text, "/nonexistent/file"));
    free(plain);
    free(packed);
    buf_fini(&b);
    folder_destroy(&dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_every_type),
        cmocka_unit_test(test_reads_members_in_a_row),
        cmocka_unit_test(test_refuses_bad_headers),
        cmocka_unit_test(test_size_must_match_to_the_byte),
        cmocka_unit_test(test_a_promise_costs_no_memory),
        cmocka_unit_test(test_refuses_damaged_gzip),
        cmocka_unit_test(test_any_change_is_noticed_or_harmless),
        cmocka_unit_test(test_opens_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
