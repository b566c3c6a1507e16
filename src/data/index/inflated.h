/*
 * A data file as bytes in memory, inflated if it is gzip or a member of a zip file.
 *
 * Random access needs the bytes themselves. So a large compressed file is inflated once, into the cache
 * (cache.h), where all processes of the host map it; the log says so (INFLATED), for that is a second copy
 * of the data. A small one, and any where there is no cache, is inflated into the memory of each process.
 *
 * Threads: immutable once open.
 */
#ifndef TEQUIO_DATA_INDEX_INFLATED_H
#define TEQUIO_DATA_INDEX_INFLATED_H

#include "common/base/fs.h"
#include "data/gunzip.h"
#include "data/index/cache.h"

/* Bytes of a file, or of a member of an archive, as they lie there. */
typedef struct packed {
    const char *path;
    const char *member;             /* NULL: the file itself */
    int64_t changed_ns;             /* the file was */
    const unsigned char *data;      /* kept until inflated_close */
    size_t bytes;
    packing packing;
} packed;

typedef struct inflated {
    const unsigned char *data;
    size_t bytes;
    fs_map map;                     /* it is kept in the cache */
    void *heap;                     /* it is in memory */
} inflated;

/* E_DATA if they are damaged. Bytes that are not packed are borrowed as they are. */
MUST_USE status inflated_open(const packed *from, inflated *ret, error *err);
void inflated_close(inflated *f);

#endif
