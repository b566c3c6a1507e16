/* See inflated.h. A kept file is the inflated bytes and a tail that says of what they are. */
#include "data/index/inflated.h"

#include "common/base/alloc.h"
#include "common/base/log.h"

#include <stdlib.h>
#include <string.h>

enum { SMALL = 1 << 20, CHUNK = 1 << 20 };

typedef struct inflated_tail {
    char mark[8];
    uint64_t bytes;
    cache_key of;               /* the packed bytes */
    char sample[SHA256_HEX];    /* of the inflated ones */
    char reserved[7];
} inflated_tail;

static const char mark[8] = "TQPLAIN";

static void sample_of(const void *data, size_t bytes, char ret[SHA256_HEX])
{
    cache_key key;
    cache_key_make("", NULL, 0, data, bytes, &key);
    memcpy(ret, key.sample, SHA256_HEX);
}

/* --- in the cache --- */

static bool load_inflated(const char *path, const cache_key *of, inflated *ret)
{
    inflated f = {.data = NULL};
    inflated_tail tail;
    char sample[SHA256_HEX];
    if (!fs_exists(path) || fs_map_open(path, &f.map, NULL) != OK)
        return false;
    bool good = f.map.bytes > sizeof tail;
    if (good) {
        f.data = f.map.data;
        f.bytes = f.map.bytes - sizeof tail;
        memcpy(&tail, f.data + f.bytes, sizeof tail);
        good = memcmp(tail.mark, mark, sizeof mark) == 0 && tail.bytes == f.bytes && cache_key_is(&tail.of, of);
    }
    if (good) {
        sample_of(f.data, f.bytes, sample);
        good = memcmp(sample, tail.sample, sizeof sample) == 0;
    }
    if (good)
        *ret = f;
    else
        inflated_close(&f);
    return good;
}

static status write_stream(gunzip *z, int fd, const char *path, size_t *ret_bytes, error *err)
{
    void *chunk = xmalloc(CHUNK);
    size_t got = CHUNK;
    status st = OK;
    *ret_bytes = 0;
    while (st == OK && got == CHUNK) {
        TRY_OUT(st, gunzip_read(z, chunk, CHUNK, &got, err));
        TRY_OUT(st, fs_write_all(fd, chunk, got, path, err));
        *ret_bytes += got;
    }
out:
    free(chunk);
    return st;
}

static status write_tail(const cache_file *file, size_t bytes, const cache_key *of, error *err)
{
    fs_map map = {.data = NULL};
    inflated_tail tail;
    memset(&tail, 0, sizeof tail);
    memcpy(tail.mark, mark, sizeof mark);
    tail.bytes = bytes;
    tail.of = *of;
    TRY(fs_map_open(file->beside, &map, err));
    sample_of(map.data, bytes, tail.sample);
    fs_map_close(&map);
    return fs_write_all(file->fd, &tail, sizeof tail, file->beside, err);
}

static status write_inflated(const packed *from, const char *name, const char *path, const cache_key *of,
                             error *err)
{
    cache_file file;
    gunzip *z = NULL;
    size_t bytes = 0;
    status st;
    TRY(cache_file_begin(path, &file, err));
    TRY_OUT(st, gunzip_open(from->data, from->bytes, from->packing, name, &z, err));
    TRY_OUT(st, write_stream(z, file.fd, file.beside, &bytes, err));
    TRY_OUT(st, write_tail(&file, bytes, of, err));
out:
    gunzip_close(&z);
    TRY(cache_file_end(&file, st, err));
    LOG_W("INFLATED",
          "file=%s packed=%zu bytes=%zu into=%s: a second copy of the data, made once for all tasks of this "
          "host; data that are not compressed need none",
          name, from->bytes, bytes, path);
    return OK;
}

/* --- in memory --- */

static status inflate_to_memory(const packed *from, const char *name, inflated *ret, error *err)
{
    inflated f = {.data = NULL};
    TRY(gunzip_whole(from->data, from->bytes, from->packing, name, &f.heap, &f.bytes, err));
    f.data = f.heap;
    *ret = f;
    return OK;
}

/* --- either --- */

static status inflate_to_cache(const packed *from, const char *name, const char *path, const cache_key *of,
                               inflated *ret, error *err)
{
    error why = ERROR_INIT;
    status st = OK;
    int lock = cache_lock(path);
    if (!load_inflated(path, of, ret)) {
        st = write_inflated(from, name, path, of, &why);
        if (st == OK && !load_inflated(path, of, ret))
            st = FAIL(&why, E_IO, "'%s': is not what was written", path);
    }
    cache_unlock(lock);
    if (st == OK || st == E_DATA || st == E_ABORTED) {
        if (st != OK && err)
            *err = why;
        return st;
    }
    LOG_W("INFLATED", "file=%s: into the memory of each process: %s", name, why.text);
    return inflate_to_memory(from, name, ret, err);
}

status inflated_open(const packed *from, inflated *ret, error *err)
{
    if (from->packing.kind == PACKING_NONE) {
        *ret = (inflated){.data = from->data, .bytes = from->bytes};
        return OK;
    }
    cache_key of;
    cache_key_make(from->path, from->member, from->changed_ns, from->data, from->bytes, &of);
    char *name = xasprintf("%s%s%s", from->path, from->member ? "!" : "", from->member ? from->member : "");
    char *path = from->bytes < SMALL ? NULL : cache_path(&of, ".plain");
    status st = OK;
    if (!path)
        st = inflate_to_memory(from, name, ret, err);
    else if (!load_inflated(path, &of, ret))
        st = inflate_to_cache(from, name, path, &of, ret, err);
    free(path);
    free(name);
    return st;
}

void inflated_close(inflated *f)
{
    fs_map_close(&f->map);
    mem_free(f->heap);
    *f = (inflated){.data = NULL};
}
