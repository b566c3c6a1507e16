#include "onnx/external.h"

#include "common/base/alloc.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct place {
    const char *location;
    uint64_t offset, length;
    bool has_length;
} place;

static status number(const char *key, const char *text, uint64_t *ret, error *err)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno)
        return FAIL(err, E_DATA, "the %s of its external data is '%s', no number", key, text);
    *ret = value;
    return OK;
}

static status read_place(const Onnx__TensorProto *t, place *ret, error *err)
{
    place p = {.location = NULL};
    for (size_t i = 0; i < t->n_external_data; i++) {
        const char *key = onnx_text(t->external_data[i]->key);
        const char *value = onnx_text(t->external_data[i]->value);
        if (strcmp(key, "location") == 0)
            p.location = value;
        if (strcmp(key, "offset") == 0)
            TRY(number(key, value, &p.offset, err));
        if (strcmp(key, "length") == 0) {
            TRY(number(key, value, &p.length, err));
            p.has_length = true;
        }
    }
    if (!p.location || !*p.location)
        return FAIL(err, E_DATA, "its external data have no location");
    *ret = p;
    return OK;
}

static bool climbs(const char *location)
{
    for (const char *at = location; at; at = strchr(at, '/')) {
        at += *at == '/';
        if (strncmp(at, "..", 2) == 0 && (at[2] == '/' || !at[2]))
            return true;
    }
    return false;
}

/* The file's real path, which must begin with the folder's. */
static status resolve(const onnx_model *m, const char *location, char **ret, error *err)
{
    if (!m->folder)
        return FAIL(err, E_DATA, "its data lie in another file, '%s', but this model has no folder",
                    location);
    if (*location == '/' || climbs(location))
        return FAIL(err, E_DATA,
                    "its data lie in '%s': only files in the model's own folder are read",
                    location);
    status st = OK;
    char *path = xasprintf("%s%s", m->folder, location);
    char *home = realpath(m->folder, NULL), *real = realpath(path, NULL);
    size_t n = home ? strlen(home) : 0;
    if (!real || !home)
        st = FAIL(err, E_DATA, "its external data '%s': %s", path, strerror(errno));
    else if (n > 1 && (strncmp(real, home, n) != 0 || (real[n] && real[n] != '/')))
        st = FAIL(err, E_DATA, "its data '%s' are a link that leads out of the model's folder",
                  location);
    if (st == OK)
        *ret = xstrdup(real);
    free(path);
    free(real);
    free(home);
    return st;
}

static status check_extent(const place *p, size_t bytes, size_t file, error *err)
{
    if (p->has_length && p->length != bytes)
        return FAIL(err, E_DATA, "%" PRIu64 " bytes of external data, its shape and type need %zu",
                    p->length, bytes);
    if (p->offset > file || bytes > file - p->offset)
        return FAIL(err, E_DATA,
                    "its external data are bytes %" PRIu64 " to %" PRIu64 " of '%s', which has %zu",
                    p->offset, p->offset + bytes, p->location, file);
    return OK;
}

static status map_file(const onnx_model *m, const place *p, fs_map *ret, error *err)
{
    char *path = NULL;
    TRY(resolve(m, p->location, &path, err));
    status st = fs_map_open(path, ret, err);
    free(path);
    return st;
}

const char *external_location(const Onnx__TensorProto *t)
{
    place p = {.location = NULL};
    bool is_external = t->data_location == 1;
    return is_external && read_place(t, &p, NULL) == OK ? p.location : NULL;
}

status external_map(const onnx_model *m, const Onnx__TensorProto *t, fs_map *ret, error *err)
{
    place p = {.location = NULL};
    TRY(read_place(t, &p, err));
    return map_file(m, &p, ret, err);
}

status external_open(const onnx_model *m, const Onnx__TensorProto *t, size_t bytes, fs_map *ret_map,
                     const unsigned char **ret_raw, error *err)
{
    place p = {.location = NULL};
    fs_map map = {0};
    TRY(read_place(t, &p, err));
    TRY(map_file(m, &p, &map, err));
    status st = check_extent(&p, bytes, map.bytes, err);
    if (st != OK) {
        fs_map_close(&map);
        return st;
    }
    *ret_map = map;
    *ret_raw = map.data ? map.data + p.offset : (const unsigned char *)"";
    return OK;
}

status external_check(const onnx_model *m, const Onnx__TensorProto *t, size_t bytes, error *err)
{
    fs_map map;
    const unsigned char *raw;
    TRY(external_open(m, t, bytes, &map, &raw, err));
    fs_map_close(&map);
    return OK;
}
