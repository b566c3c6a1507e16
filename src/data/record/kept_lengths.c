#include "data/record/kept_lengths.h"

#include "common/base/alloc.h"
#include "common/base/log.h"

#include <stdlib.h>
#include <string.h>

static void hash_of(const cache_key *key, const void *lengths, size_t bytes, char ret_hex[SHA256_HEX])
{
    char both[2 * SHA256_HEX];
    sha256_hex(lengths, bytes, both);
    memcpy(both + SHA256_HEX, key->name, SHA256_HEX);
    sha256_hex(both, sizeof both, ret_hex);
}

status kept_lengths_make(size_t n, kept_lengths *ret, error *err)
{
    void *room = NULL;
    TRY(mem_alloc(n * sizeof *ret->at, "the lengths of examples", &room, err));
    *ret = (kept_lengths){.at = room, .n = n, .heap = room};
    return OK;
}

static bool is_file_of(const cache_key *key, const fs_map *map, size_t bytes)
{
    char hash[SHA256_HEX];
    if (map->bytes != bytes + SHA256_HEX)
        return false;
    hash_of(key, map->data, bytes, hash);
    return memcmp(map->data + bytes, hash, SHA256_HEX) == 0;
}

bool kept_lengths_load(const char *survey, const cache_key *key, size_t n, kept_lengths *ret)
{
    fs_map map = {.data = NULL};
    char *path = xasprintf("%s.lengths", survey);
    bool good = fs_exists(path) && fs_map_open(path, &map, NULL) == OK && is_file_of(key, &map, n * sizeof *ret->at);
    if (good)
        *ret = (kept_lengths){.at = (const uint32_t *)(const void *)map.data, .n = n, .map = map};
    else
        fs_map_close(&map);
    free(path);
    return good;
}

static status write_file(const char *path, const cache_key *key, const kept_lengths *l, error *err)
{
    char hash[SHA256_HEX];
    cache_file file;
    status st = OK;
    size_t bytes = l->n * sizeof *l->at;
    hash_of(key, l->at, bytes, hash);
    TRY(cache_file_begin(path, &file, err));
    TRY_OUT(st, fs_write_all(file.fd, l->at, bytes, file.beside, err));
    TRY_OUT(st, fs_write_all(file.fd, hash, sizeof hash, file.beside, err));
out:
    return cache_file_end(&file, st, err);
}

void kept_lengths_keep(const char *survey, const cache_key *key, kept_lengths *l)
{
    error why = ERROR_INIT;
    kept_lengths kept;
    char *path = xasprintf("%s.lengths", survey);
    if (write_file(path, key, l, &why) != OK) {
        LOG_W("SURVEY", "all records are read again at each start: %s", why.text);
    } else if (kept_lengths_load(survey, key, l->n, &kept)) {
        kept_lengths_close(l);
        *l = kept;
    }
    free(path);
}

void kept_lengths_close(kept_lengths *l)
{
    fs_map_close(&l->map);
    mem_free(l->heap);
    *l = (kept_lengths){.at = NULL};
}
