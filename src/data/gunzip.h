/*
 * gzip (RFC 1952) as a stream of bytes, inflated by zlib. Several members in a row are one stream,
 * as gzip itself reads them; the checksum of every member is checked.
 * Threads: a gunzip belongs to one thread at a time.
 */
#ifndef TEQUIO_DATA_GUNZIP_H
#define TEQUIO_DATA_GUNZIP_H

#include "common/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct gunzip gunzip;

/* How bytes are packed: gzip, or deflated without gzip's head and checksum, as zip files hold them (RFC
 * 1951). */
typedef enum packing_kind { PACKING_NONE, PACKING_GZIP, PACKING_DEFLATE } packing_kind;
typedef struct packing {
    packing_kind kind;
    uint32_t checksum;              /* of a zip's member: CRC-32 of what is in it; 0: none is said */
    size_t at;                      /* of an archive's member: the byte of the archive that it begins at */
} packing;

bool gunzip_is_gzip(const void *data, size_t bytes);

/* No stream of `bytes` compressed bytes inflates to more than this. */
size_t gunzip_limit(size_t bytes);

/* `data` is kept until gunzip_close; `origin` names it in messages and is kept too. A byte that they name is one of the
 * file or, of a member, of its archive. */
MUST_USE status gunzip_open(const void *data, size_t bytes, packing how, const char *origin, gunzip **ret,
                            error *err);
void gunzip_close(gunzip **g);

/* Up to `want` bytes; fewer only where the stream ends. E_DATA on damage, truncation and bytes
 * after the end that are not gzip. */
MUST_USE status gunzip_read(gunzip *g, void *out, size_t want, size_t *ret_got, error *err);

/* The whole stream, in memory that the caller gives to mem_free: inflated twice, for memory is taken once
 * it is known how much. E_DATA as above; E_NOMEM. */
MUST_USE status gunzip_whole(const void *data, size_t bytes, packing how, const char *origin, void **ret,
                             size_t *ret_bytes, error *err);

#endif
