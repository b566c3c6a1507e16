/* See bucket.h. */
#include "data/bucket.h"

#include "common/base/alloc.h"
#include "common/base/rng.h"
#include "data/data.h"
#include "data/noisy_sort.h"

#include <stdlib.h>
#include <string.h>

/* --- the order of an epoch --- */

static uint32_t longest_of(const uint32_t *lengths, int64_t n)
{
    uint32_t longest = 0;
    for (int64_t i = 0; i < n; i++)
        longest = lengths[i] > longest ? lengths[i] : longest;
    return longest;
}

/* By counting; those of one length keep their order. */
static status sort_by_length(const uint32_t *lengths, int64_t n, uint32_t longest, uint32_t *ret, error *err)
{
    void *memory = NULL;
    TRY(mem_alloc(((size_t)longest + 2) * sizeof(uint32_t), "the order of an epoch", &memory, err));
    uint32_t *first = memory; /* the place of the next example of each length */
    memset(first, 0, ((size_t)longest + 2) * sizeof *first);
    for (int64_t i = 0; i < n; i++)
        first[lengths[i] + 1]++;
    for (size_t i = 1; i <= longest; i++)
        first[i] += first[i - 1];
    for (int64_t i = 0; i < n; i++)
        ret[first[lengths[i]]++] = (uint32_t)i;
    mem_free(memory);
    return OK;
}

static status sort_examples(const bucket_options *o, int64_t epoch, const uint32_t *lengths, int64_t n,
                            uint32_t *ret, error *err)
{
    noisy_lengths noisy = {.draws = rng_make(o->seed, RNG_BUCKET, (uint64_t)epoch),
                           .noise = o->shuffle ? o->padding_noise : 0.0,
                           .lengths = lengths};
    uint32_t longest = longest_of(lengths, n);
    if (noisy.noise == 0.0 && longest < n)
        return sort_by_length(lengths, n, longest, ret, err);
    for (int64_t i = 0; i < n; i++)
        ret[i] = (uint32_t)i;
    noisy_sort(&noisy, ret, n);
    return OK;
}

/* What stands where a whole batch comes to stand is moved first, and so on round. */
typedef struct batch_moves {
    const bucket_options *o;
    int64_t epoch, whole;
    uint32_t *order;
    uint32_t *room;             /* of one batch */
    uint8_t *is_moved;          /* a bit a batch */
} batch_moves;

static void copy_batch(const batch_moves *m, uint32_t *to, const uint32_t *from)
{
    memcpy(to, from, (size_t)m->o->batch_size * sizeof *to);
}

static void move_round(const batch_moves *m, int64_t first)
{
    int64_t size = m->o->batch_size, to = first, from;
    copy_batch(m, m->room, m->order + first * size);
    for (;;) {
        m->is_moved[to / 8] |= (uint8_t)(1u << to % 8);
        from = permute_place(m->o->seed, m->epoch, m->whole, to);
        if (from == first)
            break;
        copy_batch(m, m->order + to * size, m->order + from * size);
        to = from;
    }
    copy_batch(m, m->order + to * size, m->room);
}

/* Of n sorted examples the whole batches in another order, in place; what is left stays behind them. */
static status shuffle_batches(const bucket_options *o, int64_t epoch, uint32_t *order, int64_t n, error *err)
{
    batch_moves m = {.o = o, .epoch = epoch, .whole = n / o->batch_size, .order = order};
    void *room = NULL, *bits = NULL;
    status st = OK;
    if (!o->shuffle || m.whole < 2)
        return OK;
    TRY_OUT(st, mem_alloc((size_t)o->batch_size * sizeof *order, "the order of an epoch", &room, err));
    TRY_OUT(st, mem_alloc((size_t)m.whole / 8 + 1, "the order of an epoch", &bits, err));
    m.room = room;
    m.is_moved = bits;
    for (int64_t b = 0; b < m.whole; b++)
        if (!(m.is_moved[b / 8] >> b % 8 & 1))
            move_round(&m, b);
out:
    mem_free(room);
    mem_free(bits);
    return st;
}

status bucket_epoch_make(const bucket_options *o, int64_t epoch, const uint32_t *lengths, int64_t n,
                         bucket_epoch *ret, error *err)
{
    BUG_ON(n < 1 || o->batch_size < 1);
    if (n > UINT32_MAX)
        return FAIL(err, E_DATA, "%lld examples are more than can be sorted by length", (long long)n);
    bool is_uneven = n % o->batch_size != 0, has_whole = n >= o->batch_size;
    bucket_epoch e = {.n = n,
                      .batch_size = o->batch_size,
                      .n_batches = n / o->batch_size + (is_uneven && !(o->drop_last && has_whole))};
    void *order = NULL;
    TRY(mem_alloc((size_t)n * sizeof *e.order, "the order of an epoch", &order, err));
    e.order = order;
    status st = sort_examples(o, epoch, lengths, n, e.order, err);
    if (st == OK)
        st = shuffle_batches(o, epoch, e.order, n, err);
    if (st == OK)
        *ret = e;
    else
        bucket_epoch_free(&e);
    return st;
}

void bucket_epoch_free(bucket_epoch *e)
{
    mem_free(e->order);
    *e = (bucket_epoch){.n = 0};
}

int64_t bucket_batch(const bucket_epoch *e, int64_t batch, int64_t *ret_first)
{
    BUG_ON(batch < 0 || batch >= e->n_batches);
    *ret_first = batch * e->batch_size;
    int64_t end = *ret_first + e->batch_size;
    return (end < e->n ? end : e->n) - *ret_first;
}

uint32_t bucket_longest(const bucket_epoch *e, const uint32_t *lengths, int64_t batch)
{
    int64_t first, n = bucket_batch(e, batch, &first);
    uint32_t longest = 0;
    for (int64_t i = first; i < first + n; i++)
        longest = lengths[e->order[i]] > longest ? lengths[e->order[i]] : longest;
    return longest;
}

/* --- prepared lengths --- */

typedef struct length_counts {
    int64_t n;                  /* multiples up to the longest */
    uint64_t *upto;             /* [n + 1] examples of at most i multiples */
} length_counts;

/* cost[k][i]: tokens of all examples of at most i multiples when k lengths are prepared for them, the last
 * being i; from[k][i]: the length before it. Plain dynamic programming, exact. */
typedef struct length_plan {
    uint64_t *cost;
    uint32_t *from;
} length_plan;

static void plan_lengths(const length_counts *c, int most, length_plan *p)
{
    size_t row = (size_t)c->n + 1;
    for (size_t i = 0; i < row; i++)
        p->cost[row + i] = c->upto[i] * i;
    for (size_t k = 2; k <= (size_t)most; k++)
        for (size_t i = 0; i < row; i++) {
            p->cost[k * row + i] = p->cost[(k - 1) * row + i];
            p->from[k * row + i] = (uint32_t)i;
            for (size_t j = 0; j < i; j++) {
                uint64_t cost = p->cost[(k - 1) * row + j] + (c->upto[i] - c->upto[j]) * i;
                if (cost < p->cost[k * row + i]) {
                    p->cost[k * row + i] = cost;
                    p->from[k * row + i] = (uint32_t)j;
                }
            }
        }
}

static int walk_plan(const length_counts *c, const length_plan *p, int most, uint32_t multiple, uint32_t *ret)
{
    size_t row = (size_t)c->n + 1, at = (size_t)c->n;
    uint32_t found[BUCKET_PREPARED];
    int n = 0;
    for (size_t k = (size_t)most; k >= 1 && at > 0; k--) {
        size_t before = k > 1 ? p->from[k * row + at] : 0;
        if (before != at)
            found[n++] = (uint32_t)at * multiple;
        at = before;
    }
    for (int i = 0; i < n; i++)
        ret[i] = found[n - 1 - i];
    return n;
}

enum { MULTIPLES_MOST = 4096 }; /* the plan takes their square */

status bucket_prepare(const uint32_t *lengths, int64_t n, uint32_t multiple, int most,
                      uint32_t ret[BUCKET_PREPARED], int *ret_n, error *err)
{
    BUG_ON(n < 1 || multiple < 1 || most < 1 || most > BUCKET_PREPARED);
    uint32_t longest = 1;
    for (int64_t i = 0; i < n; i++)
        longest = lengths[i] > longest ? lengths[i] : longest;
    length_counts c = {.n = (int64_t)(longest - 1) / multiple + 1};
    if (c.n > MULTIPLES_MOST)
        return FAIL(err, E_DATA, "an example of %u tokens: lengths are prepared up to %u", longest,
                    multiple * MULTIPLES_MOST);
    size_t row = (size_t)c.n + 1;
    c.upto = xcalloc(row, sizeof *c.upto);
    for (int64_t i = 0; i < n; i++)
        c.upto[lengths[i] ? (lengths[i] - 1) / multiple + 1 : 1]++;
    for (size_t i = 1; i < row; i++)
        c.upto[i] += c.upto[i - 1];
    length_plan p = {.cost = xcalloc(row * ((size_t)most + 1), sizeof *p.cost),
                     .from = xcalloc(row * ((size_t)most + 1), sizeof *p.from)};
    plan_lengths(&c, most, &p);
    *ret_n = walk_plan(&c, &p, most, multiple, ret);
    free(p.cost);
    free(p.from);
    free(c.upto);
    return OK;
}

uint32_t bucket_padded(const uint32_t *prepared, int n, uint32_t length)
{
    for (int i = 0; i < n; i++)
        if (prepared[i] >= length)
            return prepared[i];
    BUG("no length is prepared for %u", length);
}
