/*
 * The table: the parts a server holds, their versions, and the steps that move them. Whether it
 * acts for a part or stands by is all the same here.
 *
 * Per live part: the weights of the newest version and of the one before (written out of place, so
 * a slot can be recomputed), the optimizer's state, and the reducer of the step under way. When the
 * root of the tree is there the update is applied, at once or, with a vote, when the verdict comes.
 * Each version has its loss scale (loss_scale.h), by which its gradients are too large. A step that is
 * skipped makes a version of the same weights and state, and does not count for the optimizer, whose
 * rate follows the versions. Frozen parts have every version.
 *
 * The schedule (common/parts/schedule.h) says which unit a part may apply. Where units come in any order
 * each is one batch, and is applied as it comes, once.
 *
 * All of that lies in a store (common/parts/part_store.h) and is computed there: weights, state, sums and
 * what is pushed. Where it is a device, the host gets a copy of what it is to read, and weights change in
 * place, where the lane reads them: nobody else can ask for the version before.
 *
 * Threads: belongs to the server's thread, whose helpers compute; blocks that went out may be dropped
 * from any.
 */
#ifndef TEQUIO_PS_TABLE_H
#define TEQUIO_PS_TABLE_H

#include "common/parts/batch_set.h"
#include "common/parts/block.h"
#include "common/parts/flat.h"
#include "common/parts/loss_scale.h"
#include "common/parts/schedule.h"
#include "common/parts/steps.h"
#include "common/parts/tree_reducer.h"
#include "common/parts/verdict.h"
#include "common/store/checkpoint.h"
#include "optim/group.h"
#include "ps/thread_pool.h"

typedef struct table table;

typedef enum part_hold {
    PART_ELSEWHERE,
    PART_HELD,
    PART_AWAITED,                   /* comes from another server, by table_take_copy */
} part_hold;

typedef struct table_options {
    const flat *flat;               /* kept */
    const part_hold *parts;         /* [n_parts] not kept */
    steps steps;
    const optim_group *groups;      /* [n_groups] not kept; the first is that of tensors without another */
    size_t n_groups;                /* more than any tensor's group */
    float clip_value;               /* 0: none */
    bool votes;                     /* apply only after table_verdict */
    loss_scale_rule scaling;
    loss_scale scale;               /* of `step` */
    schedule schedule;              /* where units come in any order, there are no votes */
    int64_t total;                  /* units of the job, 0 .. total-1 */
    int64_t step;                   /* version to start from */
    uint64_t seed;                  /* draws version 0 */
    const checkpoint *restore;      /* or where `step` is read from; NULL: draw */
    bool loads;                     /* or table_load brings every vector */
    thread_pool *thread_pool;       /* who compute too; kept. NULL: nobody */
    part_store *store;              /* kept; NULL or not open: the host */
} table_options;

/* What happens in the table that others must hear of. Called from table_push and table_verdict. */
typedef struct table_hooks {
    /* The sum of a step is complete; nothing is applied yet. A hook that keeps it holds it. May be
     * NULL. */
    void (*summed)(void *user, int32_t part, int64_t step, uint32_t n_slots, span *root);
    /* Version `version` of `part` exists now: answer pulls, freeze for cuts. `grad` is the store's. */
    status (*applied)(void *user, int32_t part, int64_t version, const float *grad, error *err);
    /* The root is there and waits for the verdict; what a device sums, from table_say_summed too. The sum
     * is that of the gradient without its scale. */
    void (*voted)(void *user, int32_t part, int64_t step, double square_sum);
    void *user;
} table_hooks;

MUST_USE status table_create(const table_options *options, const table_hooks *hooks, table **ret, error *err);
void table_destroy(table **t);

/* Vector `row` of a part: 0 its weights, 1.. its optimizer slots (live parts only), then, if
 * the schedule lists units, the packed set of those it has. E_PROTOCOL when there is no such vector here. */
MUST_USE status table_load(table *t, int32_t part, uint64_t row, const void *data, size_t bytes, error *err);
/* How many of them a part has: 1 when frozen, 0 when it is not complete here. */
uint64_t table_rows(const table *t, int32_t part);

bool table_holds(const table *t, int32_t part);
size_t table_bytes(const table *t);                         /* weights of the parts held */
int64_t table_version(const table *t, int32_t part);        /* newest */
int64_t table_newest(const table *t);                       /* highest of any live part held */
uint32_t table_slots(const table *t, int64_t step);         /* of that step */
int64_t table_batches(const table *t, int32_t part);        /* batches applied to it, over the job's life */
/* Of a live part's newest version, or of the one before. */
loss_scale table_scale(const table *t, int32_t part, int64_t version);

/* Which units a live part has; and which one made its newest version, -1: none here. */
const batch_set *table_applied(const table *t, int32_t part);
int64_t table_last_unit(const table *t, int32_t part);
bool table_has_floor(const table *t, int32_t part, int64_t floor);   /* of a frozen part: any */
/* Which units every live part held here has (all, if none is). */
void table_applied_by_all(const table *t, batch_set *ret);

typedef enum push_result {
    PUSH_TAKEN,         /* summed, or covered by what is there; or applied */
    PUSH_STALE,         /* of a unit already applied */
    PUSH_WRONG,         /* no such part, node, size or step; *err says which */
} push_result;

/* One node of unit `step`. `sum` moves in, whatever comes of it. */
MUST_USE status table_push(table *t, int32_t part, int64_t step, uint32_t n_slots, tree_node node,
                           span *sum, push_result *ret, error *err);

/* Where a device sums hooks.voted is called from here, as soon as it has: waits for the part that
 * has waited longest, and says it of all that are there by then. Not until nothing else is to be done. */
MUST_USE status table_say_summed(table *t, error *err);
bool table_is_summing(const table *t);                      /* of some part it is to be said; NULL is fine */

/* Calls hooks.voted again for a part that waits for a verdict. */
void table_say_vote(table *t, int32_t part);
/* The same for every part that waits for a verdict, and for the step before: a new
 * master counts both, whatever the last one has heard. */
void table_say_votes(table *t);

/* The vote on `step`: applies every part that waits for it. */
MUST_USE status table_verdict(table *t, int64_t step, verdict v, error *err);

/* The weights of exactly that version, held for the caller, the store's; NULL if it is gone or not there
 * yet. */
span *table_weights(table *t, int32_t part, int64_t version);

/* n floats of such a block, or of a gradient, for the host to read: they themselves, or a copy of them in
 * room[n]. */
MUST_USE status table_read(const table *t, const float *from, size_t n, float *room, const float **ret,
                           error *err);

/* The newest weights and state, held for the caller, for a cut: on the host. After a failure some of them,
 * the others NULL. */
MUST_USE status table_freeze(table *t, int32_t part, span **ret_weights,
                             span *ret_slots[OPTIM_SLOTS], error *err);

/* Copies what a cut holds of the state, so that the next update need not write elsewhere than it reads,
 * which takes longer than in place. For moments when nobody waits; takes spare blocks only. */
void table_settle(table *t, int32_t part);

/* How many blocks of the host, of *ret_floats each, a cut of `part` will lack, for itself or for updates
 * while it holds what they read; and one more for it (another server's, or too late: it is dropped). */
size_t table_lacks(const table *t, int32_t part, size_t *ret_floats);
void table_add_block(table *t, int32_t part, span **b);

/* --- copies, for standbys --- */

/* What is held from now on: what was and is PART_HELD stays as it is, the rest is dropped or
 * awaited anew. E_PROTOCOL: a part to be held is not here, and nothing was changed. */
MUST_USE status table_hold(table *t, const part_hold *parts, error *err);
bool table_is_complete(const table *t, int32_t part);       /* held, and not awaited */
bool table_is_voting(const table *t, int32_t part);         /* its sum waits for the verdict */
/* The verdict on `step`, if it is the last one heard. */
bool table_last_verdict(const table *t, int64_t step, verdict *ret);
/* The verdict on `step` for one part that waits for it still. */
MUST_USE status table_verdict_on(table *t, int32_t part, int64_t step, verdict v, error *err);

/* The vectors a copy of `part` needs: its weights, the optimizer's state and, where they are here,
 * the weights of the version before. Held for the caller. */
uint32_t table_vectors(const table *t, int32_t part);
/* *ret_scale: of the version that it is of. */
span *table_vector(const table *t, int32_t part, uint32_t row, loss_scale *ret_scale);

typedef struct table_row {
    uint32_t at, n;                 /* one of so many vectors */
    loss_scale scale;               /* of the version that it is of */
    const float *data;
    size_t n_floats;
} table_row;

/* One of them, of a copy at `version`. Rows of a later version begin the copy anew, those of an
 * earlier one change nothing; a copy that is here is not taken again. E_PROTOCOL when it does not
 * fit. */
MUST_USE status table_take_copy(table *t, int32_t part, int64_t version, const table_row *row,
                                bool *ret_complete, error *err);

/* Slots of the step under way that have not arrived for `part`, as text ("1,3"), for messages;
 * where units come in any order: the lowest that has not. */
void table_missing(const table *t, int32_t part, char *ret, size_t bytes);

#endif
