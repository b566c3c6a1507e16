/*
 * The user's cache (common/base/user_cache.h) of what is made from data files, in its folder `data`.
 *
 * One process makes a file at a time; the others wait for it (flock on "<file>.lock", which goes with its
 * holder). Files are written beside their place and renamed, so they are whole; what reads them checks
 * them all the same. Threads: any.
 */
#ifndef TEQUIO_DATA_INDEX_CACHE_H
#define TEQUIO_DATA_INDEX_CACHE_H

#include "common/base/error.h"
#include "common/base/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a file was when something was made from it. `name` says which it is, the rest whether it is the
 * same still: bytes, time of its last change, and a hash of samples of its content. */
typedef struct cache_key {
    char name[SHA256_HEX];      /* of its path, and of the member if it is an archive's */
    uint64_t bytes;
    int64_t changed_ns;
    char sample[SHA256_HEX];
} cache_key;

/* `member`: NULL, or which of an archive. `data` are the file's or the member's bytes. */
void cache_key_make(const char *path, const char *member, int64_t changed_ns, const void *data, size_t bytes,
                    cache_key *ret);
bool cache_key_is(const cache_key *a, const cache_key *b);

/* The place of what is made of `key`, with an ending such as ".index"; its folder is made. NULL: there is
 * no such folder, and none can be made; said once, as a warning. Free it. */
char *cache_path(const cache_key *key, const char *ending);

/* Waits until nobody else makes this file, and tells meanwhile how far that is (read_progress.h); where reading is
 * stopped nothing is locked, and nothing may be made. -1: nothing can be locked there, and then nothing is. */
int cache_lock(const char *path);
void cache_unlock(int fd);

/* A file that is being written, beside its place. */
typedef struct cache_file {
    char *beside;
    const char *path;               /* kept */
    int fd;
} cache_file;

/* With the file's lock: what a killed process left beside it is removed. */
MUST_USE status cache_file_begin(const char *path, cache_file *ret, error *err);
/* Syncs it and renames it to its place if `st` is OK, else removes it; returns the first failure. */
MUST_USE status cache_file_end(cache_file *f, status st, error *err);

#endif
