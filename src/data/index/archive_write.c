/* See archive_write.h. zlib counts in 32 bits, so it is given spans below 1 GB. */
#include "data/index/archive_write.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "data/index/tar.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { SPAN = 1 << 30 };

struct archive_writer {
    gzFile file;
    char *path, *beside;
};

static void writer_free(archive_writer **w)
{
    if ((*w)->file)
        gzclose_w((*w)->file);
    free((*w)->path);
    free((*w)->beside);
    free(*w);
    *w = NULL;
}

status archive_writer_create(const char *path, archive_writer **ret, error *err)
{
    archive_writer *w = xcalloc(1, sizeof *w);
    w->path = xstrdup(path);
    w->beside = fs_beside(path);
    w->file = gzopen(w->beside, "wb0");
    if (w->file) {
        *ret = w;
        return OK;
    }
    status st = fs_fail(err, "open", path);
    writer_free(&w);
    return st;
}

static status put_bytes(archive_writer *w, const void *data, size_t bytes, error *err)
{
    for (size_t at = 0; at < bytes;) {
        unsigned n = bytes - at < SPAN ? (unsigned)(bytes - at) : SPAN;
        errno = 0;
        if (gzwrite(w->file, (const unsigned char *)data + at, n) != (int)n)
            return fs_fail(err, "write to", w->path);
        at += n;
    }
    return OK;
}

static void put_head(const char *name, size_t bytes, unsigned char head[TAR_BLOCK])
{
    unsigned sum = 0;
    char size[24];
    memset(head, 0, TAR_BLOCK);
    snprintf((char *)head + TAR_NAME, TAR_NAME_BYTES, "%s", name);
    memcpy(head + TAR_MODE, "0000644", 8);
    memcpy(head + TAR_OWNER, "0000000", 8);
    memcpy(head + TAR_GROUP, "0000000", 8);
    memcpy(head + TAR_TIME, "00000000000", 12);
    if (bytes < (size_t)1 << 33) {
        snprintf(size, sizeof size, "%011" PRIo64, (uint64_t)bytes);
        memcpy(head + TAR_SIZE, size, TAR_SIZE_BYTES);
    } else { /* as GNU writes what eleven octal digits do not hold */
        head[TAR_SIZE] = 0x80;
        for (size_t i = 0; i < sizeof(uint64_t); i++)
            head[TAR_SIZE + TAR_SIZE_BYTES - 1 - i] = (unsigned char)((uint64_t)bytes >> 8 * i);
    }
    head[TAR_KIND] = '0';
    memcpy(head + TAR_MAGIC, "ustar\0" "00", 8);
    memset(head + TAR_CHECKSUM, ' ', TAR_CHECKSUM_BYTES);
    for (size_t i = 0; i < TAR_BLOCK; i++)
        sum += head[i];
    snprintf((char *)head + TAR_CHECKSUM, TAR_CHECKSUM_BYTES, "%06o", sum);
}

status archive_writer_add(archive_writer *w, const char *name, const void *data, size_t bytes, error *err)
{
    static const unsigned char zeros[TAR_BLOCK];
    unsigned char head[TAR_BLOCK];
    BUG_ON(strlen(name) >= TAR_NAME_BYTES);
    put_head(name, bytes, head);
    TRY(put_bytes(w, head, sizeof head, err));
    TRY(put_bytes(w, data, bytes, err));
    return put_bytes(w, zeros, (TAR_BLOCK - bytes % TAR_BLOCK) % TAR_BLOCK, err);
}

status archive_writer_finish(archive_writer **w, error *err)
{
    static const unsigned char zeros[2 * TAR_BLOCK];
    archive_writer *one = *w;
    status st = put_bytes(one, zeros, sizeof zeros, err);
    errno = 0;
    int code = gzclose_w(one->file);
    one->file = NULL;
    if (st == OK && code != Z_OK)
        st = fs_fail(err, "write to", one->path);
    if (st == OK && rename(one->beside, one->path) != 0)
        st = fs_fail(err, "rename to", one->path);
    if (st != OK)
        remove(one->beside);
    writer_free(w);
    return st;
}

void archive_writer_abandon(archive_writer **w)
{
    if (!*w)
        return;
    remove((*w)->beside);
    writer_free(w);
}
