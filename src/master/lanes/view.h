/*
 * Views: who computes which slots of a step. Pure.
 *
 * Slots are dealt in contiguous runs, so that sums stay inside a worker as far as possible, and so
 * that the lane that needs longest for its run needs as little time as can be. Lanes beyond the
 * number of slots get none, and so does one too slow for any.
 */
#ifndef TEQUIO_MASTER_LANES_VIEW_H
#define TEQUIO_MASTER_LANES_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct view_lane {
    bool trainer;    /* of the master's own process */
    uint32_t worker; /* index of the task */
    uint32_t lane;
} view_lane;

bool view_same_worker(const view_lane *a, const view_lane *b);
bool view_same_lane(const view_lane *a, const view_lane *b);

/* ret[k] is the owner of slot k. n_lanes >= 1. slot_s[i] is the time lane i takes for a slot, > 0;
 * NULL: all take the same. What is undecided goes to the first lane. */
void view_deal(const view_lane *lanes, const double *slot_s, size_t n_lanes, uint32_t n_slots,
               view_lane *ret);

/* How long the slowest of these lanes takes for the slots it owns. */
double view_seconds(const view_lane *lanes, const double *slot_s, size_t n_lanes,
                    const view_lane *owners, uint32_t n_slots);

#endif
