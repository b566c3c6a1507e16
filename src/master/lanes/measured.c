/*
 * What turns and pushes say of the pace of lanes and links.
 */
#include "master/lanes/state.h"

#include "common/base/alloc.h"

#include <stdlib.h>

/* The lanes of a worker that own slots are among the first so many. */
static uint32_t lanes_with_slots(const deal *d, const view_lane *owners, const view_lane *worker)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < d->n_slots; k++)
        if (view_same_worker(&owners[k], worker) && owners[k].lane >= n)
            n = owners[k].lane + 1;
    return n;
}

void deal_measure_turn(deal *d, const view_lane *owners, const view_lane *worker, double turn_s)
{
    uint32_t n = lanes_with_slots(d, owners, worker);
    double *slot_s = xcalloc(n + 1, sizeof *slot_s), fixed_s;
    share_worker w = {.name = *worker, .n_lanes = n, .slot_s = slot_s};
    view_lane *names = xcalloc(n + 1, sizeof *names);
    for (uint32_t l = 0; l < n; l++) {
        names[l] = *worker;
        names[l].lane = l;
    }
    pace_of_worker(d->pace, worker, &fixed_s, &w.push_s);
    if (n && pace_of(d->pace, names, n, slot_s))
        pace_turn(d->pace, worker, turn_s - shares_turn(&w, owners, d->n_slots));
    free(names);
    free(slot_s);
}

void deal_measure_push(deal *d, const view_lane *owners, const deal_delivery *what)
{
    uint32_t nodes = shares_nodes(owners, d->n_slots, &what->worker);
    if (nodes)
        pace_push(d->pace, &what->worker, what->push_s / nodes);
}
