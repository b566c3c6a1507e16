/* See source.h. */
#include "data/source.h"

#include "common/base/alloc.h"
#include "data/gunzip.h"

static status inflate_file(const char *path, source *s, error *err)
{
    TRY(gunzip_whole(s->map.data, s->map.bytes, (packing){.kind = PACKING_GZIP}, path, &s->heap, &s->bytes,
                     err));
    s->data = s->heap;
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
