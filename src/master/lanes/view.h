/*
 * The names of lanes, as views say them. Pure.
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

#endif
