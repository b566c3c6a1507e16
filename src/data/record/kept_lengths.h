/*
 * The lengths of all records, kept in the cache beside their survey (survey.h) as "<survey>.lengths": 4 bytes
 * a record, and then the hash of these and of the survey's name. Every process of the host maps that file; where it
 * cannot be kept, the lengths stay in the heap.
 * Threads: of one file, the one that has the survey's lock; immutable then.
 */
#ifndef TEQUIO_DATA_RECORD_KEPT_LENGTHS_H
#define TEQUIO_DATA_RECORD_KEPT_LENGTHS_H

#include "common/base/fs.h"
#include "data/index/cache.h"

/* A zeroed one has none. */
typedef struct kept_lengths {
    const uint32_t *at;             /* [n] */
    size_t n;
    fs_map map;                     /* they are kept in the cache */
    uint32_t *heap;                 /* they are in memory, and may be written */
} kept_lengths;

/* n of them in the heap, to be filled in. E_NOMEM. */
MUST_USE status kept_lengths_make(size_t n, kept_lengths *ret, error *err);
/* Maps those of the survey at that path. False: they are not there, are not n, are another survey's, or damaged. */
bool kept_lengths_load(const char *survey, const cache_key *key, size_t n, kept_lengths *ret);
/* Writes those in the heap, and maps them instead. A failure is logged: they stay, and are found again at each
 * start. */
void kept_lengths_keep(const char *survey, const cache_key *key, kept_lengths *l);
void kept_lengths_close(kept_lengths *l);

#endif
