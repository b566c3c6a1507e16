/* Archives that are damaged, lie, or lead out of themselves. Whole ones, made by tar and zip, are the
 * system test's (tests/system/shards.test). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/base/rng.h"
#include "data/index/archive.h"
#include "unit/data/support_idx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* --- tar --- */

static void add_member(buf *b, char kind, const char *name, const char *data)
{
    char head[512] = "";
    unsigned sum = 0;
    size_t bytes = strlen(data);
    snprintf(head, 100, "%s", name);
    snprintf(head + 124, 12, "%011o", (unsigned)bytes);
    head[156] = kind;
    memcpy(head + 257, "ustar\0" "00", 8);
    memset(head + 148, ' ', 8);
    for (size_t i = 0; i < sizeof head; i++)
        sum += (unsigned char)head[i];
    snprintf(head + 148, 8, "%06o", sum);
    buf_add(b, head, sizeof head);
    buf_add(b, data, bytes);
    while (b->size % 512)
        buf_add(b, "", 1);
}

static void end_tar(buf *b)
{
    static const char zeros[1024];
    buf_add(b, zeros, sizeof zeros);
}

static void expect_members(archive_kind kind, const buf *b, const char *members)
{
    archive a = {.at = NULL};
    error err = ERROR_INIT;
    assert_int_equal(archive_kind_of((unsigned char *)b->data, b->size), kind);
    if (archive_open(kind, (unsigned char *)b->data, b->size, "t", &a, &err) != OK)
        fail_msg("%s", err.text);
    buf all = BUF_INIT;
    for (size_t i = 0; i < a.n; i++)
        buf_addf(&all, "%s=%.*s;", a.at[i].name, (int)a.at[i].bytes, (const char *)a.at[i].data);
    assert_string_equal(all.data ? all.data : "", members);
    buf_fini(&all);
    archive_close(&a);
}

static void refuses(archive_kind kind, const buf *b, size_t bytes, const char *part)
{
    archive a = {.at = NULL};
    error err = ERROR_INIT;
    assert_int_equal(archive_open(kind, (unsigned char *)b->data, bytes, "t", &a, &err), E_DATA);
    assert_null(a.at);
    if (!strstr(err.text, part))
        fail_msg("message \"%s\" lacks \"%s\"", err.text, part);
}

static void test_tar(void **state)
{
    (void)state;
    buf b = BUF_INIT;
    add_member(&b, '0', "b", "second");
    add_member(&b, '5', "folder/", "");
    add_member(&b, 'x', "pax", "17 path=folder/a\n");
    add_member(&b, '0', "cut", "first");
    add_member(&b, 'L', "././@LongLink", "folder/c");
    add_member(&b, '0', "folder", "third");
    add_member(&b, '2', "link", "");
    end_tar(&b);
    expect_members(ARCHIVE_TAR, &b, "b=second;folder/a=first;folder/c=third;");
    refuses(ARCHIVE_TAR, &b, 512, "byte 0: a member of 6 bytes, but the file breaks off after 0");
    refuses(ARCHIVE_TAR, &b, 1024, "byte 1024: the file breaks off: a tar file ends with a block of zeros");
    b.data[1024 + 3] ^= 1;
    refuses(ARCHIVE_TAR, &b, b.size, "byte 1024: the head of a member whose checksum does not fit");
    buf_fini(&b);
}

static void test_names_that_lead_out(void **state)
{
    (void)state;
    static const char *const names[] = {"../x", "/etc/passwd", "a/../../x", "a/.."};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        buf b = BUF_INIT;
        char part[64];
        add_member(&b, '0', names[i], "x");
        end_tar(&b);
        snprintf(part, sizeof part, "'t': holds '%s', a name that leads out of the archive", names[i]);
        refuses(ARCHIVE_TAR, &b, b.size, part);
        buf_fini(&b);
    }
    buf b = BUF_INIT;
    add_member(&b, '0', "..a", "x");
    add_member(&b, '0', "b", "x");
    add_member(&b, '0', "b", "y");
    end_tar(&b);
    refuses(ARCHIVE_TAR, &b, b.size, "'t': holds 'b' twice");
    buf_fini(&b);
}

static void test_bad_pax(void **state)
{
    (void)state;
    static const char *const heads[] = {"5 path=x\n", "99 path=x\n", "path=x\n", "0 path=x\n", "11 size=1x\n"};
    for (size_t i = 0; i < COUNT_OF(heads); i++) {
        buf b = BUF_INIT;
        add_member(&b, 'x', "pax", heads[i]);
        add_member(&b, '0', "a", "x");
        end_tar(&b);
        refuses(ARCHIVE_TAR, &b, b.size, "byte 0: a pax head whose");
        buf_fini(&b);
    }
}

/* --- zip --- */

static void put(buf *b, uint64_t x, int bytes)
{
    for (int i = 0; i < bytes; i++)
        buf_add(b, &(char){(char)(x >> (8 * i))}, 1);
}

/* One stored member, its entry and the end. */
static void make_zip(buf *b, const char *name, const char *data, unsigned flags, unsigned method)
{
    size_t n = strlen(name), bytes = strlen(data);
    uint32_t sum = (uint32_t)crc32(0, (const unsigned char *)data, (unsigned)bytes);
    buf_add(b, "PK\3\4", 4);
    put(b, 20, 2), put(b, flags, 2), put(b, method, 2), put(b, 0, 4), put(b, sum, 4), put(b, bytes, 4),
        put(b, bytes, 4);
    put(b, n, 2), put(b, 0, 2);
    buf_add(b, name, n), buf_add(b, data, bytes);
    size_t at = b->size;
    buf_add(b, "PK\1\2", 4);
    put(b, 20, 2), put(b, 20, 2), put(b, flags, 2), put(b, method, 2), put(b, 0, 4), put(b, sum, 4),
        put(b, bytes, 4);
    put(b, bytes, 4), put(b, n, 2), put(b, 0, 2), put(b, 0, 2), put(b, 0, 2), put(b, 0, 2), put(b, 0, 4),
        put(b, 0, 4);
    buf_add(b, name, n);
    size_t directory = b->size - at;
    buf_add(b, "PK\5\6", 4);
    put(b, 0, 4), put(b, 1, 2), put(b, 1, 2), put(b, directory, 4), put(b, at, 4), put(b, 0, 2);
}

static void test_zip(void **state)
{
    (void)state;
    buf b = BUF_INIT;
    make_zip(&b, "a.jsonl", "lines", 0, 0);
    expect_members(ARCHIVE_ZIP, &b, "a.jsonl=lines;");
    for (size_t bytes = 0; bytes < b.size; bytes++)
        refuses(ARCHIVE_ZIP, &b, bytes, "the file breaks off: a zip file ends with its directory");
    size_t entry = 30 + 7 + 5;
    b.data[entry] = 'x';
    refuses(ARCHIVE_ZIP, &b, b.size, "'t': byte 42: here should be an entry of the directory");
    b.data[entry] = 'P';
    b.data[entry + 42] = 1;
    refuses(ARCHIVE_ZIP, &b, b.size,
            "'t!a.jsonl': byte 42: this member's head is not where the directory says");
    b.data[entry + 42] = 0;
    b.data[entry + 20] = 6;
    refuses(ARCHIVE_ZIP, &b, b.size, "this member is stored, yet has two sizes");
    b.data[entry + 21] = 127;
    refuses(ARCHIVE_ZIP, &b, b.size, "this member lies beyond the end of the file");
    buf_clear(&b);
    make_zip(&b, "a", "x", 1, 0);
    refuses(ARCHIVE_ZIP, &b, b.size, "this member is encrypted");
    buf_clear(&b);
    make_zip(&b, "a", "x", 0, 14);
    refuses(ARCHIVE_ZIP, &b, b.size, "this member is neither stored nor deflated");
    buf_clear(&b);
    make_zip(&b, "../a", "x", 0, 0);
    refuses(ARCHIVE_ZIP, &b, b.size, "'t': holds '../a', a name that leads out of the archive");
    buf_fini(&b);
}

static bool is_whole(const buf *b)
{
    archive a = {.at = NULL};
    assert_int_equal(archive_open(ARCHIVE_ZIP, (const unsigned char *)b->data, b->size, "t", &a, NULL), OK);
    bool whole = archive_member_is_whole(&a.at[0]);
    archive_close(&a);
    return whole;
}

static void test_checksums(void **state)
{
    (void)state;
    buf b = BUF_INIT;
    make_zip(&b, "a", "lines", 0, 0);
    assert_true(is_whole(&b));
    b.data[31] ^= 1;
    assert_false(is_whole(&b));
    memset(b.data + 36 + 16, 0, 4); /* the entry says none */
    assert_true(is_whole(&b));
    buf_fini(&b);
}

/* --- the bytes of a member that is deflated --- */

enum { HEAD = 10, TAIL = 8, AT = 5000, PLAIN = 4000 };

/* `how`: of the first `bytes` of them. */
static void refuses_member(const buf *b, size_t bytes, packing how, const char *text)
{
    error err = ERROR_INIT;
    void *plain = NULL;
    size_t n = 0;
    assert_int_equal(gunzip_whole(b->data + HEAD, bytes, how, "x.zip!a", &plain, &n, &err), E_DATA);
    if (!strstr(err.text, text))
        fail_msg("'%s' does not say '%s'", err.text, text);
}

static void test_damage_is_named_by_the_byte_of_the_archive(void **state)
{
    (void)state;
    buf b = BUF_INIT;
    char text[128];
    rng draws = rng_make(7, RNG_TEST, 0);
    for (uint64_t i = 0; i < PLAIN; i++)
        buf_addf(&b, "%c", (char)('a' + rng_below(&draws, i, 16)));
    packing how = {.kind = PACKING_DEFLATE, .checksum = (uint32_t)crc32(0, (unsigned char *)b.data, PLAIN), .at = AT};
    idx_gzip(&b);
    size_t bytes = b.size - HEAD - TAIL;
    snprintf(text, sizeof text, "'x.zip!a': the deflated data break off at byte %d", AT + 900);
    refuses_member(&b, 900, how, text);
    how.checksum ^= 1;
    snprintf(text, sizeof text, "'x.zip!a': damaged between byte %d, where its deflated data begin, and byte %zu,", AT,
             AT + bytes);
    refuses_member(&b, bytes, how, text);
    b.data[HEAD] |= 6; /* a kind of block that there is not */
    refuses_member(&b, bytes, how, "'x.zip!a': damaged deflated data before byte 500");
    buf_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tar),
        cmocka_unit_test(test_names_that_lead_out),
        cmocka_unit_test(test_bad_pax),
        cmocka_unit_test(test_zip),
        cmocka_unit_test(test_checksums),
        cmocka_unit_test(test_damage_is_named_by_the_byte_of_the_archive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
