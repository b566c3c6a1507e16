#include "ps/spool.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct shard {
    uint32_t id;
    int32_t number;
    int64_t version;
    char *path;
    int fd;
    struct shard *next;
} shard;

struct spool {
    char *root;
    shard *shards;              /* by version, the highest first */
};

enum { KEPT = 3 }; /* of those that are saved: an earlier one may be fetched still */

status spool_create(spool **ret, error *err)
{
    char *root = NULL;
    TRY(fs_make_temporary("spool", &root, err));
    *ret = xcalloc(1, sizeof **ret);
    (*ret)->root = root;
    return OK;
}

char *spool_dir(const spool *s, uint32_t id)
{
    return xasprintf("%s/%u", s->root, id);
}

/* At worst a folder in TMPDIR stays. */
static void remove_quietly(const char *path)
{
    status ignored = fs_remove_tree(path, NULL);
    (void)ignored;
}

static void spool_forget(spool *s, shard **at)
{
    shard *gone = *at;
    *at = gone->next;
    char *dir = spool_dir(s, gone->id);
    unlink(gone->path);
    rmdir(dir); /* once its last shard is gone */
    free(dir);
    close(gone->fd);
    free(gone->path);
    free(gone);
}

void spool_destroy(spool **s)
{
    if (!s || !*s)
        return;
    while ((*s)->shards)
        spool_forget(*s, &(*s)->shards);
    remove_quietly((*s)->root);
    free((*s)->root);
    free(*s);
    *s = NULL;
}

/* How many shards of its number lie before it that are saved, too. */
static int saved_before(const spool *s, const shard *last, int64_t saved)
{
    int n = 0;
    for (const shard *one = s->shards; one != last; one = one->next)
        n += one->number == last->number && one->version <= saved;
    return n;
}

void spool_saved(spool *s, int64_t saved)
{
    for (shard **at = &s->shards; *at;)
        if ((*at)->version <= saved && saved_before(s, *at, saved) >= KEPT)
            spool_forget(s, at);
        else
            at = &(*at)->next;
}

static shard *spool_find(const spool *s, uint32_t id, int32_t number)
{
    shard *one = s->shards;
    while (one && (one->id != id || one->number != number))
        one = one->next;
    return one;
}

/* A new one, in its place. */
static shard *insert(spool *s, const spool_shard *of)
{
    shard **at = &s->shards, *one = xcalloc(1, sizeof *one);
    while (*at && (*at)->version > of->version)
        at = &(*at)->next;
    *one = (shard){.id = of->id, .number = of->number, .version = of->version, .fd = -1, .next = *at};
    return *at = one;
}

status spool_add(spool *s, const spool_shard *of, error *err)
{
    char *dir = spool_dir(s, of->id), *path = xasprintf("%s/%s", dir, of->file);
    free(dir);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        status st = FAIL(err, E_IO, "open '%s': %s", path, strerror(errno));
        free(path);
        return st;
    }
    shard *one = spool_find(s, of->id, of->number);
    if (!one)
        one = insert(s, of);
    if (one->fd >= 0) /* told again, or written again for another era or master */
        close(one->fd);
    free(one->path);
    one->fd = fd;
    one->path = path;
    return OK;
}

status spool_read(spool *s, uint32_t id, int32_t number, uint64_t offset, buf *ret, error *err)
{
    const shard *one = spool_find(s, id, number);
    if (!one)
        return FAIL(err, E_PROTOCOL, "no shard %d of cut %u is kept here", number, id);
    buf_clear(ret);
    buf_reserve(ret, SPOOL_PIECE);
    ssize_t n = pread(one->fd, ret->data, SPOOL_PIECE, (off_t)offset);
    if (n < 0)
        return FAIL(err, E_IO, "read the shard of cut %u: %s", id, strerror(errno));
    ret->size = (size_t)n;
    return OK;
}
