/* Members of a tar file (archive.h; POSIX.1-2017, pax; GNU tar's "Basic Tar Format"). */
#include "data/index/archive.h"

#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "data/index/tar.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { LONG_NAME_MOST = 1 << 20 };

typedef struct tar_reader {
    const unsigned char *data;
    size_t bytes, at;               /* of the head that is read */
    const char *origin;
    char *long_name;                /* of the next member; NULL: its head has it */
    bool has_size;                  /* a pax head says how long the next member is */
    uint64_t size;
    size_t begin;                   /* the first of the heads that belong to the next member */
    archive_visit *visit;
    void *user;
} tar_reader;

static status damaged(const tar_reader *r, const char *what, error *err)
{
    return FAIL(err, E_DATA, "'%s': byte %zu: %s", r->origin, r->at, what);
}

/* Octal digits, or GNU's binary number where the first bit is set. */
static bool read_number(const unsigned char *p, size_t n, uint64_t *ret)
{
    uint64_t x = 0;
    if (*p & 0x80) {
        for (size_t i = 0; i < n; i++) {
            if (x >> 55)
                return false;
            x = x << 8 | (i ? p[i] : p[i] & 0x7f);
        }
        *ret = x;
        return true;
    }
    while (n > 0 && *p == ' ')
        p++, n--;
    size_t digits = 0;
    for (; digits < n && p[digits] >= '0' && p[digits] <= '7'; digits++)
        x = x << 3 | (uint64_t)(p[digits] - '0');
    *ret = x;
    return digits == n || p[digits] == ' ' || p[digits] == '\0';
}

static bool checksum_fits(const unsigned char *head)
{
    uint64_t stored, sum = 0;
    for (size_t i = 0; i < TAR_BLOCK; i++)
        sum += i >= TAR_CHECKSUM && i < TAR_CHECKSUM + TAR_CHECKSUM_BYTES ? ' ' : head[i];
    return read_number(head + TAR_CHECKSUM, TAR_CHECKSUM_BYTES, &stored) && stored == sum;
}

static char *short_name(const unsigned char *head)
{
    int name = (int)strnlen((const char *)head + TAR_NAME, TAR_NAME_BYTES);
    int prefix =
        memcmp(head + TAR_MAGIC, "ustar", 6) == 0 ? (int)strnlen((const char *)head + TAR_PREFIX, TAR_PREFIX_BYTES) : 0;
    return xasprintf("%.*s%s%.*s", prefix, (const char *)head + TAR_PREFIX, prefix ? "/" : "", name,
                     (const char *)head + TAR_NAME);
}

/* "<length> <key>=<value>\n", again and again. */
static status take_pax(tar_reader *r, const unsigned char *p, size_t n, error *err)
{
    while (n > 0) {
        char *end = NULL;
        char digits[24] = "";
        memcpy(digits, p, n < sizeof digits - 1 ? n : sizeof digits - 1);
        unsigned long long length = digits[0] >= '0' && digits[0] <= '9' ? strtoull(digits, &end, 10) : 0;
        size_t head = end ? (size_t)(end - digits) + 1 : 0;
        if (!end || *end != ' ' || length <= head || length > n || p[length - 1] != '\n')
            return damaged(r, "a pax head whose records do not fit", err);
        const char *record = (const char *)p + head;
        size_t left = (size_t)length - head - 1;
        if (left >= 5 && memcmp(record, "path=", 5) == 0) {
            free(r->long_name);
            r->long_name = xstrndup(record + 5, left - 5);
        } else if (left > 5 && left < sizeof digits + 5 && memcmp(record, "size=", 5) == 0) {
            memset(digits, 0, sizeof digits);
            memcpy(digits, record + 5, left - 5);
            r->has_size = true;
            r->size = strtoull(digits, &end, 10);
            if (*end || digits[0] == '-')
                return damaged(r, "a pax head whose size is no number", err);
        }
        p += length;
        n -= (size_t)length;
    }
    return OK;
}

static status take_member(tar_reader *r, const unsigned char *head, size_t size, error *err)
{
    const unsigned char *data = r->data + r->at + TAR_BLOCK;
    char kind = (char)head[TAR_KIND];
    if (kind == 'x')
        return take_pax(r, data, size, err);
    if (kind == 'L') {
        if (size > LONG_NAME_MOST)
            return damaged(r, "a name of more than a megabyte", err);
        free(r->long_name);
        r->long_name = xstrndup((const char *)data, size);
        return OK;
    }
    status st = OK;
    if (kind == '0' || kind == '\0' || kind == '7') {
        archive_member m = {
            .name = r->long_name ? r->long_name : short_name(head), .data = data, .bytes = size};
        r->long_name = NULL;
        st = r->visit(r->user, &m, r->begin, err);
    }
    if (kind != 'g' && kind != 'K') {
        free(r->long_name);
        r->long_name = NULL;
        r->has_size = false;
        r->begin = SIZE_MAX;
    }
    return st;
}

static bool is_zero(const unsigned char *block)
{
    for (size_t i = 0; i < TAR_BLOCK; i++)
        if (block[i])
            return false;
    return true;
}

static status next_head(tar_reader *r, error *err)
{
    r->begin = r->begin == SIZE_MAX ? r->at : r->begin;
    const unsigned char *head = r->data + r->at;
    if (!checksum_fits(head))
        return damaged(r, "the head of a member whose checksum does not fit: damaged, or no tar file", err);
    uint64_t size;
    if (!read_number(head + TAR_SIZE, TAR_SIZE_BYTES, &size))
        return damaged(r, "the head of a member whose size is no number", err);
    if (r->has_size && head[TAR_KIND] != 'x' && head[TAR_KIND] != 'g')
        size = r->size;
    if (size > r->bytes - r->at - TAR_BLOCK)
        return FAIL(err, E_DATA,
                    "'%s': byte %zu: a member of %" PRIu64 " bytes, but the file breaks off after %zu",
                    r->origin, r->at, size, r->bytes - r->at - TAR_BLOCK);
    TRY(take_member(r, head, (size_t)size, err));
    size_t blocks = ((size_t)size + TAR_BLOCK - 1) / TAR_BLOCK;
    r->at += TAR_BLOCK;
    r->at = blocks > (r->bytes - r->at) / TAR_BLOCK ? r->bytes : r->at + blocks * TAR_BLOCK;
    return OK;
}

status archive_walk_tar(const unsigned char *data, size_t bytes, const char *origin, bool is_whole,
                        archive_visit *visit, void *user, error *err)
{
    tar_reader r = {
        .data = data, .bytes = bytes, .origin = origin, .begin = SIZE_MAX, .visit = visit, .user = user};
    status st = OK;
    bool ended = false;
    while (st == OK && !ended && r.bytes - r.at >= TAR_BLOCK) {
        ended = is_zero(data + r.at);
        if (!ended)
            st = next_head(&r, err);
    }
    if (st == OK && !ended && is_whole)
        st = damaged(&r, "the file breaks off: a tar file ends with a block of zeros", err);
    free(r.long_name);
    return st;
}

typedef struct adding {
    archive *to;
    const char *origin;
} adding;

static status add_member(void *user, const archive_member *member, size_t begin, error *err)
{
    (void)begin;
    const adding *a = user;
    return archive_add(a->to, a->origin, *member, err);
}

status archive_read_tar(const unsigned char *data, size_t bytes, const char *origin, archive *ret, error *err)
{
    adding a = {.to = ret, .origin = origin};
    return archive_walk_tar(data, bytes, origin, true, add_member, &a, err);
}
