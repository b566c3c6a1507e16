/* See kept_arrays.h. A kept file is the arrays, each at a multiple of KEPT_ALIGN, and then a tail: so they can be
 * written as they are made, before anybody knows how long they will be. */
#include "data/index/kept_arrays.h"

#include "common/base/alloc.h"
#include "common/base/log.h"
#include "common/base/read_progress.h"
#include "data/index/index.h"

#include <stdlib.h>
#include <string.h>

/* ONE shows the order of bytes; PIECE: bytes that are written, or whose checksum is taken, at a time. */
enum { VERSION = 1, ONE = 1, PIECE = 16 << 20 };

typedef struct kept_tail {
    char mark[8];
    uint32_t version, one;
    uint32_t checksum;              /* of all bytes before, and of the tail, this being 0: CRC-32C */
    uint32_t n_arrays;
    uint64_t n[KEPT_ARRAYS], width[KEPT_ARRAYS];
    cache_key key;
} kept_tail;

static const char mark[8] = "TQARRAY";

struct kept_writer {
    const kept_recipe *recipe;
    size_t which;                   /* the array that is at work */
    size_t n[KEPT_ARRAYS];
    cache_file *file;               /* NULL: they stay in memory */
    uint64_t written;               /* to the file */
    uint32_t checksum;              /* of that */
    bool has_failed;                /* to write, whatever else fails */
    void *heap[KEPT_ARRAYS];
    size_t cap[KEPT_ARRAYS];        /* bytes */
};

/* --- writing --- */

/* Piece by piece: each is progress. */
static status put(kept_writer *w, const void *data, size_t bytes, error *err)
{
    status st = OK;
    for (size_t at = 0, n; at < bytes && st == OK; at += n) {
        const char *piece = (const char *)data + at;
        n = bytes - at < PIECE ? bytes - at : PIECE;
        st = fs_write_all(w->file->fd, piece, n, w->file->beside, err);
        w->checksum = crc32c(w->checksum, piece, n);
        read_progress_add(0);
    }
    w->has_failed = st != OK;
    w->written += bytes;
    return st;
}

static status pad(kept_writer *w, error *err)
{
    static const char zeros[KEPT_ALIGN];
    return put(w, zeros, (size_t)(-w->written % KEPT_ALIGN), err);
}

/* The first piece takes what it needs: mostly it is all. */
static status grow(kept_writer *w, size_t which, size_t bytes, error *err)
{
    size_t cap = w->cap[which] * 2;
    void *room = NULL;
    if (bytes <= w->cap[which])
        return OK;
    cap = cap < bytes ? bytes : cap;
    TRYF(mem_alloc(cap, w->recipe->what, &room, err), err, "'%s'", w->recipe->of);
    if (w->heap[which])
        memcpy(room, w->heap[which], w->n[which] * w->recipe->width[which]);
    mem_free(w->heap[which]);
    w->heap[which] = room;
    w->cap[which] = cap;
    return OK;
}

status kept_write(kept_writer *w, size_t which, const void *items, size_t n, error *err)
{
    size_t width = w->recipe->width[which], before = w->n[which] * width;
    BUG_ON(which < w->which || which >= w->recipe->n);
    if (w->file && which > w->which)
        TRY(pad(w, err));
    w->which = which;
    if (w->file)
        TRY(put(w, items, n * width, err));
    else
        TRY(grow(w, which, before + n * width, err));
    if (!w->file && n > 0)
        memcpy((char *)w->heap[which] + before, items, n * width);
    w->n[which] += n;
    return OK;
}

/* --- reading --- */

static uint32_t checksum_of(uint32_t before, const kept_tail *tail)
{
    kept_tail t;
    memcpy(&t, tail, sizeof t);
    t.checksum = 0;
    return crc32c(before, &t, sizeof t);
}

static uint32_t checksum_of_bytes(const unsigned char *data, size_t bytes)
{
    uint32_t checksum = 0;
    for (size_t at = 0; at < bytes; at += PIECE) {
        checksum = crc32c(checksum, data + at, bytes - at < PIECE ? bytes - at : PIECE);
        read_progress_add(0);
    }
    return checksum;
}

/* Where the arrays lie; false: not as the recipe and the file's size have it. */
static bool lay_out(const kept_recipe *r, const kept_tail *tail, const fs_map *map, kept_arrays *ret)
{
    size_t at = 0, room = map->bytes - sizeof *tail;
    if (tail->n_arrays != r->n)
        return false;
    for (size_t i = 0; i < r->n; i++) {
        size_t bytes, skip = -at % KEPT_ALIGN;
        if (tail->width[i] != r->width[i] || !size_mul(tail->n[i], r->width[i], &bytes) || skip > room - at ||
            bytes > room - at - skip)
            return false;
        ret->at[i] = (kept_array){.at = (char *)(uintptr_t)map->data + at + skip, .n = tail->n[i]};
        at += skip + bytes;
    }
    return room == at + -at % KEPT_ALIGN;
}

/* With `is_old` of other data too. */
static bool is_file_of(const cache_key *key, bool is_old, const kept_recipe *r, const fs_map *map, kept_arrays *ret)
{
    kept_tail tail;
    if (map->bytes < sizeof tail)
        return false;
    size_t before = map->bytes - sizeof tail;
    memcpy(&tail, map->data + before, sizeof tail);
    return memcmp(tail.mark, mark, sizeof mark) == 0 && tail.version == VERSION && tail.one == ONE &&
           (is_old ? memcmp(tail.key.name, key->name, sizeof key->name) == 0 : cache_key_is(&tail.key, key)) &&
           lay_out(r, &tail, map, ret) &&
           tail.checksum == checksum_of(checksum_of_bytes(map->data, before), &tail) &&
           (is_old || r->is_sound(r->user, ret));
}

static bool load_file(const char *path, const cache_key *key, bool is_old, const kept_recipe *r, kept_arrays *ret)
{
    kept_arrays a = {.is_new = false};
    if (!fs_exists(path) || fs_map_open(path, &a.map, NULL) != OK)
        return false;
    bool good = is_file_of(key, is_old, r, &a.map, &a);
    if (good)
        *ret = a;
    else
        fs_map_close(&a.map);
    return good;
}

static bool load(const char *path, const cache_key *key, const kept_recipe *r, kept_arrays *ret)
{
    return load_file(path, key, false, r, ret);
}

/* --- making --- */

static status make_in_memory(const kept_recipe *r, kept_arrays *ret, error *err)
{
    kept_writer w = {.recipe = r};
    kept_arrays a = {.is_new = true};
    status st = r->make(r->user, &w, err);
    for (size_t i = 0; i < r->n; i++) {
        a.heap[i] = w.heap[i];
        a.at[i] = (kept_array){.at = w.heap[i], .n = w.n[i]};
    }
    if (st == OK)
        *ret = a;
    else
        kept_arrays_close(&a);
    return st;
}

static status end_file(kept_writer *w, const cache_key *key, error *err)
{
    kept_tail tail;
    TRY(pad(w, err));
    memset(&tail, 0, sizeof tail);
    memcpy(tail.mark, mark, sizeof mark);
    tail.version = VERSION;
    tail.one = ONE;
    tail.n_arrays = (uint32_t)w->recipe->n;
    tail.key = *key;
    for (size_t i = 0; i < w->recipe->n; i++) {
        tail.n[i] = w->n[i];
        tail.width[i] = w->recipe->width[i];
    }
    tail.checksum = checksum_of(w->checksum, &tail);
    return put(w, &tail, sizeof tail, err);
}

/* *ret_kept: it is there. What failed otherwise than by the file is returned. */
static status write_file(const char *path, const cache_key *key, const kept_recipe *r, bool *ret_kept, error *err)
{
    cache_file file;
    error why = ERROR_INIT;
    kept_writer w = {.recipe = r, .file = &file};
    status st = cache_file_begin(path, &file, &why);
    bool has_begun = st == OK, is_make_done = false;
    if (has_begun) {
        st = r->make(r->user, &w, &why);
        is_make_done = st == OK;
    }
    if (is_make_done)
        st = end_file(&w, key, &why);
    if (has_begun)
        st = cache_file_end(&file, st, &why);
    *ret_kept = st == OK;
    if (st == OK)
        return OK;
    if (has_begun && !is_make_done && !w.has_failed) {
        if (err)
            *err = why;
        return st;
    }
    LOG_W("KEPT", "path=%s: its %s stay in the memory of each process, and are made again at each start: %s", r->of,
          r->what, why.text);
    return OK;
}

static status make_file(const char *path, const cache_key *key, const kept_recipe *r, kept_arrays *ret, error *err)
{
    bool is_kept = false;
    TRY(write_file(path, key, r, &is_kept, err));
    if (!is_kept || !load(path, key, r, ret))
        return make_in_memory(r, ret, err);
    ret->is_new = true;
    return OK;
}

/* With the lock: somebody may have made it meanwhile. */
static status make(const char *path, const cache_key *key, const kept_recipe *r, kept_arrays *ret, error *err)
{
    kept_arrays old = {.is_new = false};
    if (load(path, key, r, ret))
        return OK;
    bool has_old = r->take_old && load_file(path, key, true, r, &old);
    if (fs_exists(path))
        LOG_I("KEPT", "path=%s: its %s in the cache are of other data or damaged: they are made anew%s", r->of, r->what,
              has_old ? ", but for what is still true" : "");
    if (has_old)
        r->take_old(r->user, &old);
    status st = make_file(path, key, r, ret, err);
    if (has_old)
        r->take_old(r->user, NULL);
    kept_arrays_close(&old);
    return st;
}

status kept_arrays_open(const cache_key *key, const kept_recipe *r, kept_arrays *ret, error *err)
{
    char *ending = xasprintf(".%s", r->what), *doing = xasprintf("making the %s of", r->what);
    read_progress_begin(doing, r->of, r->source_bytes, NULL);
    char *path = r->source_bytes < INDEX_KEPT_BYTES ? NULL : cache_path(key, ending);
    status st = OK;
    if (!path) {
        st = make_in_memory(r, ret, err);
    } else if (!load(path, key, r, ret)) {
        int lock = cache_lock(path);
        st = make(path, key, r, ret, err);
        cache_unlock(lock);
    }
    free(path);
    free(doing);
    free(ending);
    return st;
}

void kept_arrays_close(kept_arrays *a)
{
    fs_map_close(&a->map);
    for (size_t i = 0; i < KEPT_ARRAYS; i++)
        mem_free(a->heap[i]);
    *a = (kept_arrays){.is_new = false};
}

size_t kept_arrays_heap_bytes(const kept_arrays *a, const kept_recipe *r)
{
    size_t bytes = 0;
    for (size_t i = 0; i < r->n; i++)
        bytes += a->heap[i] ? a->at[i].n * r->width[i] : 0;
    return bytes;
}
