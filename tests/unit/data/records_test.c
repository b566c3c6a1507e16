/* Where records lie: lines against a plain loop, TFRecords and every way to damage one; failures in their
 * order however many threads look for them. CTest labels: tsan */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/hash.h"
#include "common/base/rng.h"
#include "data/index/parallel.h"
#include "data/index/records.h"
#include "unit/data/support_records.h"

#include <stdlib.h>
#include <string.h>

static void cut(record_kind kind, const void *data, size_t bytes, int threads, record_list *ret)
{
    error err = ERROR_INIT;
    record_source s = {.name = "t", .data = data, .bytes = bytes};
    if (records_cut(kind, &s, threads, ret, &err) != OK)
        fail_msg("%s", err.text);
}

static void expect_lines(const char *text, const char *lines)
{
    record_list l = {.at = NULL};
    buf all = BUF_INIT;
    cut(RECORD_LINES, text, strlen(text), 1, &l);
    for (size_t i = 0; i < l.n; i++)
        buf_addf(&all, "[%.*s]", (int)l.at[i].bytes, text + l.at[i].at);
    assert_string_equal(all.data ? all.data : "", lines);
    buf_fini(&all);
    record_list_fini(&l);
}

static void test_lines(void **state)
{
    (void)state;
    expect_lines("", "");
    expect_lines("\n\r\n  \t\n", "");
    expect_lines("a", "[a]");
    expect_lines("a\nb\r\n\n c \n", "[a][b][ c ]");
    expect_lines("\n\na\n", "[a]");
}

/* Tens of megabytes are cut in pieces, by several threads; lines lie across the seams, one is longer than
 * a piece. */
static void test_many_lines_are_cut_alike(void **state)
{
    (void)state;
    enum { BYTES = 50 << 20, LONG = 20 << 20 };
    char *text = xmalloc(BYTES);
    rng draws = rng_make(3, RNG_SAMPLE, 0);
    size_t at = 0, n = 0;
    record_span *want = xmalloc(BYTES / 2 * sizeof *want);
    memset(text, 'x', BYTES);
    for (uint64_t i = 0; at < BYTES; i++) {
        size_t bytes = i == 1000 ? LONG : rng_below(&draws, i, 200);
        bytes = bytes < BYTES - at ? bytes : BYTES - at;
        if (bytes)
            want[n++] = (record_span){at, bytes};
        at += bytes;
        if (at < BYTES)
            text[at++] = '\n';
    }
    for (int threads = 1; threads <= 4; threads += 3) {
        record_list l = {.at = NULL};
        cut(RECORD_LINES, text, BYTES, threads, &l);
        assert_int_equal(l.n, n);
        assert_memory_equal(l.at, want, n * sizeof *want);
        record_list_fini(&l);
    }
    free(want);
    free(text);
}

static void refuses(const buf *b, size_t bytes, const char *part)
{
    error err = ERROR_INIT;
    record_list l = {.at = NULL};
    record_source s = {.name = "t.tfrecord", .data = (unsigned char *)b->data, .bytes = bytes};
    assert_int_equal(records_cut(RECORD_TFRECORD, &s, 2, &l, &err), E_DATA);
    assert_null(l.at);
    if (!strstr(err.text, part))
        fail_msg("message \"%s\" lacks \"%s\"", err.text, part);
}

static void test_tfrecords(void **state)
{
    (void)state;
    /* TensorFlow's own: the head of a record of 24 bytes, as its writer makes it */
    static const unsigned char head[] = {24, 0, 0, 0, 0, 0, 0, 0, 0xa3, 0x7f, 0x4b, 0x22};
    uint32_t of_head;
    memcpy(&of_head, head + 8, 4);
    assert_int_equal(crc32c_masked(head, 8), of_head);
    buf b = BUF_INIT;
    records_add_tfrecord(&b, "first", 5);
    records_add_tfrecord(&b, "", 0);
    records_add_tfrecord(&b, "third record", 12);
    record_list l = {.at = NULL};
    cut(RECORD_TFRECORD, b.data, b.size, 2, &l);
    assert_int_equal(l.n, 3);
    assert_memory_equal(b.data + l.at[0].at, "first", 5);
    assert_int_equal(l.at[1].bytes, 0);
    assert_int_equal(l.at[2].bytes, 12);
    record_list_fini(&l);
    cut(RECORD_TFRECORD, b.data, 0, 2, &l);
    assert_int_equal(l.n, 0);
    for (size_t bytes = 1; bytes < b.size; bytes++)
        if (bytes != 21 && bytes != 37) /* whole records */
            refuses(&b, bytes, "the file breaks off after");
    b.data[37] ^= 1; /* the length of the third */
    refuses(&b, b.size, "'t.tfrecord': record 2 (byte 37): the checksum of its length does not fit");
    b.data[37] ^= 1;
    b.data[14] ^= 1; /* within the first */
    refuses(&b, b.size, "'t.tfrecord': record 0 (byte 0): its checksum does not fit");
    buf_fini(&b);
}

static void test_places(void **state)
{
    (void)state;
    static const unsigned char text[] = "a\n\nb\nc";
    record_source s = {.name = "t", .data = text, .bytes = 6};
    buf b = BUF_INIT;
    records_place(RECORD_LINES, &s, 5, 2, &b);
    assert_string_equal(b.data, "line 4 (byte 5)");
    buf_fini(&b);
}

static status fails_at_some(void *user, size_t i, error *err)
{
    (void)user;
    return i % 100 == 37 ? FAIL(err, E_DATA, "round %zu", i) : OK;
}

static status counts(void *user, size_t i, error *err)
{
    (void)err;
    ((char *)user)[i]++;
    return OK;
}

static void test_parallel_loops(void **state)
{
    (void)state;
    enum { N = 1000 };
    char seen[N] = "";
    assert_int_equal(parallel_for(N, 8, counts, seen, NULL), OK);
    for (size_t i = 0; i < N; i++)
        assert_int_equal(seen[i], 1);
    for (int again = 0; again < 50; again++) {
        error err = ERROR_INIT;
        assert_int_equal(parallel_for(N, 8, fails_at_some, NULL, &err), E_DATA);
        assert_string_equal(err.text, "round 37");
    }
    assert_int_equal(parallel_for(0, 0, fails_at_some, NULL, NULL), OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_many_lines_are_cut_alike),
        cmocka_unit_test(test_tfrecords),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_parallel_loops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
