/*
 * The index of a file: where each of its records lies, 16 bytes a record.
 *
 * A file of a megabyte or more is cut once: the index is kept in the cache (cache.h), and every process of
 * the host maps the same one. It is taken only for the very file it was made from, and only if it is
 * whole: another file's, an older one's, a torn one or one whose checksum does not fit is made anew. A
 * smaller file is cut at each opening.
 *
 * Threads: immutable once open.
 */
#ifndef TEQUIO_DATA_INDEX_INDEX_H
#define TEQUIO_DATA_INDEX_INDEX_H

#include "common/base/fs.h"
#include "data/index/cache.h"
#include "data/index/records.h"

enum { INDEX_KEPT_BYTES = 1 << 20 }; /* the smallest file whose index is kept */

typedef struct record_index {
    const record_span *at;           /* [n] in the order of the file, none beyond its end */
    size_t n;
    bool is_new;                /* it was made by this call */
    fs_map map;                 /* it is kept in the cache */
    record_list own;            /* it is in memory */
} record_index;

/* `key` is the source's; `threads` as of records_cut. E_DATA if the file is damaged. A file without
 * records has an index of none. */
MUST_USE status index_open(record_kind kind, const record_source *source, const cache_key *key, int threads,
                           record_index *ret, error *err);
void index_close(record_index *x);

#endif
