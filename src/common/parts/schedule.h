/*
 * The schedule of a job: how it is paced. One value of it says all that `distributed.mode` decides; each
 * role holds one and asks it. Pure; any thread.
 *
 *           unit of work       a part applies units         a lane may begin a unit
 *   sync    a step's slots     one after another            at the weights of just that version
 *   ssp     a batch            in any order, each once      when all batches below its floor are in them
 *   async   a batch            in any order, each once      at the newest weights
 *
 * Elsewhere these are called bulk synchronous, stale synchronous and asynchronous parallel. Units count
 * from 0, and a part's version is the number of units it has applied; a set says which (batch_set.h). In
 * order these are all units below the version.
 */
#ifndef TEQUIO_COMMON_PARTS_SCHEDULE_H
#define TEQUIO_COMMON_PARTS_SCHEDULE_H

#include "common/parts/batch_set.h"

typedef struct schedule {
    bool in_order;          /* sync */
    int64_t staleness;      /* of ssp, in turns of so many batches as a step of sync has; -1: no bound */
} schedule;

/* The batches of a unit, of `k` that a step of sync would have. */
int64_t schedule_unit_batches(const schedule *s, int64_t k);

/* All units below this one are in the weights that `unit` is computed at; turns are of `k` batches. */
int64_t schedule_floor(const schedule *s, int64_t unit, int64_t k);

/* May a part that has `applied` apply `unit` now? */
bool schedule_may_apply(const schedule *s, const batch_set *applied, int64_t unit);
/* The same, or as soon as what is under way is applied. */
bool schedule_may_follow(const schedule *s, const batch_set *applied, int64_t unit);

/* Which version of a part answers a pull for `unit`, with `newest` there: that very version, or whatever is
 * newest. */
int64_t schedule_answer(const schedule *s, int64_t unit, int64_t newest);

/* Parts need not have the same units, so that each has to say which it has, in checkpoints too. The bits of
 * the weights are then no function of the job. */
bool schedule_lists_units(const schedule *s);

#endif
