/*
 * Views: who computes which slots of a step. Pure.
 *
 * Slots are dealt in contiguous runs, so that sums stay inside a worker as far as possible. Lanes
 * beyond the number of slots get none.
 */
#ifndef TEQUIO_MASTER_VIEW_H
#define TEQUIO_MASTER_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct view_lane {
    bool trainer;               /* of the master's own process */
    uint32_t worker;            /* index of the task */
    uint32_t lane;
} view_lane;

/* ret[k] is the owner of slot k. n_lanes >= 1. */
void view_deal(const view_lane *lanes, size_t n_lanes, uint32_t n_slots, view_lane *ret);

#endif
