/*
 * The spool: where a server that does not see the job dir writes its shards, until the master has
 * fetched them piece by piece. A private folder under TMPDIR, gone with the server.
 * Threads: belongs to the server's thread; the writer thread only writes into folders named here.
 */
#ifndef TEQUIO_PS_SPOOL_H
#define TEQUIO_PS_SPOOL_H

#include "common/base/buf.h"
#include "common/base/error.h"

#include <stdint.h>

enum { SPOOL_PIECE = 1 << 20 };

typedef struct spool spool;

MUST_USE status spool_create(spool **ret, error *err);
void spool_destroy(spool **s);                      /* removes what is left */

/* The folder for cut `id`; the caller frees it. */
char *spool_dir(const spool *s, uint32_t id);

typedef struct spool_shard {
    uint32_t id;
    int32_t number;
    int64_t version;
    const char *file; /* in the cut's folder */
} spool_shard;

/* A shard of a cut is written, or written again, and may be asked for. E_IO: the file is not there. */
MUST_USE status spool_add(spool *s, const spool_shard *of, error *err);

/* There is a checkpoint of that version: all but the newest few shards of it and of earlier ones go. */
void spool_saved(spool *s, int64_t version);

/* Up to SPOOL_PIECE bytes from `offset`; none at the end of the file. E_PROTOCOL when there is no
 * such cut. */
MUST_USE status spool_read(spool *s, uint32_t id, int32_t number, uint64_t offset, buf *ret,
                           error *err);

#endif
