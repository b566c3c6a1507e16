/* A radix sort from the front: a range of keys is cut into equal pieces, each number is put into the piece of its key,
 * and each piece is sorted likewise, until few are left. Which piece a key falls into never falls as keys rise, so the
 * order does not depend on how sums and products are rounded. */
#include "data/noisy_sort.h"

#include <stdbool.h>
#include <string.h>

enum { PIECES = 256, FEW = 32 };

/* Products of doubles alone: the same bits everywhere. */
static double key_of(const noisy_lengths *by, uint32_t example)
{
    double u = (double)rng_uniform(&by->draws, example) * 2.0 - 1.0;
    return (double)by->lengths[example] * (1.0 + by->noise * u);
}

static void sort_few(const noisy_lengths *by, uint32_t *at, int64_t n)
{
    double keys[FEW];
    for (int64_t i = 0; i < n; i++) {
        uint32_t example = at[i];
        double key = key_of(by, example);
        int64_t k = i;
        for (; k > 0 && (keys[k - 1] > key || (keys[k - 1] == key && at[k - 1] > example)); k--) {
            keys[k] = keys[k - 1];
            at[k] = at[k - 1];
        }
        keys[k] = key;
        at[k] = example;
    }
}

/* The keys of a range of examples, which are cut into pieces; where they are all one, their numbers are. */
typedef struct cut {
    const noisy_lengths *by;
    bool by_number;
    double low, scale;
} cut;

static double cut_key(const cut *c, uint32_t example)
{
    return c->by_number ? (double)example : key_of(c->by, example);
}

/* The highest key is in the last piece, whatever is rounded. */
static int piece_of(const cut *c, uint32_t example)
{
    double piece = (cut_key(c, example) - c->low) * c->scale;
    return piece < PIECES - 1 ? (int)piece : PIECES - 1;
}

static void find_range(cut *c, const uint32_t *at, int64_t n)
{
    double high = c->low = cut_key(c, at[0]);
    for (int64_t i = 1; i < n; i++) {
        double key = cut_key(c, at[i]);
        c->low = key < c->low ? key : c->low;
        high = key > high ? key : high;
    }
    c->scale = high > c->low ? (PIECES - 1) / (high - c->low) : 0.0;
}

/* first[p]: where piece p begins; first[PIECES]: n. Each number goes to its piece by swaps. */
static void part(const cut *c, uint32_t *at, int64_t n, int64_t first[PIECES + 1])
{
    int64_t next[PIECES];
    memset(first, 0, (PIECES + 1) * sizeof *first);
    for (int64_t i = 0; i < n; i++)
        first[piece_of(c, at[i]) + 1]++;
    for (int p = 0; p < PIECES; p++) {
        first[p + 1] += first[p];
        next[p] = first[p];
    }
    for (int p = 0; p < PIECES; p++)
        while (next[p] < first[p + 1]) {
            uint32_t example = at[next[p]];
            for (int to = piece_of(c, example); to != p; to = piece_of(c, example)) {
                uint32_t other = at[next[to]];
                at[next[to]++] = example;
                example = other;
            }
            at[next[p]++] = example;
        }
}

static void sort_range(const noisy_lengths *by, bool by_number, uint32_t *at, int64_t n)
{
    int64_t first[PIECES + 1];
    cut c = {.by = by, .by_number = by_number};
    if (n <= FEW) {
        sort_few(by, at, n);
        return;
    }
    find_range(&c, at, n);
    if (c.scale == 0.0) {
        c.by_number = true;
        find_range(&c, at, n);
    }
    part(&c, at, n, first);
    for (int p = 0; p < PIECES; p++)
        sort_range(by, c.by_number, at + first[p], first[p + 1] - first[p]);
}

void noisy_sort(const noisy_lengths *by, uint32_t *examples, int64_t n)
{
    sort_range(by, false, examples, n);
}
