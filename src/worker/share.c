#include "worker/share.h"

#include "common/base/alloc.h"

#include <stdlib.h>

enum { SLOTS_MAX = 1 << 20 };

/* The lane of ours that is meant, or -1. */
static int32_t lane_of(const share_reader *self, const Wire__View__Owner *o)
{
    bool ours = o && o->trainer == self->trainer && o->worker == (uint32_t)self->index &&
                o->lane < (uint32_t)self->n_lanes;
    return ours ? (int32_t)o->lane : -1;
}

status share_read(const Wire__View *m, const share_reader *self, lane_share *ret, error *err)
{
    if (!m->n_slots || m->n_slots > SLOTS_MAX || m->examples_per_epoch <= 0 || m->batch_size <= 0 ||
        m->start_step < 0)
        return FAIL(err, E_PROTOCOL, "VIEW: a field is out of range");
    for (size_t i = 0; i < m->n_hedges; i++)
        if (m->hedges[i]->slot >= m->n_slots)
            return FAIL(err, E_PROTOCOL, "VIEW: slot %u of %zu is hedged", m->hedges[i]->slot,
                        m->n_slots);
    int32_t *own = xmalloc(2 * m->n_slots * sizeof *own), *hedged = own + m->n_slots;
    for (size_t s = 0; s < m->n_slots; s++) {
        own[s] = lane_of(self, m->slots[s]);
        hedged[s] = -1;
    }
    for (size_t i = 0; i < m->n_hedges; i++)
        hedged[m->hedges[i]->slot] = lane_of(self, m->hedges[i]->owner);
    *ret = (lane_share){m->n_slots, own, hedged, m->start_step};
    return OK;
}

void share_free(lane_share *s)
{
    free((void *)(uintptr_t)s->own);
    *s = (lane_share){.own = NULL};
}
