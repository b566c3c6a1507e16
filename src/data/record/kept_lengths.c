#include "data/record/kept_lengths.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/log.h"

#include <stdlib.h>
#include <string.h>

static size_t bytes_of(const kept_lengths *l)
{
    return l->n * sizeof *l->at;
}

static void hash_of(const kept_lengths *l, char ret_hex[SHA256_HEX])
{
    char both[2 * SHA256_HEX];
    sha256_hex(l->at, bytes_of(l), both);
    memcpy(both + SHA256_HEX, l->key->name, SHA256_HEX);
    sha256_hex(both, sizeof both, ret_hex);
}

bool kept_lengths_load(const kept_lengths *l)
{
    char hash[SHA256_HEX];
    buf kept = BUF_INIT;
    size_t all = bytes_of(l) + SHA256_HEX;
    char *path = xasprintf("%s.lengths", l->survey);
    bool good = fs_exists(path) && fs_read(path, all, &kept, NULL) == OK && kept.size == all;
    if (good) {
        memcpy(l->at, kept.data, bytes_of(l));
        hash_of(l, hash);
        good = memcmp(kept.data + bytes_of(l), hash, SHA256_HEX) == 0;
    }
    buf_fini(&kept);
    free(path);
    return good;
}

static status write_file(const kept_lengths *l, const char *path, error *err)
{
    char hash[SHA256_HEX];
    cache_file file;
    status st = OK;
    hash_of(l, hash);
    TRY(cache_file_begin(path, &file, err));
    TRY_OUT(st, fs_write_all(file.fd, l->at, bytes_of(l), file.beside, err));
    TRY_OUT(st, fs_write_all(file.fd, hash, sizeof hash, file.beside, err));
out:
    return cache_file_end(&file, st, err);
}

void kept_lengths_write(const kept_lengths *l)
{
    error why = ERROR_INIT;
    char *path = xasprintf("%s.lengths", l->survey);
    if (write_file(l, path, &why) != OK)
        LOG_W("SURVEY", "all records are read again at each start: %s", why.text);
    free(path);
}
