/* See source.h. */
#include "data/source.h"

#include "common/base/alloc.h"
#include "data/gunzip.h"

#include <stdlib.h>

enum { CHUNK = 1 << 16 };

static status inflated_bytes(const fs_map *map, const char *path, size_t *ret, error *err)
{
    gunzip *z = NULL;
    TRY(gunzip_open(map->data, map->bytes, path, &z, err));
    unsigned char *scratch = xmalloc(CHUNK);
    size_t all = 0, got = CHUNK;
    status st = OK;
    while (st == OK && got == CHUNK) {
        st = gunzip_read(z, scratch, CHUNK, &got, err);
        all += st == OK ? got : 0;
    }
    free(scratch);
    gunzip_close(&z);
    if (st == OK)
        *ret = all;
    return st;
}

/* Two passes: memory is taken once it is known how much. */
static status inflate_file(const char *path, source *s, error *err)
{
    size_t bytes, got;
    TRY(inflated_bytes(&s->map, path, &bytes, err));
    TRYF(mem_alloc(bytes, "an inflated file", &s->heap, err), err, "'%s'", path);
    gunzip *z = NULL;
    TRY(gunzip_open(s->map.data, s->map.bytes, path, &z, err));
    status st = gunzip_read(z, s->heap, bytes, &got, err);
    gunzip_close(&z);
    TRY(st);
    if (got != bytes)
        return FAIL(err, E_DATA, "'%s': changed while it was read", path);
    s->data = s->heap;
    s->bytes = bytes;
    fs_map_close(&s->map);
    return OK;
}

status source_open(const char *path, source *ret, error *err)
{
    source s = {.data = NULL};
    TRY(fs_map_open(path, &s.map, err));
    s.data = s.map.data;
    s.bytes = s.map.bytes;
    status st = OK;
    if (gunzip_is_gzip(s.data, s.bytes))
        st = inflate_file(path, &s, err);
    if (st == OK && s.bytes == 0)
        st = FAIL(err, E_DATA, "'%s': is empty", path);
    if (st != OK) {
        source_close(&s);
        return st;
    }
    *ret = s;
    return OK;
}

void source_close(source *s)
{
    mem_free(s->heap);
    fs_map_close(&s->map);
    *s = (source){.data = NULL};
}
