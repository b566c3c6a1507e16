#include "master/lanes/shares.h"

#include "common/base/alloc.h"
#include "common/parts/tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double near = 0.99; /* a deal that is not quicker by this is no other */

/* --- what the model says --- */

/* A worker's slots while its turn is added up. */
typedef struct turn {
    const share_worker *w;
    uint32_t *taken; /* [n_lanes] slots of each lane so far */
    double *ready_s; /* of its nodes, ascending */
    size_t n, cap;
} turn;

/* Nodes leave as they become complete. */
static void shares_add_node(turn *t, double ready_s)
{
    GROW(t->ready_s, t->cap, t->n + 1);
    size_t i = t->n++;
    for (; i > 0 && t->ready_s[i - 1] > ready_s; i--)
        t->ready_s[i] = t->ready_s[i - 1];
    t->ready_s[i] = ready_s;
}

static void shares_add_run(turn *t, const view_lane *owners, uint32_t first, uint32_t end, uint32_t n_slots)
{
    tree_node nodes[64];
    size_t n = tree_cover(first, end, n_slots, nodes);
    uint32_t k = first;
    for (size_t i = 0; i < n; i++) {
        double ready_s = 0;
        for (; k < tree_node_end(nodes[i], n_slots); k++) {
            uint32_t lane = owners[k].lane < t->w->n_lanes ? owners[k].lane : 0;
            ready_s = fmax(ready_s, ++t->taken[lane] * t->w->slot_s[lane]);
        }
        shares_add_node(t, ready_s);
    }
}

/* The next run of a worker's slots from `from` on; false: there is none. */
static bool next_run(const view_lane *owners, uint32_t n_slots, const view_lane *worker, uint32_t from,
                     uint32_t *ret_first, uint32_t *ret_end)
{
    while (from < n_slots && !view_same_worker(&owners[from], worker))
        from++;
    *ret_first = from;
    while (from < n_slots && view_same_worker(&owners[from], worker))
        from++;
    *ret_end = from;
    return *ret_end > *ret_first;
}

static double end_turn(turn *t)
{
    double seconds = 0;
    for (size_t i = 0; i < t->n; i++)
        seconds = fmax(seconds, t->w->fixed_s + t->ready_s[i]) + t->w->push_s;
    free(t->ready_s);
    free(t->taken);
    return seconds;
}

double shares_turn(const share_worker *w, const view_lane *owners, uint32_t n_slots)
{
    turn t = {.w = w, .taken = xcalloc(w->n_lanes, sizeof *t.taken)};
    for (uint32_t first, end = 0; next_run(owners, n_slots, &w->name, end, &first, &end);)
        shares_add_run(&t, owners, first, end, n_slots);
    return end_turn(&t);
}

static double run_turn(const share_worker *w, const view_lane *owners, uint32_t first, uint32_t end,
                       uint32_t n_slots)
{
    turn t = {.w = w, .taken = xcalloc(w->n_lanes, sizeof *t.taken)};
    shares_add_run(&t, owners, first, end, n_slots);
    return end_turn(&t);
}

uint32_t shares_nodes(const view_lane *owners, uint32_t n_slots, const view_lane *worker)
{
    tree_node nodes[64];
    size_t n = 0;
    for (uint32_t first, end = 0; next_run(owners, n_slots, worker, end, &first, &end);)
        n += tree_cover(first, end, n_slots, nodes);
    return (uint32_t)n;
}

double shares_step(const share_worker *workers, size_t n, const view_lane *owners, uint32_t n_slots)
{
    double longest = 0;
    for (size_t i = 0; i < n; i++)
        longest = fmax(longest, shares_turn(&workers[i], owners, n_slots));
    return longest;
}

/* --- counts --- */

/* A lane, and when it would be ready with one slot more. */
typedef struct seat {
    double ready_s, slot_s;
    size_t lane;
} seat;

static bool is_before(const seat *a, const seat *b)
{
    return a->ready_s < b->ready_s || (a->ready_s == b->ready_s && a->lane < b->lane);
}

static void sift_down(seat *heap, size_t n, size_t i)
{
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && is_before(&heap[child + 1], &heap[child]))
            child++;
        if (!is_before(&heap[child], &heap[i]))
            return;
        seat s = heap[i];
        heap[i] = heap[child];
        heap[child] = s;
    }
}

/* One slot after another to the lane that is ready first with it. `heap` has the lanes as they are
 * ready with their first one. */
static void count_slots(seat *heap, size_t n, uint32_t n_slots, uint32_t *counts)
{
    for (size_t i = n / 2; i-- > 0;)
        sift_down(heap, n, i);
    for (uint32_t k = 0; k < n_slots; k++) {
        counts[heap[0].lane]++;
        heap[0].ready_s += heap[0].slot_s;
        sift_down(heap, n, 0);
    }
}

static bool all_barred(const share_worker *workers, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!workers[i].barred)
            return false;
    return true;
}

static size_t count_lanes(const share_worker *workers, size_t n)
{
    size_t lanes = 0;
    for (size_t i = 0; i < n; i++)
        lanes += workers[i].n_lanes;
    return lanes;
}

static void name_owners(const share_worker *workers, size_t n, const uint32_t *counts, view_lane *ret)
{
    size_t lane = 0, k = 0;
    for (size_t i = 0; i < n; i++)
        for (uint32_t l = 0; l < workers[i].n_lanes; l++, lane++)
            for (uint32_t c = 0; c < counts[lane]; c++) {
                ret[k] = workers[i].name;
                ret[k++].lane = l;
            }
}

/* --- the search for the shortest step --- */

typedef struct search {
    const share_worker *workers;
    size_t n;
    uint32_t n_slots;
    bool ignore;             /* all are barred, so none is */
    view_lane *best, *tried; /* [n_slots] */
    double best_s;
    seat *heap;              /* [lanes], and */
    uint32_t *counts;        /* [lanes] numbered over all workers */
} search;

static bool may_work(const search *s, const share_worker *w)
{
    return !w->barred || s->ignore;
}

/* One slot after another, whatever nodes these are. */
static void deal_greedily(search *s)
{
    size_t lane = 0, seats = 0;
    for (size_t i = 0; i < s->n; i++)
        for (uint32_t l = 0; l < s->workers[i].n_lanes; l++, lane++) {
            const share_worker *w = &s->workers[i];
            double slot_s = w->slot_s[l];
            if (may_work(s, w))
                s->heap[seats++] = (seat){w->fixed_s + w->push_s + slot_s, slot_s, lane};
        }
    memset(s->counts, 0, lane * sizeof *s->counts);
    count_slots(s->heap, seats, s->n_slots, s->counts);
    name_owners(s->workers, s->n, s->counts, s->best);
}

/* The slots from `begin` to `end` are the worker's. */
static void take_run(search *s, const share_worker *w, uint32_t begin, uint32_t end)
{
    for (uint32_t l = 0; l < w->n_lanes; l++)
        s->heap[l] = (seat){w->slot_s[l], w->slot_s[l], l};
    memset(s->counts, 0, w->n_lanes * sizeof *s->counts);
    count_slots(s->heap, w->n_lanes, end - begin, s->counts);
    name_owners(w, 1, s->counts, s->tried + begin);
}

static uint32_t computed_within(const share_worker *w, double seconds, uint32_t most)
{
    double n = 0;
    for (uint32_t l = 0; l < w->n_lanes && seconds > 0; l++)
        n += floor(seconds / w->slot_s[l]);
    return n < most ? (uint32_t)n : most;
}

/* The longest run from `begin` that the worker has time for, of those that end at a multiple of `of` or
 * with the step. Returns its end. */
static uint32_t run_within(search *s, const share_worker *w, uint32_t begin, double limit_s, uint32_t of)
{
    double compute_s = limit_s - w->fixed_s - w->push_s;
    uint32_t end = begin + computed_within(w, compute_s, s->n_slots - begin);
    for (end -= end < s->n_slots ? end % of : 0; end > begin; end = (end - 1) / of * of) {
        take_run(s, w, begin, end);
        if (run_turn(w, s->tried, begin, end, s->n_slots) <= limit_s)
            return end;
    }
    return begin;
}

/* Each worker takes what it has time for. True: that is all there is, and the best deal now. */
static bool deal_within(search *s, double limit_s, uint32_t of)
{
    uint32_t end = 0;
    for (size_t i = 0; i < s->n; i++)
        if (may_work(s, &s->workers[i]))
            end = run_within(s, &s->workers[i], end, limit_s, of);
    if (end < s->n_slots)
        return false;
    memcpy(s->best, s->tried, s->n_slots * sizeof *s->best);
    s->best_s = shares_step(s->workers, s->n, s->best, s->n_slots);
    return true;
}

static void halve_times(search *s, uint32_t of)
{
    double too_short = 0;
    for (double limit_s = near * s->best_s; too_short < near * s->best_s;
         limit_s = (too_short + s->best_s) / 2)
        if (!deal_within(s, limit_s, of))
            too_short = limit_s;
}

static bool any_push_takes_time(const share_worker *workers, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (workers[i].push_s > 0)
            return true;
    return false;
}

void shares_deal(const share_worker *workers, size_t n, uint32_t n_slots, view_lane *ret)
{
    size_t lanes = count_lanes(workers, n);
    search s = {.workers = workers, .n = n, .n_slots = n_slots, .ignore = all_barred(workers, n), .best = ret};
    s.heap = xcalloc(lanes, sizeof *s.heap);
    s.counts = xcalloc(lanes, sizeof *s.counts);
    deal_greedily(&s);
    if (any_push_takes_time(workers, n)) {
        s.tried = xcalloc(n_slots, sizeof *s.tried);
        s.best_s = shares_step(workers, n, ret, n_slots);
        for (uint32_t of = 1; of && of <= n_slots; of *= 2)
            halve_times(&s, of);
        free(s.tried);
    }
    free(s.counts);
    free(s.heap);
}
