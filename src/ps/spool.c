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
    char *path;
    int fd;
    struct shard *next;
} shard;

struct spool {
    char *root;
    shard *shards;              /* newest first */
};

/* As many as a master has open at once: it, or the next one, may ask for each. */
enum { KEPT = 4 };

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

static void forget(spool *s, shard **at)
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
        forget(*s, &(*s)->shards);
    remove_quietly((*s)->root);
    free((*s)->root);
    free(*s);
    *s = NULL;
}

/* The oldest of that number, when more are there than are kept. */
static void forget_oldest(spool *s, int32_t number)
{
    int n = 0;
    for (shard **at = &s->shards; *at; at = &(*at)->next) {
        if ((*at)->number != number || ++n <= KEPT)
            continue;
        forget(s, at);
        return;
    }
}

static shard *find(const spool *s, uint32_t id, int32_t number)
{
    shard *one = s->shards;
    while (one && (one->id != id || one->number != number))
        one = one->next;
    return one;
}

status spool_add(spool *s, uint32_t id, int32_t number, const char *file, error *err)
{
    char *dir = spool_dir(s, id), *path = xasprintf("%s/%s", dir, file);
    free(dir);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        status st = FAIL(err, E_IO, "open '%s': %s", path, strerror(errno));
        free(path);
        return st;
    }
    shard *one = find(s, id, number);
    bool is_new = !one;
    if (is_new) {
        one = xcalloc(1, sizeof *one);
        *one = (shard){.id = id, .number = number, .fd = -1, .next = s->shards};
        s->shards = one;
    }
    if (one->fd >= 0) /* told again, or written again for another era or master: it stays in its place */
        close(one->fd);
    free(one->path);
    one->fd = fd;
    one->path = path;
    if (is_new)
        forget_oldest(s, number);
    return OK;
}

status spool_read(spool *s, uint32_t id, int32_t number, uint64_t offset, buf *ret, error *err)
{
    const shard *one = find(s, id, number);
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
