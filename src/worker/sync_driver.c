#include "worker/sync_driver.h"

#include "common/base/alloc.h"
#include "worker/nodes.h"

#include <stdlib.h>
#include <string.h>

enum { MARGIN = 2, MARGIN_MAX = 1024 };

struct sync_driver {
    sync_driver_options o;
    steps steps;
    lane_reducer *reducer;
    int64_t start;              /* the version begun with */
    int64_t held;               /* version held completely; start - 1 before the first */
    int64_t limit;
    bool ahead;                 /* that one is still to come: no slot is owed from it on */
    int64_t margin;             /* how far ahead to begin the next time */
    int32_t missing;            /* parts of version held + 1 not here yet */
    int32_t *own, *hedged;      /* [per_step] */

    /* the step whose slots the lanes have, or had last: held or held + 1 */
    int64_t given;
    uint32_t n_given, owed;     /* slots given; of those not done */
    int64_t done;               /* the last step whose slots given are all done; -1: none */
    bool *is_given;             /* [per_step] */
    bool *was_given;            /* [per_step] the same of the step before */
    uint32_t *readers;          /* [n_live_parts] slots given that still read the part */
    uint32_t *scratch;          /* [per_step] */

    reduce_group **with;        /* [per_step] what a lane's sum goes into, by its last slot */
    nodes_group *groups;        /* [n_lanes] while they are made */
    int32_t *members;           /* [n_lanes] of one of them */
    tree_node *contributed;     /* [n_lanes] what each of them has */
};

static void cancel_lanes(sync_driver *f)
{
    for (int32_t i = 0; i < f->o.n_lanes; i++)
        lane_cancel(f->o.lanes[i]);
    if (f->o.peers)
        peers_reset(f->o.peers);
    lane_notes_drop(f->o.shared.notes);
}

sync_driver *sync_driver_create(const sync_driver_options *options)
{
    sync_driver *f = xcalloc(1, sizeof *f);
    f->o = *options;
    f->held = f->given = f->done = -1;
    f->readers = xcalloc((size_t)options->flat->n_live_parts, sizeof *f->readers);
    size_t lanes = (size_t)options->n_lanes;
    f->groups = xcalloc(lanes, sizeof *f->groups);
    f->members = xcalloc(lanes, sizeof *f->members);
    f->contributed = xcalloc(lanes, sizeof *f->contributed);
    return f;
}

void sync_driver_destroy(sync_driver **f)
{
    if (!f || !*f)
        return;
    cancel_lanes(*f);
    lane_reducer_destroy(&(*f)->reducer);
    free((*f)->own);
    free((*f)->hedged);
    free((*f)->is_given);
    free((*f)->was_given);
    free((*f)->scratch);
    free((*f)->readers);
    free((*f)->with);
    free((*f)->groups);
    free((*f)->members);
    free((*f)->contributed);
    free(*f);
    *f = NULL;
}

static status reserve(sync_driver *f, const steps *s, error *err)
{
    if (f->reducer && f->steps.per_step == s->per_step)
        return OK;
    size_t k = (size_t)s->per_step;
    lane_reducer_destroy(&f->reducer);
    TRY(lane_reducer_create(f->o.flat, (uint32_t)k, f->o.store, &f->reducer, err));
    for (int32_t i = 0; i < f->o.n_lanes; i++)
        lane_set_reducer(f->o.lanes[i], f->reducer);
    f->own = xrealloc(f->own, k * sizeof *f->own);
    f->hedged = xrealloc(f->hedged, k * sizeof *f->hedged);
    f->is_given = xrealloc(f->is_given, k * sizeof *f->is_given);
    f->was_given = xrealloc(f->was_given, k * sizeof *f->was_given);
    f->scratch = xrealloc(f->scratch, k * sizeof *f->scratch);
    f->with = xrealloc(f->with, k * sizeof *f->with);
    return OK;
}

/* Everything under way is dropped; every part is asked for. The share stays. */
static status begin_at(sync_driver *f, int64_t step, error *err)
{
    cancel_lanes(f);
    lane_reducer_forget(f->reducer); /* lanes get back what it held of the cancelled step */
    f->start = step;
    f->held = f->given = step - 1;
    f->done = -1;
    f->ahead = false;
    f->n_given = f->owed = 0;
    memset(f->is_given, 0, (size_t)f->steps.per_step * sizeof *f->is_given);
    memset(f->readers, 0, (size_t)f->o.flat->n_live_parts * sizeof *f->readers);
    weights_view_forget(f->o.shared.weights);
    f->missing = f->o.flat->n_parts;
    for (int32_t p = 0; p < f->o.flat->n_parts; p++)
        TRY(kv_pull(f->o.kv, p, step, err));
    return OK;
}

status sync_driver_begin(sync_driver *f, const steps *s, int64_t step, int64_t limit, error *err)
{
    cancel_lanes(f);
    TRY(reserve(f, s, err));
    f->steps = *s;
    f->limit = limit;
    f->margin = MARGIN;
    for (int64_t i = 0; i < s->per_step; i++)
        f->own[i] = f->hedged[i] = -1;
    return begin_at(f, step, err);
}

/* On to the slot this lane will most likely compute after this one; false: there is none. */
static bool next_of_lane(const sync_driver *f, int32_t owner, int64_t *step, uint32_t *slot)
{
    uint32_t first = *slot + 1;
    for (int64_t t = *step; t == *step || (t == *step + 1 && t < f->limit); t++, first = 0)
        for (uint32_t s = first; s < steps_slots(&f->steps, t); s++)
            if (f->own[s] == owner) {
                *step = t;
                *slot = s;
                return true;
            }
    return false;
}

static float weight_of(const sync_driver *f, int64_t step, const step_slot *batch)
{
    return (float)((double)batch->n / (double)steps_examples(&f->steps, step));
}

static void look_ahead(const sync_driver *f, lane_slot *work, int32_t owner)
{
    int64_t step = work->step;
    uint32_t slot = work->slot;
    for (int i = 0; i < LANE_AHEAD && next_of_lane(f, owner, &step, &slot); i++) {
        work->next[i].batch = steps_slot(&f->steps, step, slot);
        work->next[i].weight = weight_of(f, step, &work->next[i].batch);
    }
}

/* Lanes on devices that can add up among themselves do so. */
static void form_groups(sync_driver *f, const nodes_given *g)
{
    for (uint32_t i = 0; i < g->n; i++)
        f->with[g->slots[i]] = NULL;
    size_t n = f->o.peers ? nodes_groups(g, f->groups) : 0;
    for (size_t k = 0; k < n; k++) {
        const nodes_group *u = &f->groups[k];
        int32_t members = 0;
        for (uint32_t i = u->first; i < u->end; i = nodes_behind(g, i), members++) {
            f->members[members] = g->lane_of_slot[g->slots[i]];
            f->contributed[members] = nodes_of_lane(g, i);
        }
        reduce_group *with =
            reduce_group_form(f->o.peers, g->n_slots, u->sum, f->members, f->contributed, members);
        for (uint32_t i = u->first; i < u->end; i = nodes_behind(g, i))
            f->with[g->slots[nodes_behind(g, i) - 1]] = with;
    }
}

static void give_slot(sync_driver *f, const nodes_given *g, uint32_t i)
{
    uint32_t slot = g->slots[i];
    int32_t owner = g->lane_of_slot[slot];
    lane_slot work = {
        .step = f->given,
        .slot = slot,
        .n_slots = g->n_slots,
        .sum = nodes_of_lane(g, i),
        .with = f->with[slot],
        .batch = steps_slot(&f->steps, f->given, slot),
        .last = nodes_is_last(g, i),
    };
    work.weight = weight_of(f, work.step, &work.batch);
    look_ahead(f, &work, owner);
    f->is_given[slot] = true;
    lane_give(f->o.lanes[owner], &work);
}

/* Those of our slots of the step `given` that no lane has yet. Returns their number. */
static uint32_t give(sync_driver *f, const int32_t *lane_of_slot)
{
    uint32_t n = 0, n_slots = steps_slots(&f->steps, f->given), *slots = f->scratch;
    for (uint32_t s = 0; s < n_slots; s++)
        if (lane_of_slot[s] >= 0 && !f->is_given[s])
            slots[n++] = s;
    if (!n)
        return 0;
    f->n_given += n;
    f->owed += n;
    if (f->done == f->given)
        f->done = -1;
    for (int32_t p = 0; p < f->o.flat->n_live_parts; p++)
        f->readers[p] += n;
    lane_reducer_plan(f->reducer, f->given, n_slots, slots, n);
    nodes_given g = {.lane_of_slot = lane_of_slot, .slots = slots, .n = n, .n_slots = n_slots};
    form_groups(f, &g);
    for (uint32_t i = 0; i < n; i++)
        give_slot(f, &g, i);
    return n;
}

/* Hedged slots come last, and in nodes of their own: ours do not wait for them. */
static uint32_t give_slots(sync_driver *f)
{
    uint32_t n = give(f, f->own);
    return n + give(f, f->hedged);
}

/* Nothing of ours reads the weights of the version held: ask for the next one. */
static status ask_next(sync_driver *f, error *err)
{
    for (int32_t p = 0; p < f->o.flat->n_live_parts; p++)
        TRY(kv_pull(f->o.kv, p, f->held + 1, err));
    return OK;
}

/* Lanes that are done get the next step, at most one ahead of the version held. */
static status turn(sync_driver *f, error *err)
{
    while (!f->owed && f->given <= f->held && f->given + 1 < f->limit) {
        f->given++;
        f->n_given = 0;
        memcpy(f->was_given, f->is_given, (size_t)f->steps.per_step * sizeof *f->is_given);
        memset(f->is_given, 0, (size_t)f->steps.per_step * sizeof *f->is_given);
        if (!give_slots(f) && f->given == f->held)
            TRY(ask_next(f, err));
    }
    return OK;
}

/* The slots of a step may come late, with a new view: what they will read may be overwritten or
 * asked for already, so the version held is pulled again. */
static status give_late(sync_driver *f, error *err)
{
    bool was_read = f->given == f->held;
    for (int32_t p = 0; was_read && p < f->o.flat->n_live_parts; p++) {
        if (f->readers[p])
            continue;
        if (weights_view_version(f->o.shared.weights, p) == f->held + 1)
            f->missing++;
        if (weights_view_version(f->o.shared.weights, p) != f->held)
            weights_view_drop(f->o.shared.weights, p);
        TRY(kv_pull(f->o.kv, p, f->held, err));
    }
    give_slots(f);
    return OK;
}

static bool owes_more(const sync_driver *f, int64_t step, const bool *is_given)
{
    for (uint32_t s = 0; step >= f->start && s < steps_slots(&f->steps, step); s++)
        if ((f->own[s] >= 0 || f->hedged[s] >= 0) && !is_given[s])
            return true;
    return false;
}

/* Lanes that were a step ahead cannot have got far: version held + 1 is not here. */
static void step_back(sync_driver *f)
{
    cancel_lanes(f);
    f->given = f->held;
    f->owed = 0;
    f->n_given = 0;
    for (int64_t s = 0; s < f->steps.per_step; s++)
        f->n_given += f->is_given[s] = f->was_given[s];
    memset(f->readers, 0, (size_t)f->o.flat->n_live_parts * sizeof *f->readers);
}

static bool owns_slots(const sync_driver *f)
{
    for (int64_t s = 0; s < f->steps.per_step; s++)
        if (f->own[s] >= 0 || f->hedged[s] >= 0)
            return true;
    return false;
}

status sync_driver_own(sync_driver *f, const sync_driver_share *share, error *err)
{
    size_t k = (size_t)f->steps.per_step;
    if (share->n_slots != k)
        return FAIL(err, E_PROTOCOL, "VIEW: %zu slots, but the era began with %zu", share->n_slots,
                    k);
    memcpy(f->own, share->own, k * sizeof *f->own);
    memcpy(f->hedged, share->hedged, k * sizeof *f->hedged);
    if (f->ahead && owns_slots(f))
        TRY(begin_at(f, share->since, err));
    if (f->given > f->held && owes_more(f, f->held, f->was_given))
        step_back(f);
    /* at the limit the last step given may be over: nothing of it is owed */
    if (f->given >= f->held && owes_more(f, f->given, f->is_given))
        TRY(give_late(f, err));
    return turn(f, err);
}

status sync_driver_limit(sync_driver *f, int64_t limit, error *err)
{
    f->limit = limit; /* it also falls, while the master's disk takes nothing: no step is begun then */
    return turn(f, err);
}

static status version_complete(sync_driver *f, error *err)
{
    f->held++;
    f->missing = f->o.flat->n_live_parts;
    f->ahead = false;
    f->margin = MARGIN;
    if (f->given == f->held && !f->n_given)
        TRY(ask_next(f, err));
    return turn(f, err);
}

status sync_driver_part(sync_driver *f, const kv_part *p, error *err)
{
    bool is_wanted = p->version == f->held || p->version == f->held + 1;
    if (!is_wanted || weights_view_version(f->o.shared.weights, p->part) == p->version)
        return OK;                  /* lanes may be reading what is here */
    TRY(weights_view_put(f->o.shared.weights, p, err));
    if (p->version == f->held + 1 && --f->missing == 0)
        return version_complete(f, err);
    return OK;
}

/* One version below the newest of a part all parts have been, and their next step may be owed. A
 * part that was restored at its newest has no older one, and then nobody owes the step before. */
static int64_t lowest_owed(const sync_driver *f, int64_t newest)
{
    bool asks_for_first = !sync_driver_is_whole(f) && newest - 1 <= f->start;
    return asks_for_first ? newest : newest - 1;
}

/* The next time further ahead, if the servers are faster than the question. */
static int64_t still_to_come(sync_driver *f, int64_t newest)
{
    int64_t to = newest + f->margin;
    if (f->margin < MARGIN_MAX)
        f->margin *= 2;
    return to > f->limit && f->limit > newest ? f->limit : to;
}

status sync_driver_gone(sync_driver *f, int64_t newest, error *err)
{
    bool ahead = !owns_slots(f);
    TRY(begin_at(f, ahead ? still_to_come(f, newest) : lowest_owed(f, newest), err));
    f->ahead = ahead;
    return turn(f, err);
}

static status push(sync_driver *f, const note *n, error *err)
{
    if (!n->sum)
        return OK;
    uint32_t slots = steps_slots(&f->steps, n->step);
    return kv_push(f->o.kv, n->part, n->step, slots, n->node, n->sum, err);
}

static status take_ready(sync_driver *f, const note *n, error *err)
{
    TRY(push(f, n, err));
    if (--f->readers[n->part] == 0)
        return kv_pull(f->o.kv, n->part, n->step + 1, err);
    return OK;
}

status sync_driver_serve(sync_driver *f, sync_driver_measured_fn *measured, void *user, error *err)
{
    note n;
    /* the end of a step may be noted after its last part made the next version complete */
    while (lane_notes_take(f->o.shared.notes, f->held - 1, &n) ||
           lane_notes_take(f->o.shared.notes, f->held, &n)) {
        if (n.kind == NOTE_READY) {
            TRY(take_ready(f, &n, err));
            continue;
        }
        if (n.kind == NOTE_SUM) {
            TRY(push(f, &n, err));
            continue;
        }
        if (n.kind == NOTE_MEASURED) {
            TRY(measured(user, &n, err));
            continue;
        }
        if (--f->owed == 0)
            f->done = f->given;
        TRY(turn(f, err));
    }
    return lane_notes_failure(f->o.shared.notes, err);
}

int64_t sync_driver_step(const sync_driver *f)
{
    return f->held;
}

bool sync_driver_is_whole(const sync_driver *f)
{
    return f->held >= f->start;
}

int32_t sync_driver_missing(const sync_driver *f, int32_t *ret_first_part)
{
    *ret_first_part = -1;
    for (int32_t p = 0; p < f->o.flat->n_parts && *ret_first_part < 0; p++)
        if (!f->o.flat->parts[p].frozen && weights_view_version(f->o.shared.weights, p) != f->held + 1)
            *ret_first_part = p;
    return f->missing;
}

bool sync_driver_is_held_back(const sync_driver *f)
{
    return f->held >= f->limit;
}

int64_t sync_driver_computing(const sync_driver *f)
{
    return f->owed > 0 ? f->given : -1;
}

int64_t sync_driver_delivered(const sync_driver *f)
{
    return f->done >= 0 && !kv_is_pushing(f->o.kv, f->done) ? f->done : -1;
}
