/*
 * The lengths of all records, kept in the cache beside their survey (survey.h) as "<survey>.lengths": 4 bytes
 * a record, and then the hash of these and of the survey's name.
 * Threads: of one file, the one that has the survey's lock.
 */
#ifndef TEQUIO_DATA_RECORD_KEPT_LENGTHS_H
#define TEQUIO_DATA_RECORD_KEPT_LENGTHS_H

#include "data/index/cache.h"

typedef struct kept_lengths {
    const char *survey;             /* its path */
    const cache_key *key;           /* of it */
    uint32_t *at;                   /* [n] */
    size_t n;
} kept_lengths;

/* Fills them in. False: they are not there, or are another survey's, or damaged. */
bool kept_lengths_load(const kept_lengths *l);
/* A failure is logged: they are found again at each start. */
void kept_lengths_write(const kept_lengths *l);

#endif
