#include "master/lanes/shares.h"

#include "common/base/alloc.h"
#include "common/parts/tree.h"

#include <math.h>
#include <stdlib.h>

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

/* counts[lane], lanes numbered over all workers. */
static void count_all(const share_worker *workers, size_t n, uint32_t n_slots, uint32_t *counts)
{
    seat *heap = xcalloc(count_lanes(workers, n), sizeof *heap);
    bool ignore = all_barred(workers, n);
    size_t lane = 0, seats = 0;
    for (size_t i = 0; i < n; i++)
        for (uint32_t l = 0; l < workers[i].n_lanes; l++, lane++) {
            double slot_s = workers[i].slot_s[l];
            if (!workers[i].barred || ignore)
                heap[seats++] = (seat){workers[i].fixed_s + workers[i].push_s + slot_s, slot_s, lane};
        }
    count_slots(heap, seats, n_slots, counts);
    free(heap);
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

/* --- runs that end at multiples of a power of two --- */

static uint32_t nearest_multiple(uint32_t x, uint32_t of, uint32_t most)
{
    uint32_t y = (x + of / 2) / of * of;
    return y < most ? y : most;
}

/* The same counts, but that each worker's run ends at a multiple of `of`. */
static void align(const share_worker *workers, size_t n, uint32_t n_slots, uint32_t of,
                  const uint32_t *counts, uint32_t *ret)
{
    seat *heap = xcalloc(count_lanes(workers, n), sizeof *heap);
    size_t lane = 0;
    uint32_t end = 0, begin = 0;
    for (size_t i = 0; i < n; i++) {
        for (uint32_t l = 0; l < workers[i].n_lanes; l++) {
            heap[l] = (seat){workers[i].slot_s[l], workers[i].slot_s[l], l};
            end += counts[lane + l];
        }
        uint32_t to = end == n_slots ? end : nearest_multiple(end, of, n_slots);
        count_slots(heap, workers[i].n_lanes, to - begin, ret + lane);
        begin = to;
        lane += workers[i].n_lanes;
    }
    free(heap);
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
    uint32_t *counts = xcalloc(2 * lanes, sizeof *counts), *aligned = counts + lanes;
    count_all(workers, n, n_slots, counts);
    name_owners(workers, n, counts, ret);
    if (any_push_takes_time(workers, n)) {
        view_lane *other = xcalloc(n_slots, sizeof *other);
        double best = shares_step(workers, n, ret, n_slots);
        for (uint32_t of = 2; of && of <= n_slots; of *= 2) {
            for (size_t i = 0; i < lanes; i++)
                aligned[i] = 0;
            align(workers, n, n_slots, of, counts, aligned);
            name_owners(workers, n, aligned, other);
            double seconds = shares_step(workers, n, other, n_slots);
            if (seconds >= best)
                continue;
            best = seconds;
            for (uint32_t k = 0; k < n_slots; k++)
                ret[k] = other[k];
        }
        free(other);
    }
    free(counts);
}

/* --- what the model says --- */

/* A worker's slots while its turn is added up. */
typedef struct turn {
    const share_worker *w;
    uint32_t *taken; /* [n_lanes] slots of each lane so far */
    double *ready_s; /* of its nodes, ascending */
    size_t n, cap;
} turn;

/* Nodes leave as they become complete. */
static void add_node(turn *t, double ready_s)
{
    GROW(t->ready_s, t->cap, t->n + 1);
    size_t i = t->n++;
    for (; i > 0 && t->ready_s[i - 1] > ready_s; i--)
        t->ready_s[i] = t->ready_s[i - 1];
    t->ready_s[i] = ready_s;
}

static void add_run(turn *t, const view_lane *owners, uint32_t first, uint32_t end, uint32_t n_slots)
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
        add_node(t, ready_s);
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

double shares_turn(const share_worker *w, const view_lane *owners, uint32_t n_slots)
{
    turn t = {.w = w, .taken = xcalloc(w->n_lanes, sizeof *t.taken)};
    for (uint32_t first, end = 0; next_run(owners, n_slots, &w->name, end, &first, &end);)
        add_run(&t, owners, first, end, n_slots);
    double seconds = 0;
    for (size_t i = 0; i < t.n; i++)
        seconds = fmax(seconds, w->fixed_s + t.ready_s[i]) + w->push_s;
    free(t.ready_s);
    free(t.taken);
    return seconds;
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
