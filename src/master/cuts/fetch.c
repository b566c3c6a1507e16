#include "master/cuts/fetch.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct fetch {
    shard_report report;
    char file[64], sha256[SHA256_HEX];
    char *path, *beside;    /* where it goes; where it lies until it is whole, NULL then */
    int fd;
    uint64_t have;
    bool is_idle;           /* nothing came since fetches_next_idle looked */
    struct sha256 hash;
    struct fetch *next;
} fetch;

struct fetches {
    const jobdir *dir;
    fetch *open;
    fetch *done;            /* the one last completed: its report is borrowed */
};

fetches *fetches_create(const jobdir *dir)
{
    fetches *f = xcalloc(1, sizeof *f);
    f->dir = dir;
    return f;
}

static void fetch_free(fetch *one)
{
    if (!one)
        return;
    if (one->fd >= 0)
        close(one->fd);
    if (one->beside)
        unlink(one->beside);
    sha256_drop(&one->hash);
    free(one->beside);
    free(one->path);
    free(one);
}

void fetches_destroy(fetches **f)
{
    if (!f || !*f)
        return;
    for (fetch *one = (*f)->open; one;) {
        fetch *next = one->next;
        fetch_free(one);
        one = next;
    }
    fetch_free((*f)->done);
    free(*f);
    *f = NULL;
}

static fetch **fetch_find(fetches *f, int32_t shard, uint32_t id)
{
    fetch **at = &f->open;
    while (*at && ((*at)->report.shard != shard || (*at)->report.id != id))
        at = &(*at)->next;
    return at;
}

bool fetches_next_idle(fetches *f, void **at, shard_piece *ret)
{
    for (fetch *one = *at ? ((fetch *)*at)->next : f->open; one; one = one->next) {
        bool was_idle = one->is_idle;
        one->is_idle = true;
        if (!was_idle)
            continue;
        *at = one;
        *ret = (shard_piece){one->report.server, one->report.shard, one->report.id, one->have};
        return true;
    }
    return false;
}

status fetches_begin(fetches *f, const shard_report *r, const char *dir, error *err)
{
    if (*fetch_find(f, r->shard, r->id))
        return OK;
    if (strchr(r->file, '/') || strlen(r->file) >= sizeof(((fetch *)0)->file))
        return FAIL(err, E_PROTOCOL, "ps.%d: '%s' is no name of a shard", r->server, r->file);
    char *folder = jobdir_file(f->dir, "%s", dir);
    status st = fs_mkdir(folder, 2, err);
    free(folder);
    TRY(st);
    fetch *one = xcalloc(1, sizeof *one);
    one->report = *r;
    snprintf(one->file, sizeof one->file, "%s", r->file);
    snprintf(one->sha256, sizeof one->sha256, "%s", r->sha256);
    one->report.file = one->file;
    one->report.sha256 = one->sha256;
    one->path = jobdir_file(f->dir, "%s/%s", dir, r->file);
    one->beside = fs_beside(one->path);
    one->fd = open(one->beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (one->fd < 0) {
        st = fs_fail(err, "create", one->path);
        fetch_free(one);
        return st;
    }
    sha256_begin(&one->hash);
    one->next = f->open;
    f->open = one;
    return OK;
}

void fetches_drop(fetches *f, uint32_t id)
{
    for (fetch **at = &f->open; *at;) {
        fetch *one = *at;
        if (one->report.id != id) {
            at = &one->next;
            continue;
        }
        *at = one->next;
        fetch_free(one);
    }
}

static status fetch_complete(fetch *one, error *err)
{
    char digest[SHA256_HEX];
    sha256_end(&one->hash, digest);
    if (strcmp(digest, one->sha256) != 0)
        return FAIL(err, E_DATA, "%s: came with SHA-256 %.16s..., ps.%d wrote %.16s...", one->path, digest,
                    one->report.server, one->sha256);
    if (fsync(one->fd) != 0)
        return fs_fail(err, "sync", one->path);
    int closed = close(one->fd);
    one->fd = -1;
    if (closed != 0)
        return fs_fail(err, "close", one->path);
    if (rename(one->beside, one->path) != 0)
        return fs_fail(err, "rename to", one->path);
    free(one->beside);
    one->beside = NULL;
    return OK;
}

status fetches_take(fetches *f, const shard_piece *piece, const void *data, size_t bytes,
                    bool *ret_next, uint64_t *ret_offset, bool *ret_done, shard_report *ret, error *err)
{
    *ret_next = *ret_done = false;
    fetch **at = fetch_find(f, piece->shard, piece->id);
    fetch *one = *at;
    if (!one || piece->offset != one->have || one->have + bytes > one->report.bytes)
        return OK;
    one->is_idle = false;
    TRY(fs_write_all(one->fd, data, bytes, one->path, err));
    sha256_add(&one->hash, data, bytes);
    one->have += bytes;
    *ret_next = bytes > 0;
    *ret_offset = one->have;
    if (bytes || one->have < one->report.bytes)
        return bytes ? OK : FAIL(err, E_DATA, "%s: ps.%d ended it after %llu of %llu bytes", one->path,
                                 piece->server,
                                 (unsigned long long)one->have, (unsigned long long)one->report.bytes);
    *at = one->next;
    fetch_free(f->done);
    f->done = one;
    TRY(fetch_complete(one, err));
    *ret = one->report;
    *ret_done = true;
    return OK;
}
