#include "common/parts/batch_set.h"

#include "common/base/alloc.h"

#include <stdlib.h>
#include <string.h>

enum { FLOOR_BYTES = 8, PACKED_GRAIN = 4 };

void batch_set_fini(batch_set *s)
{
    free(s->words);
    *s = (batch_set)BATCH_SET_INIT;
}

void batch_set_fill(batch_set *s, int64_t floor)
{
    if (s->n_words)
        memset(s->words, 0, s->n_words * sizeof *s->words);
    s->floor = s->end = floor;
    s->beyond = 0;
}

void batch_set_copy(batch_set *s, const batch_set *from)
{
    batch_set_fill(s, from->floor);
    for (int64_t b = from->floor; b < from->end; b++)
        if (batch_set_has(from, b))
            batch_set_add(s, b);
}

static uint64_t *word_of(const batch_set *s, int64_t batch)
{
    return &s->words[(uint64_t)batch / 64 & (s->n_words - 1)];
}

static uint64_t bit_of(int64_t batch)
{
    return (uint64_t)1 << (uint64_t)batch % 64;
}

bool batch_set_fits(const batch_set *s, int64_t batch)
{
    return batch < s->floor || batch - s->floor < BATCH_SPAN;
}

bool batch_set_has(const batch_set *s, int64_t batch)
{
    if (batch < s->floor)
        return true;
    return batch < s->end && *word_of(s, batch) & bit_of(batch);
}

/* Words enough for [floor, batch]; its ends may share a word of the ring only if they are one. */
static void batch_set_reserve(batch_set *s, int64_t batch)
{
    size_t need = (size_t)(batch / 64 - s->floor / 64) + 1, n = s->n_words ? s->n_words : 1;
    while (n < need)
        n *= 2;
    if (n == s->n_words)
        return;
    batch_set old = *s;
    s->words = xcalloc(n, sizeof *s->words);
    s->n_words = n;
    for (int64_t b = old.floor; b < old.end; b++)
        if (batch_set_has(&old, b))
            *word_of(s, b) |= bit_of(b);
    free(old.words);
}

/* The floor moves up over what is there, and leaves its bits clear for those to come. */
static void batch_set_settle(batch_set *s)
{
    while (s->floor < s->end && *word_of(s, s->floor) & bit_of(s->floor)) {
        *word_of(s, s->floor) &= ~bit_of(s->floor);
        s->floor++;
        s->beyond--;
    }
}

bool batch_set_add(batch_set *s, int64_t batch)
{
    BUG_ON(batch < 0 || !batch_set_fits(s, batch));
    if (batch_set_has(s, batch))
        return false;
    batch_set_reserve(s, batch);
    *word_of(s, batch) |= bit_of(batch);
    s->beyond++;
    if (batch >= s->end)
        s->end = batch + 1;
    batch_set_settle(s);
    return true;
}

int64_t batch_set_count(const batch_set *s)
{
    return s->floor + s->beyond;
}

void batch_set_intersect(batch_set *s, const batch_set *with)
{
    batch_set both = BATCH_SET_INIT;
    int64_t floor = s->floor < with->floor ? s->floor : with->floor;
    int64_t end = s->end < with->end ? s->end : with->end;
    batch_set_fill(&both, floor);
    for (int64_t b = floor; b < end; b++)
        if (batch_set_fits(&both, b) && batch_set_has(s, b) && batch_set_has(with, b))
            batch_set_add(&both, b);
    batch_set_fini(s);
    *s = both;
}

/* --- packed --- */

void batch_set_pack(const batch_set *s, buf *ret)
{
    unsigned char head[FLOOR_BYTES];
    for (int i = 0; i < FLOOR_BYTES; i++)
        head[i] = (unsigned char)((uint64_t)s->floor >> 8 * i);
    buf_add(ret, head, sizeof head);
    size_t bytes = size_round_up(((size_t)(s->end - s->floor) + 7) / 8, PACKED_GRAIN);
    for (size_t j = 0; j < bytes; j++) {
        unsigned char byte = 0;
        for (int i = 0; i < 8; i++)
            byte |= (unsigned char)(batch_set_has(s, s->floor + 8 * (int64_t)j + i) << i);
        buf_add(ret, &byte, 1);
    }
}

status batch_set_unpack(const void *data, size_t bytes, batch_set *ret, error *err)
{
    const unsigned char *at = data;
    if (bytes < FLOOR_BYTES || bytes > BATCH_SET_PACKED_MAX || bytes % PACKED_GRAIN)
        return FAIL(err, E_DATA, "a set of batches in %zu bytes; expected 8 to %d, in fours", bytes,
                    BATCH_SET_PACKED_MAX);
    uint64_t floor = 0;
    for (int i = 0; i < FLOOR_BYTES; i++)
        floor |= (uint64_t)at[i] << 8 * i;
    if (floor > (uint64_t)INT64_MAX / 2)
        return FAIL(err, E_DATA, "a set of batches whose floor is %llu", (unsigned long long)floor);
    if (bytes > FLOOR_BYTES && at[FLOOR_BYTES] & 1)
        return FAIL(err, E_DATA, "a set of batches that holds its own floor, %llu",
                    (unsigned long long)floor);
    batch_set_fill(ret, (int64_t)floor);
    for (size_t j = 0; j < bytes - FLOOR_BYTES; j++)
        for (int i = 0; i < 8; i++)
            if (at[FLOOR_BYTES + j] >> i & 1)
                batch_set_add(ret, (int64_t)floor + 8 * (int64_t)j + i);
    return OK;
}
