#include "worker/step.h"

#include "common/base/alloc.h"

#include <stdlib.h>
#include <string.h>

struct follower {
    follower_options o;
    steps steps;
    gather *gather;
    int64_t start;              /* the version begun with */
    int64_t held;               /* version held completely; start - 1 before the first */
    int64_t limit;
    int64_t behind;             /* newest version heard of after ours was gone; -1: not left behind */
    int32_t missing;            /* parts of version held + 1 not here yet */
    int32_t *lane_of_slot;      /* [per_step] */

    /* the step whose slots the lanes have, or had last: held or held + 1 */
    int64_t given;
    uint32_t n_given, owed;     /* slots given; of those not done */
    bool *is_given;             /* [per_step] */
    bool *was_given;            /* [per_step] the same of the step before */
    uint32_t *readers;          /* [n_live_parts] slots given that still read the part */
    uint32_t *scratch;          /* [per_step] */
};

static void release_notes(board *b, int64_t step)
{
    note n;
    while (board_take_note(b, step, &n))
        if (n.kind == NOTE_READY && n.block)
            n.block->release(n.block);
}

static void cancel_lanes(follower *f)
{
    for (int32_t i = 0; i < f->o.n_lanes; i++)
        lane_cancel(f->o.lanes[i]);
    release_notes(f->o.board, INT64_MAX);
    release_notes(f->o.board, INT64_MAX - 1);
}

status follower_create(const follower_options *options, follower **ret, error *err)
{
    (void)err;
    follower *f = xcalloc(1, sizeof *f);
    f->o = *options;
    f->held = f->given = -1;
    f->readers = xcalloc((size_t)options->flat->n_live_parts, sizeof *f->readers);
    *ret = f;
    return OK;
}

void follower_destroy(follower **f)
{
    if (!f || !*f)
        return;
    cancel_lanes(*f);
    gather_destroy(&(*f)->gather);
    free((*f)->lane_of_slot);
    free((*f)->is_given);
    free((*f)->was_given);
    free((*f)->scratch);
    free((*f)->readers);
    free(*f);
    *f = NULL;
}

static status reserve(follower *f, const steps *s, error *err)
{
    if (f->gather && f->steps.per_step == s->per_step)
        return OK;
    size_t k = (size_t)s->per_step;
    gather_destroy(&f->gather);
    TRY(gather_create(f->o.flat, (uint32_t)k, &f->gather, err));
    for (int32_t i = 0; i < f->o.n_lanes; i++)
        lane_set_gather(f->o.lanes[i], f->gather);
    f->lane_of_slot = xrealloc(f->lane_of_slot, k * sizeof *f->lane_of_slot);
    f->is_given = xrealloc(f->is_given, k * sizeof *f->is_given);
    f->was_given = xrealloc(f->was_given, k * sizeof *f->was_given);
    f->scratch = xrealloc(f->scratch, k * sizeof *f->scratch);
    return OK;
}

status follower_begin(follower *f, const steps *s, int64_t step, int64_t limit, error *err)
{
    cancel_lanes(f);
    TRY(reserve(f, s, err));
    gather_forget(f->gather);       /* lanes get back what it held of the cancelled step */
    f->steps = *s;
    f->start = step;
    f->held = f->given = step - 1;
    f->limit = limit;
    f->behind = -1;
    f->n_given = f->owed = 0;
    memset(f->is_given, 0, (size_t)s->per_step * sizeof *f->is_given);
    for (int64_t i = 0; i < s->per_step; i++)
        f->lane_of_slot[i] = -1;
    memset(f->readers, 0, (size_t)f->o.flat->n_live_parts * sizeof *f->readers);
    board_forget(f->o.board);
    f->missing = f->o.flat->n_parts;
    for (int32_t p = 0; p < f->o.flat->n_parts; p++)
        TRY(kv_pull(f->o.kv, p, step, err));
    return OK;
}

/* The slot this lane will most likely compute after this one. */
static step_slot read_ahead(const follower *f, int64_t step, uint32_t slot)
{
    int32_t owner = f->lane_of_slot[slot];
    for (uint32_t s = slot + 1; s < steps_slots(&f->steps, step); s++)
        if (f->lane_of_slot[s] == owner)
            return steps_slot(&f->steps, step, s);
    for (uint32_t s = 0; step + 1 < f->limit && s < steps_slots(&f->steps, step + 1); s++)
        if (f->lane_of_slot[s] == owner)
            return steps_slot(&f->steps, step + 1, s);
    return (step_slot){.n = 0};
}

static bool is_last_of_lane(const follower *f, const uint32_t *slots, uint32_t n, uint32_t i)
{
    for (uint32_t k = i + 1; k < n; k++)
        if (f->lane_of_slot[slots[k]] == f->lane_of_slot[slots[i]])
            return false;
    return true;
}

/* Our slots of the step `given` that no lane has yet. Returns their number. */
static uint32_t give_slots(follower *f)
{
    uint32_t n = 0, *slots = f->scratch;
    for (uint32_t s = 0; s < steps_slots(&f->steps, f->given); s++)
        if (f->lane_of_slot[s] >= 0 && !f->is_given[s])
            slots[n++] = s;
    if (!n)
        return 0;
    f->n_given += n;
    f->owed += n;
    for (int32_t p = 0; p < f->o.flat->n_live_parts; p++)
        f->readers[p] += n;
    gather_plan(f->gather, f->given, steps_slots(&f->steps, f->given), slots, n);
    double examples = (double)steps_examples(&f->steps, f->given);
    for (uint32_t i = 0; i < n; i++) {
        lane_slot work = {
            .step = f->given,
            .slot = slots[i],
            .batch = steps_slot(&f->steps, f->given, slots[i]),
            .last = is_last_of_lane(f, slots, n, i),
            .next = read_ahead(f, f->given, slots[i]),
        };
        work.weight = (float)((double)work.batch.n / examples);
        f->is_given[slots[i]] = true;
        lane_give(f->o.lanes[f->lane_of_slot[slots[i]]], &work);
    }
    return n;
}

/* Nothing of ours reads the weights of the version held: ask for the next one. */
static status ask_next(follower *f, error *err)
{
    for (int32_t p = 0; p < f->o.flat->n_live_parts; p++)
        TRY(kv_pull(f->o.kv, p, f->held + 1, err));
    return OK;
}

/* Lanes that are done get the next step, at most one ahead of the version held. */
static status turn(follower *f, error *err)
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
static status give_late(follower *f, error *err)
{
    bool was_read = f->given == f->held;
    for (int32_t p = 0; was_read && p < f->o.flat->n_live_parts; p++) {
        if (f->readers[p])
            continue;
        if (board_version(f->o.board, p) == f->held + 1)
            f->missing++;
        if (board_version(f->o.board, p) != f->held)
            board_drop_part(f->o.board, p);
        TRY(kv_pull(f->o.kv, p, f->held, err));
    }
    give_slots(f);
    return OK;
}

static bool owes_more(const follower *f, int64_t step, const bool *is_given)
{
    for (uint32_t s = 0; step >= f->start && s < steps_slots(&f->steps, step); s++)
        if (f->lane_of_slot[s] >= 0 && !is_given[s])
            return true;
    return false;
}

/* Lanes that were a step ahead cannot have got far: version held + 1 is not here. */
static void step_back(follower *f)
{
    cancel_lanes(f);
    f->given = f->held;
    f->owed = 0;
    f->n_given = 0;
    for (int64_t s = 0; s < f->steps.per_step; s++)
        f->n_given += f->is_given[s] = f->was_given[s];
    memset(f->readers, 0, (size_t)f->o.flat->n_live_parts * sizeof *f->readers);
}

status follower_own(follower *f, const int32_t *lane_of_slot, error *err)
{
    memcpy(f->lane_of_slot, lane_of_slot, (size_t)f->steps.per_step * sizeof *lane_of_slot);
    if (f->given > f->held && owes_more(f, f->held, f->was_given))
        step_back(f);
    if (owes_more(f, f->given, f->is_given))
        TRY(give_late(f, err));
    return turn(f, err);
}

status follower_limit(follower *f, int64_t limit, error *err)
{
    if (limit > f->limit)
        f->limit = limit;
    return turn(f, err);
}

static status version_complete(follower *f, error *err)
{
    f->held++;
    f->missing = f->o.flat->n_live_parts;
    if (f->given == f->held && !f->n_given)
        TRY(ask_next(f, err));
    return turn(f, err);
}

status follower_part(follower *f, int32_t part, int64_t version, const float *data, error *err)
{
    if (version != f->held && version != f->held + 1)
        return OK;
    board_put_part(f->o.board, part, version, data);
    if (version == f->held + 1 && --f->missing == 0)
        return version_complete(f, err);
    return OK;
}

/* Left behind by more than a step: begin again where the servers are, with the same slots. */
static status catch_up(follower *f, error *err)
{
    int32_t *owners = xmalloc((size_t)f->steps.per_step * sizeof *owners);
    memcpy(owners, f->lane_of_slot, (size_t)f->steps.per_step * sizeof *owners);
    status st = follower_begin(f, &f->steps, f->behind, f->limit, err);
    if (st == OK)
        st = follower_own(f, owners, err);
    free(owners);
    return st;
}

static bool owns_slots(const follower *f)
{
    for (int64_t s = 0; s < f->steps.per_step; s++)
        if (f->lane_of_slot[s] >= 0)
            return true;
    return false;
}

status follower_gone(follower *f, int64_t newest, error *err)
{
    if (newest > f->behind)
        f->behind = newest;
    /* with nothing to compute there is no hurry: follower_tick */
    return owns_slots(f) ? catch_up(f, err) : OK;
}

status follower_tick(follower *f, error *err)
{
    return f->behind >= 0 ? catch_up(f, err) : OK;
}

static void push_over(void *data, void *hint)
{
    (void)data;
    fold_block *b = hint;
    b->release(b);
}

static status take_ready(follower *f, const note *n, error *err)
{
    if (n->block) {
        net_buffer data = {.data = n->block->data,
                           .bytes = n->block->n * sizeof(float),
                           .release = push_over,
                           .hint = n->block};
        TRY(kv_push(f->o.kv, n->part, n->step, steps_slots(&f->steps, n->step), n->node, &data, err));
    }
    if (--f->readers[n->part] == 0)
        return kv_pull(f->o.kv, n->part, n->step + 1, err);
    return OK;
}

status follower_serve(follower *f, follower_done_fn *done, void *user, error *err)
{
    note n;
    /* the end of a step may be noted after its last part made the next version complete */
    while (board_take_note(f->o.board, f->held - 1, &n) || board_take_note(f->o.board, f->held, &n)) {
        if (n.kind == NOTE_READY) {
            TRY(take_ready(f, &n, err));
            continue;
        }
        f->owed--;
        TRY(done(user, &n, err));
        TRY(turn(f, err));
    }
    return board_failure(f->o.board, err);
}

int64_t follower_step(const follower *f)
{
    return f->held;
}

int32_t follower_missing(const follower *f, int32_t *ret_first_part)
{
    *ret_first_part = -1;
    for (int32_t p = 0; p < f->o.flat->n_parts && *ret_first_part < 0; p++)
        if (!f->o.flat->parts[p].frozen && board_version(f->o.board, p) != f->held + 1)
            *ret_first_part = p;
    return f->missing;
}

bool follower_is_held_back(const follower *f)
{
    return f->held >= f->limit;
}

bool follower_is_computing(const follower *f)
{
    return f->owed > 0;
}
