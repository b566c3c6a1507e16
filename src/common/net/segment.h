/*
 * A segment: memory that both ends of one connection map, and its extents, which one end lends to
 * the other to carry a payload each.
 *
 * It is a sealed memfd, so it needs no file system and cannot be cut short under a reader, and it
 * has two halves, one for what either end lends. A half begins with a row of words, one for each
 * extent that can be out: there the borrower writes the edition of an extent that it gives back.
 * All else that is known of extents the lender keeps to itself, so a peer that writes nonsense
 * spoils what was lent to it and nothing beyond.
 *
 * A segment serves one connection and is never used for another. When that is lost, each end drops
 * it, and the memory lasts as long as somebody reads in it or runs that has mapped it: nothing is
 * lent anew that a peer, frozen perhaps, may still be reading. The kernel frees what the dead held.
 *
 * Threads: one at a time; what is borrowed may be dropped from any.
 */
#ifndef TEQUIO_COMMON_NET_SEGMENT_H
#define TEQUIO_COMMON_NET_SEGMENT_H

#include "common/net/net.h"

/* A half lends so many bytes and extents at most, and each extent begins on a page. Pages that were
 * never lent take no memory. */
enum { SEGMENT_HALF = 128 << 20, SEGMENT_EXTENTS = 1024, SEGMENT_PAGE = 4096 };

typedef struct segment segment;

/* What the lender tells the borrower. */
typedef struct extent {
    uint64_t at, bytes;     /* in the half */
    uint32_t slot, edition; /* where it is given back, and as what */
} extent;

/* A new one. *ret_fd is for the other end; close it. */
MUST_USE status segment_create(segment **ret, int *ret_fd, error *err);

/* The other end's. E_PROTOCOL for a descriptor that is not of a sealed memfd of a segment's size;
 * it stays the caller's. */
MUST_USE status segment_join(int fd, segment **ret, error *err);

/* Tells of the half that we borrow from: at once that it is mapped, and when it is not any more. */
void segment_watch(segment *s, const net_memory *m);

void segment_drop(segment **s); /* what is borrowed from it stays readable */

/* `bytes` of our half to write what the borrower is to read. false: there is no room now. */
bool segment_lend(segment *s, size_t bytes, extent *ret, void **ret_data);
void segment_take_back(segment *s, const extent *lent); /* the borrower was not told of it */

/* Memory of the other half, held for the caller and given back by the last drop; NULL for an extent
 * that is not within it. */
span *segment_borrow(segment *s, const extent *what);

#endif
