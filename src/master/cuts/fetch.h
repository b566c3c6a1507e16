/*
 * Fetching shards of servers that do not see the job dir, piece by piece, into the checkpoint's
 * folder. The master asks for each piece from the offset it has, so nothing piles up. A shard lies
 * beside its place until it is whole, as another master may fetch the same one.
 * Threads: belongs to the master's thread.
 */
#ifndef TEQUIO_MASTER_CUTS_FETCH_H
#define TEQUIO_MASTER_CUTS_FETCH_H

#include "common/store/jobdir.h"
#include "master/cuts/saver.h"

typedef struct fetches fetches;

fetches *fetches_create(const jobdir *dir);
void fetches_destroy(fetches **f);          /* drops what is half fetched */

/* Begin to fetch what `r` announces into folder `dir` (inside the job dir), unless that is under
 * way already. */
MUST_USE status fetches_begin(fetches *f, const shard_report *r, const char *dir, error *err);

typedef struct shard_piece {
    int32_t server, shard;
    uint32_t id;
    uint64_t offset;
} shard_piece;

/* Where to go on, of those no piece came for since the last call: *at counts them from NULL; false:
 * no more. */
bool fetches_next_idle(fetches *f, void **at, shard_piece *ret);

/* Its cut has failed: what was fetched of it is dropped. */
void fetches_drop(fetches *f, uint32_t id);

/* A piece at its offset. *ret_next: ask for that offset; or *ret_done: the file is complete, its
 * SHA-256 right, synced and in its place, and *ret is its report (borrowed until the next call).
 * Foreign pieces are ignored: neither. E_IO, E_DATA. */
MUST_USE status fetches_take(fetches *f, const shard_piece *piece, const void *data, size_t bytes,
                             bool *ret_next, uint64_t *ret_offset, bool *ret_done, shard_report *ret,
                             error *err);

#endif
