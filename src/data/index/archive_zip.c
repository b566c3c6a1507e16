/* Members of a zip file, by its central directory (archive.h; PKWARE's APPNOTE 6.3). */
#include "data/index/archive.h"

#include "common/base/alloc.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

/* Signatures, and bytes of what has no variable part. */
enum {
    END_BYTES = 22,
    COMMENT_MOST = 65535,
    LOCATOR_BYTES = 20,
    END64_BYTES = 56,
    ENTRY_BYTES = 46,
    LOCAL_BYTES = 30
};
enum { STORED = 0, DEFLATED = 8, ENCRYPTED = 1, EXTRA_ZIP64 = 1 };
static const char end_mark[] = "PK\5\6", locator_mark[] = "PK\6\7", end64_mark[] = "PK\6\6",
                  entry_mark[] = "PK\1\2", local_mark[] = "PK\3\4";

typedef struct zip_reader {
    const unsigned char *data;
    size_t bytes;
    const char *origin;
} zip_reader;

static uint64_t number(const unsigned char *p, size_t n)
{
    uint64_t x = 0;
    memcpy(&x, p, n);
    return le64toh(x);
}

static bool stands_at(const zip_reader *z, uint64_t at, size_t bytes, const char *signature)
{
    return at <= z->bytes && bytes <= z->bytes - at && memcmp(z->data + at, signature, 4) == 0;
}

static status damaged(const zip_reader *z, uint64_t at, const char *what, error *err)
{
    return FAIL(err, E_DATA, "'%s': byte %llu: %s", z->origin, (unsigned long long)at, what);
}

/* Where the directory begins and how many entries it has. */
static status find_directory(const zip_reader *z, uint64_t *ret_at, uint64_t *ret_n, error *err)
{
    size_t last = z->bytes < END_BYTES ? 0 : z->bytes - END_BYTES, back = 0;
    while (back < COMMENT_MOST && back < last && !stands_at(z, last - back, END_BYTES, end_mark))
        back++;
    uint64_t end = last - back;
    if (!stands_at(z, end, END_BYTES, end_mark))
        return damaged(z, z->bytes, "the file breaks off: a zip file ends with its directory", err);
    *ret_n = number(z->data + end + 10, 2);
    *ret_at = number(z->data + end + 16, 4);
    if (end < LOCATOR_BYTES || !stands_at(z, end - LOCATOR_BYTES, LOCATOR_BYTES, locator_mark))
        return OK;
    uint64_t end64 = number(z->data + end - LOCATOR_BYTES + 8, 8);
    if (!stands_at(z, end64, END64_BYTES, end64_mark))
        return damaged(z, end - LOCATOR_BYTES, "the end of a ZIP64 directory is not where this says", err);
    *ret_n = number(z->data + end64 + 32, 8);
    *ret_at = number(z->data + end64 + 48, 8);
    return OK;
}

typedef struct zip_entry {
    uint64_t packed, plain, local;
    uint32_t checksum;
    unsigned method, flags;
} zip_entry;

/* What does not fit into 32 bits stands in an extra field, in this order. */
static bool take_extra(const unsigned char *p, size_t n, zip_entry *e)
{
    uint64_t *const wide[] = {&e->plain, &e->packed, &e->local};
    while (n >= 4) {
        size_t size = number(p + 2, 2), at = 4;
        if (size > n - 4)
            return false;
        for (size_t i = 0; number(p, 2) == EXTRA_ZIP64 && i < COUNT_OF(wide); i++)
            if (*wide[i] == UINT32_MAX) {
                if (at + 8 > size + 4)
                    return false;
                *wide[i] = number(p + at, 8);
                at += 8;
            }
        p += size + 4;
        n -= size + 4;
    }
    return true;
}

static status add_entry(const zip_reader *z, uint64_t at, const zip_entry *e, char *name, archive *ret,
                        error *err)
{
    uint64_t head = e->local;
    const char *wrong = NULL;
    if (!stands_at(z, head, LOCAL_BYTES, local_mark))
        wrong = "this member's head is not where the directory says";
    else if (e->flags & ENCRYPTED)
        wrong = "this member is encrypted";
    else if (e->method != STORED && e->method != DEFLATED)
        wrong = "this member is neither stored nor deflated: pack it with `zip`";
    uint64_t data =
        wrong ? 0 : head + LOCAL_BYTES + number(z->data + head + 26, 2) + number(z->data + head + 28, 2);
    if (!wrong && (data > z->bytes || e->packed > z->bytes - data))
        wrong = "this member lies beyond the end of the file";
    if (!wrong && e->method == STORED && e->packed != e->plain)
        wrong = "this member is stored, yet has two sizes";
    if (wrong) {
        status st = FAIL(err, E_DATA, "'%s!%s': byte %llu: %s", z->origin, name, (unsigned long long)at, wrong);
        free(name);
        return st;
    }
    return archive_add(ret, z->origin,
                       (archive_member){.name = name,
                                        .data = z->data + data,
                                        .bytes = (size_t)e->packed,
                                        .packing = {.kind = e->method == DEFLATED ? PACKING_DEFLATE : PACKING_NONE,
                                                    .checksum = e->checksum}},
                       err);
}

/* *at: of an entry, then of the next. */
static status take_entry(const zip_reader *z, uint64_t *at, archive *ret, error *err)
{
    if (!stands_at(z, *at, ENTRY_BYTES, entry_mark))
        return damaged(z, *at, "here should be an entry of the directory", err);
    const unsigned char *p = z->data + *at;
    size_t name = number(p + 28, 2), extra = number(p + 30, 2), comment = number(p + 32, 2);
    zip_entry e = {.flags = (unsigned)number(p + 8, 2),
                   .method = (unsigned)number(p + 10, 2),
                   .checksum = (uint32_t)number(p + 16, 4),
                   .packed = number(p + 20, 4),
                   .plain = number(p + 24, 4),
                   .local = number(p + 42, 4)};
    if (name + extra + comment > z->bytes - *at - ENTRY_BYTES || !take_extra(p + ENTRY_BYTES + name, extra, &e))
        return damaged(z, *at, "an entry of the directory that is longer than it", err);
    bool is_folder = name > 0 && p[ENTRY_BYTES + name - 1] == '/';
    if (!is_folder)
        TRY(add_entry(z, *at, &e, xstrndup((const char *)p + ENTRY_BYTES, name), ret, err));
    *at += ENTRY_BYTES + name + extra + comment;
    return OK;
}

status archive_read_zip(const unsigned char *data, size_t bytes, const char *origin, archive *ret, error *err)
{
    zip_reader z = {.data = data, .bytes = bytes, .origin = origin};
    uint64_t at = 0, n = 0;
    TRY(find_directory(&z, &at, &n, err));
    for (uint64_t i = 0; i < n; i++)
        TRY(take_entry(&z, &at, ret, err));
    return OK;
}
