/* See index.h. A kept index is a head and the records, as they lie in this machine's memory. */
#include "data/index/index.h"

#include "common/base/alloc.h"
#include "common/base/log.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { VERSION = 1, ONE = 1 }; /* ONE shows the order of bytes */

typedef struct index_head {
    char mark[8];
    uint32_t version, one, kind;
    uint32_t checksum;          /* of the head, this being 0, and of the records: CRC-32C */
    uint64_t n;
    cache_key key;
    char reserved[16];          /* the records begin at a multiple of 16 */
} index_head;

static const char mark[8] = "TQINDEX";

_Static_assert(sizeof(index_head) % sizeof(record_span) == 0, "records behind a head are aligned");

static uint32_t checksum_of(const index_head *head, const record_span *records)
{
    index_head h;
    memcpy(&h, head, sizeof h);
    h.checksum = 0;
    return crc32c(crc32c(0, &h, sizeof h), records, h.n * sizeof *records);
}

/* --- reading --- */

static bool records_are_within(const record_span *r, size_t n, uint64_t bytes)
{
    bool good = true;
    uint64_t behind = 0;
    for (size_t i = 0; i < n; i++) {
        good = good && r[i].at >= behind && r[i].at <= bytes && r[i].bytes <= bytes - r[i].at;
        behind = r[i].at + r[i].bytes;
    }
    return good;
}

/* What an index is made of, and for. */
typedef struct making {
    record_kind kind;
    const record_source *source;
    const cache_key *key;
    int threads;
    const char *path;
} making;

static bool is_index_of(const making *m, const fs_map *map)
{
    const index_head *h = (const index_head *)(const void *)map->data;
    if (map->bytes < sizeof *h || memcmp(h->mark, mark, sizeof mark) != 0)
        return false;
    const record_span *records = (const record_span *)(const void *)(map->data + sizeof *h);
    return h->version == VERSION && h->one == ONE && h->kind == (uint32_t)m->kind &&
           h->n <= SIZE_MAX / sizeof(record_span) && map->bytes - sizeof *h == h->n * sizeof(record_span) &&
           cache_key_is(&h->key, m->key) && h->checksum == checksum_of(h, records) &&
           records_are_within(records, h->n, m->source->bytes);
}

static bool load_index(const making *m, record_index *ret)
{
    fs_map map;
    if (!fs_exists(m->path) || fs_map_open(m->path, &map, NULL) != OK)
        return false;
    if (!is_index_of(m, &map)) {
        LOG_I("INDEX", "file=%s: its index in the cache is another file's or damaged: it is made anew",
              m->source->name);
        fs_map_close(&map);
        return false;
    }
    *ret = (record_index){.at = (const record_span *)(const void *)(map.data + sizeof(index_head)),
                          .n = ((const index_head *)(const void *)map.data)->n,
                          .map = map};
    return true;
}

/* --- making --- */

static status build_index(const making *m, record_index *ret, error *err)
{
    record_index x = {.is_new = true};
    TRY(records_cut(m->kind, m->source, m->threads, &x.own, err));
    x.at = x.own.at;
    x.n = x.own.n;
    *ret = x;
    return OK;
}

static status write_index(const making *m, const record_list *l, error *err)
{
    index_head head;
    memset(&head, 0, sizeof head);
    memcpy(head.mark, mark, sizeof mark);
    head.version = VERSION;
    head.one = ONE;
    head.kind = (uint32_t)m->kind;
    head.n = l->n;
    head.key = *m->key;
    head.checksum = checksum_of(&head, l->at);
    cache_file file;
    status st;
    TRY(cache_file_begin(m->path, &file, err));
    TRY_OUT(st, fs_write_all(file.fd, &head, sizeof head, file.beside, err));
    TRY_OUT(st, fs_write_all(file.fd, l->at, l->n * sizeof *l->at, file.beside, err));
out:
    return cache_file_end(&file, st, err);
}

/* With the lock: somebody may have made it meanwhile. What cannot be kept stays in memory. */
static status make_index(const making *m, record_index *ret, error *err)
{
    if (load_index(m, ret))
        return OK;
    record_index x, kept;
    error why = ERROR_INIT;
    TRY(build_index(m, &x, err));
    if (write_index(m, &x.own, &why) != OK)
        LOG_W("INDEX", "file=%s: its index stays in memory, and is made again at each start: %s",
              m->source->name, why.text);
    else if (load_index(m, &kept)) {
        index_close(&x);
        x = kept;
        x.is_new = true;
    }
    *ret = x;
    return OK;
}

status index_open(record_kind kind, const record_source *source, const cache_key *key, int threads,
                  record_index *ret, error *err)
{
    char *path = source->bytes < INDEX_KEPT_BYTES ? NULL : cache_path(key, ".index");
    making m = {.kind = kind, .source = source, .key = key, .threads = threads, .path = path};
    status st = OK;
    if (!path) {
        st = build_index(&m, ret, err);
    } else if (!load_index(&m, ret)) {
        int lock = cache_lock(path);
        st = make_index(&m, ret, err);
        cache_unlock(lock);
    }
    free(path);
    return st;
}

void index_close(record_index *x)
{
    fs_map_close(&x->map);
    record_list_fini(&x->own);
    *x = (record_index){.at = NULL};
}
