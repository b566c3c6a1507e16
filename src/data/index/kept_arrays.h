/*
 * Arrays of numbers that are made from data files by reading all of them, such as the tokens of texts. They are made
 * once and kept in the user's cache (cache.h) as one file, which every process of the host maps; nobody holds them in
 * its heap.
 *
 * A kept file is taken only if it was made from the very same data and is whole: one that is torn, damaged or of other
 * data is made anew, and the log says so. Of data of less than a megabyte, and where the cache is not there or full,
 * they are made at each opening in the memory of each process.
 *
 * Threads: immutable once open.
 */
#ifndef TEQUIO_DATA_INDEX_KEPT_ARRAYS_H
#define TEQUIO_DATA_INDEX_KEPT_ARRAYS_H

#include "common/base/fs.h"
#include "data/index/cache.h"

enum { KEPT_ARRAYS = 8, KEPT_ALIGN = 64 };

typedef struct kept_array {
    void *at;                       /* [n], at a multiple of KEPT_ALIGN; only to be read */
    size_t n;
} kept_array;

typedef struct kept_arrays {
    kept_array at[KEPT_ARRAYS];
    bool is_new;                    /* they were made by this call */
    fs_map map;                     /* they are kept in the cache */
    void *heap[KEPT_ARRAYS];        /* they are in memory */
} kept_arrays;

/* Takes the arrays one behind the other, each in as many pieces as there are. */
typedef struct kept_writer kept_writer;
/* n items more of array `which`, which is not below that of the call before. */
MUST_USE status kept_write(kept_writer *w, size_t which, const void *items, size_t n, error *err);

typedef struct kept_recipe {
    const char *what;               /* "tokens": ends the name of the file */
    const char *of;                 /* the data's path, for messages */
    size_t source_bytes;            /* of the data */
    size_t n, width[KEPT_ARRAYS];   /* the arrays, and bytes of an item of each */
    /* Writes all arrays; may be called a second time, if what it wrote could not be kept. */
    status (*make)(void *user, kept_writer *w, error *err);
    /* Whether what was kept can be worked with, numbers that point into other arrays and files too. */
    bool (*is_sound)(const void *user, const kept_arrays *a);
    /* What was kept under the key's name of other data, whole, but not asked whether it is sound: `make`, which runs
     * next, may take from it what is still true. NULL as `old`: it goes. NULL: everything is made anew. */
    void (*take_old)(void *user, const kept_arrays *old);
    void *user;
} kept_recipe;

/* `key` is of the data and of all that decides what is made of them (shards_key). Fails as `make` does, or E_NOMEM. */
MUST_USE status kept_arrays_open(const cache_key *key, const kept_recipe *recipe, kept_arrays *ret, error *err);
void kept_arrays_close(kept_arrays *a);
/* What they take of this process's heap. */
size_t kept_arrays_heap_bytes(const kept_arrays *a, const kept_recipe *recipe);

#endif
