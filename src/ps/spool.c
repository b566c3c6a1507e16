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

enum { KEPT = 3 };              /* a next master may ask for what the last one had half of */

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

static void let_go(shard *gone)
{
    if (gone->fd >= 0)
        close(gone->fd);
    free(gone->path);
    free(gone);
}

static void forget(spool *s, shard **at)
{
    shard *gone = *at;
    *at = gone->next;
    char *dir = spool_dir(s, gone->id);
    unlink(gone->path);
    rmdir(dir); /* once its last shard is gone */
    free(dir);
    let_go(gone);
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

/* One that was written again, in another era or for another master, lies where it lay. */
static void replace(spool *s, uint32_t id, int32_t number)
{
    shard **at = &s->shards;
    while (*at && ((*at)->id != id || (*at)->number != number))
        at = &(*at)->next;
    shard *gone = *at;
    if (gone) {
        *at = gone->next;
        let_go(gone);
    }
}

void spool_add(spool *s, uint32_t id, int32_t number, const char *file)
{
    replace(s, id, number);
    char *dir = spool_dir(s, id);
    shard **at = &s->shards;
    for (int n = 1; *at; at = &(*at)->next) {
        if ((*at)->number != number || ++n <= KEPT)
            continue;
        forget(s, at);
        break;
    }
    shard *one = xcalloc(1, sizeof *one);
    *one = (shard){.id = id, .number = number, .next = s->shards};
    one->path = xasprintf("%s/%s", dir, file);
    one->fd = open(one->path, O_RDONLY | O_CLOEXEC);
    s->shards = one;
    free(dir);
}

status spool_read(spool *s, uint32_t id, int32_t number, uint64_t offset, buf *ret, error *err)
{
    const shard *one = s->shards;
    while (one && (one->id != id || one->number != number))
        one = one->next;
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
