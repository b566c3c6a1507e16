#include "worker/lane_slots.h"

#include "common/base/alloc.h"

#include <stdlib.h>
#include <string.h>

/* --- life --- */

void lane_slots_init(lane_slots *l, const flat *f, lane *const *lanes, int32_t n_lanes, peers *with)
{
    size_t n = (size_t)n_lanes;
    *l = (lane_slots){.flat = f, .lanes = lanes, .n_lanes = n_lanes, .peers = with, .given = -1, .done = -1};
    l->readers = xcalloc((size_t)f->n_live_parts, sizeof *l->readers);
    l->groups = xcalloc(n, sizeof *l->groups);
    l->members = xcalloc(n, sizeof *l->members);
    l->contributed = xcalloc(n, sizeof *l->contributed);
}

void lane_slots_fini(lane_slots *l)
{
    lane_reducer_destroy(&l->reducer);
    free(l->own);
    free(l->hedged);
    free(l->is_given);
    free(l->was_given);
    free(l->scratch);
    free(l->readers);
    free(l->with);
    free(l->groups);
    free(l->members);
    free(l->contributed);
}

static status lane_slots_reserve(lane_slots *l, size_t k, part_store *store, error *err)
{
    if (l->reducer && l->steps.per_step == (int64_t)k)
        return OK;
    lane_reducer_destroy(&l->reducer);
    TRY(lane_reducer_create(l->flat, (uint32_t)k, store, &l->reducer, err));
    for (int32_t i = 0; i < l->n_lanes; i++)
        lane_set_reducer(l->lanes[i], l->reducer);
    l->own = xrealloc(l->own, k * sizeof *l->own);
    l->hedged = xrealloc(l->hedged, k * sizeof *l->hedged);
    l->is_given = xrealloc(l->is_given, k * sizeof *l->is_given);
    l->was_given = xrealloc(l->was_given, k * sizeof *l->was_given);
    l->scratch = xrealloc(l->scratch, k * sizeof *l->scratch);
    l->with = xrealloc(l->with, k * sizeof *l->with);
    return OK;
}

status lane_slots_begin(lane_slots *l, const steps *s, part_store *store, error *err)
{
    TRY(lane_slots_reserve(l, (size_t)s->per_step, store, err));
    l->steps = *s;
    for (int64_t i = 0; i < s->per_step; i++)
        l->own[i] = l->hedged[i] = -1;
    return OK;
}

void lane_slots_restart(lane_slots *l, int64_t step)
{
    lane_reducer_forget(l->reducer); /* lanes get back what it held of the cancelled step */
    l->given = step - 1;
    l->done = -1;
    l->done_us = 0;
    l->n_given = l->owed = 0;
    memset(l->is_given, 0, (size_t)l->steps.per_step * sizeof *l->is_given);
    memset(l->readers, 0, (size_t)l->flat->n_live_parts * sizeof *l->readers);
}

/* --- what is ours --- */

status lane_slots_own(lane_slots *l, const lane_share *share, error *err)
{
    size_t k = (size_t)l->steps.per_step;
    if (share->n_slots != k)
        return FAIL(err, E_PROTOCOL, "VIEW: %zu slots, but the era began with %zu", share->n_slots, k);
    memcpy(l->own, share->own, k * sizeof *l->own);
    memcpy(l->hedged, share->hedged, k * sizeof *l->hedged);
    return OK;
}

bool lane_slots_any_own(const lane_slots *l)
{
    for (int64_t s = 0; s < l->steps.per_step; s++)
        if (l->own[s] >= 0 || l->hedged[s] >= 0)
            return true;
    return false;
}

static bool owes_more(const lane_slots *l, int64_t step, const bool *is_given)
{
    for (uint32_t s = 0; s < steps_slots(&l->steps, step); s++)
        if ((l->own[s] >= 0 || l->hedged[s] >= 0) && !is_given[s])
            return true;
    return false;
}

bool lane_slots_owe(const lane_slots *l)
{
    return owes_more(l, l->given, l->is_given);
}

bool lane_slots_owe_before(const lane_slots *l)
{
    return owes_more(l, l->given - 1, l->was_given);
}

/* --- giving --- */

/* On to the slot this lane will most likely compute after this one; false: there is none. */
static bool next_of_lane(const lane_slots *l, int64_t limit, int32_t owner, int64_t *step, uint32_t *slot)
{
    uint32_t first = *slot + 1;
    for (int64_t t = *step; t == *step || (t == *step + 1 && t < limit); t++, first = 0)
        for (uint32_t s = first; s < steps_slots(&l->steps, t); s++)
            if (l->own[s] == owner) {
                *step = t;
                *slot = s;
                return true;
            }
    return false;
}

static float weight_of(const lane_slots *l, int64_t step, const step_slot *batch)
{
    return (float)((double)batch->n / (double)steps_examples(&l->steps, step));
}

static void look_ahead(const lane_slots *l, int64_t limit, lane_slot *work, int32_t owner)
{
    int64_t step = work->step;
    uint32_t slot = work->slot;
    for (int i = 0; i < LANE_AHEAD && next_of_lane(l, limit, owner, &step, &slot); i++) {
        work->next[i].batch = steps_slot(&l->steps, step, slot);
        work->next[i].weight = weight_of(l, step, &work->next[i].batch);
    }
}

/* Lanes on devices that can add up among themselves do so. */
static void form_groups(lane_slots *l, const nodes_given *g)
{
    for (uint32_t i = 0; i < g->n; i++)
        l->with[g->slots[i]] = NULL;
    size_t n = l->peers ? nodes_groups(g, l->groups) : 0;
    for (size_t k = 0; k < n; k++) {
        const nodes_group *u = &l->groups[k];
        int32_t members = 0;
        for (uint32_t i = u->first; i < u->end; i = nodes_behind(g, i), members++) {
            l->members[members] = g->lane_of_slot[g->slots[i]];
            l->contributed[members] = nodes_of_lane(g, i);
        }
        reduce_group *with =
            reduce_group_form(l->peers, g->n_slots, u->sum, l->members, l->contributed, members);
        for (uint32_t i = u->first; i < u->end; i = nodes_behind(g, i))
            l->with[g->slots[nodes_behind(g, i) - 1]] = with;
    }
}

static void give_slot(lane_slots *l, int64_t limit, const nodes_given *g, uint32_t i)
{
    uint32_t slot = g->slots[i];
    int32_t owner = g->lane_of_slot[slot];
    lane_slot work = {
        .step = l->given,
        .slot = slot,
        .n_slots = g->n_slots,
        .sum = nodes_of_lane(g, i),
        .with = l->with[slot],
        .batch = steps_slot(&l->steps, l->given, slot),
        .last = nodes_is_last(g, i),
        .free_us = l->done_us,
    };
    work.weight = weight_of(l, work.step, &work.batch);
    look_ahead(l, limit, &work, owner);
    l->is_given[slot] = true;
    lane_give(l->lanes[owner], &work);
}

/* Those of our slots of the step `given` that no lane has yet. Returns their number. */
static uint32_t lane_slots_give_new(lane_slots *l, int64_t limit, const int32_t *lane_of_slot)
{
    uint32_t n = 0, n_slots = steps_slots(&l->steps, l->given), *slots = l->scratch;
    for (uint32_t s = 0; s < n_slots; s++)
        if (lane_of_slot[s] >= 0 && !l->is_given[s])
            slots[n++] = s;
    if (!n)
        return 0;
    l->n_given += n;
    l->owed += n;
    if (l->done == l->given)
        l->done = -1;
    for (int32_t p = 0; p < l->flat->n_live_parts; p++)
        l->readers[p] += n;
    lane_reducer_plan(l->reducer, l->given, n_slots, slots, n);
    nodes_given g = {.lane_of_slot = lane_of_slot, .slots = slots, .n = n, .n_slots = n_slots};
    form_groups(l, &g);
    for (uint32_t i = 0; i < n; i++)
        give_slot(l, limit, &g, i);
    return n;
}

/* Hedged slots come last, and in nodes of their own: ours do not wait for them. */
uint32_t lane_slots_give(lane_slots *l, int64_t limit)
{
    uint32_t n = lane_slots_give_new(l, limit, l->own);
    return n + lane_slots_give_new(l, limit, l->hedged);
}

void lane_slots_next(lane_slots *l)
{
    l->given++;
    l->n_given = 0;
    memcpy(l->was_given, l->is_given, (size_t)l->steps.per_step * sizeof *l->is_given);
    memset(l->is_given, 0, (size_t)l->steps.per_step * sizeof *l->is_given);
}

void lane_slots_back(lane_slots *l)
{
    l->given--;
    l->done_us = 0;
    l->owed = 0;
    l->n_given = 0;
    for (int64_t s = 0; s < l->steps.per_step; s++)
        l->n_given += l->is_given[s] = l->was_given[s];
    memset(l->readers, 0, (size_t)l->flat->n_live_parts * sizeof *l->readers);
}

/* --- what lanes say --- */

bool lane_slots_read(lane_slots *l, int32_t part)
{
    return --l->readers[part] == 0;
}

void lane_slots_done(lane_slots *l, int64_t at_us)
{
    l->done_us = at_us > l->done_us ? at_us : l->done_us;
    if (--l->owed == 0)
        l->done = l->given;
}
