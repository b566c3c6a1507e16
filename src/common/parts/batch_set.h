/*
 * A set of batch ids that fills up from below: every id under `floor` is in it, `floor` is not, and
 * a bitmap says which ids beyond are. What a part has applied, and what a job has done, in the
 * modes ssp and async.
 *
 * The bitmap is a ring over [floor, floor + BATCH_SPAN): it grows to what batches overtake one
 * another and then stays, so filling a set allocates nothing for ever.
 *
 * Packed: the floor in 8 bytes, then the bitmap from the floor on, bit i of byte j being id
 * floor + 8 j + i; little-endian, without zeros at its end but those that make a multiple of 4
 * bytes.
 *
 * Threads: one at a time.
 */
#ifndef TEQUIO_COMMON_PARTS_BATCH_SET_H
#define TEQUIO_COMMON_PARTS_BATCH_SET_H

#include "common/base/buf.h"

#include <stdbool.h>

/* How far beyond the floor an id may be. Power of two. */
enum { BATCH_SPAN = 1 << 20 };
enum { BATCH_SET_PACKED_MAX = 8 + BATCH_SPAN / 8 };

typedef struct batch_set {
    int64_t floor;
    int64_t beyond;  /* ids in the set beyond the floor */
    int64_t end;     /* one past the highest of them; floor when there are none */
    uint64_t *words; /* ring: id b is bit b % 64 of words[b / 64 % n_words] */
    size_t n_words;  /* 0 or a power of two */
} batch_set;

#define BATCH_SET_INIT                                                                             \
    {                                                                                              \
        .floor = 0                                                                                 \
    }

void batch_set_fini(batch_set *s); /* back to BATCH_SET_INIT */

/* The set of 0 .. floor-1. */
void batch_set_fill(batch_set *s, int64_t floor);
void batch_set_copy(batch_set *s, const batch_set *from);

/* May `batch` be added: it lies below floor + BATCH_SPAN. */
bool batch_set_fits(const batch_set *s, int64_t batch);
/* false: it was there already. It must fit. */
bool batch_set_add(batch_set *s, int64_t batch);
bool batch_set_has(const batch_set *s, int64_t batch);
int64_t batch_set_count(const batch_set *s);

/* Keeps what is in both. */
void batch_set_intersect(batch_set *s, const batch_set *with);

void batch_set_pack(const batch_set *s, buf *ret);
/* E_DATA for what batch_set_pack does not write. */
MUST_USE status batch_set_unpack(const void *data, size_t bytes, batch_set *ret, error *err);

#endif
