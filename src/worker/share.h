/*
 * A worker's share of every step: what a VIEW says about its lanes. Pure; trusts nothing it reads.
 */
#ifndef TEQUIO_WORKER_SHARE_H
#define TEQUIO_WORKER_SHARE_H

#include "common/wire/wire.h"
#include "worker/lane_slots.h"

typedef struct share_reader {
    bool trainer; /* the lanes of the master's own process */
    int32_t index, n_lanes;
} share_reader;

/* E_PROTOCOL when a field is out of range. The share is freed with share_free. */
MUST_USE status share_read(const Wire__View *m, const share_reader *self, lane_share *ret,
                           error *err);
void share_free(lane_share *s);

#endif
