#include "onnx/facts.h"

#include "common/base/alloc.h"
#include "common/base/gcs.h"
#include "onnx/external.h"

#include <stdlib.h>
#include <string.h>

/* The external files of a model, each once. */
typedef struct beside {
    const char **locations; /* borrowed of the model */
    fs_map *maps;
    size_t n, cap_locations, cap_maps;
} beside;

static bool is_known(const beside *b, const char *location)
{
    for (size_t i = 0; i < b->n; i++)
        if (strcmp(b->locations[i], location) == 0)
            return true;
    return false;
}

static status open_beside(const onnx_model *m, beside *b, error *err)
{
    const Onnx__GraphProto *g = m->proto->graph;
    for (size_t i = 0; i < g->n_initializer; i++) {
        const Onnx__TensorProto *t = g->initializer[i];
        const char *location = external_location(t);
        if (!location || is_known(b, location))
            continue;
        fs_map map;
        TRY(external_map(m, t, &map, err));
        GROW(b->locations, b->cap_locations, b->n + 1);
        GROW(b->maps, b->cap_maps, b->n + 1);
        b->locations[b->n] = location;
        b->maps[b->n++] = map;
    }
    return OK;
}

static void close_beside(beside *b)
{
    for (size_t i = 0; i < b->n; i++)
        fs_map_close(&b->maps[i]);
    free(b->locations);
    free(b->maps);
}

static void add_facts(const fs_map *file, const beside *b, const char *key, facts_check how, buf *ret)
{
    onnx_raw raw;
    char nodes[SHA256_HEX];
    buf rest = BUF_INIT;
    content_digest all = {.at = NULL};
    bool is_less = raw_take_out(file->data, file->bytes, &raw, &rest);
    sha256_hex(is_less ? (const void *)rest.data : file->data, is_less ? rest.size : file->bytes, nodes);
    facts_add(ret, key, "nodes_sha256", nodes);
    content_digest_add(&all, file->data, file->bytes);
    for (size_t i = 0; i < b->n; i++)
        content_digest_add(&all, b->maps[i].data, b->maps[i].bytes);
    facts_add_contents(ret, key, how, &all);
    content_digest_fini(&all);
    raw_fini(&raw);
    buf_fini(&rest);
}

status onnx_facts(const char *path, const char *file, facts_check how, buf *ret, error *err)
{
    if (how == FACTS_OFF)
        return OK;
    onnx_model *m = NULL;
    char *place = NULL;
    fs_map map = {.data = NULL};
    beside b = {.n = 0};
    status st;
    TRY_OUT(st, onnx_open(path, &m, err));
    TRY_OUT(st, open_beside(m, &b, err));
    TRY_OUT(st, gcs_path(path, &place, err));
    TRY_OUT(st, fs_map_open(place, &map, err));
    add_facts(&map, &b, file, how, ret);
out:
    fs_map_close(&map);
    free(place);
    close_beside(&b);
    onnx_close(&m);
    return st;
}
