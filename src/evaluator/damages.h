/*
 * Checkpoints that could not be read twice, and are left alone: the master is told (common/store/eval_damage.h), and
 * they are tried again after a while.
 * Threads: the evaluator's only one.
 */
#ifndef TEQUIO_EVALUATOR_DAMAGES_H
#define TEQUIO_EVALUATOR_DAMAGES_H

#include "common/store/jobdir.h"

#include <stddef.h>
#include <stdint.h>

typedef struct damage {
    int64_t step;
    int64_t since_us, tried_us;
    error why;
} damage;

typedef struct damages {
    const jobdir *dir;
    damage *at;
    size_t n, cap;
} damages;

/* It could not be read, once more. */
const damage *damages_note(damages *d, int64_t step, const error *why);
void damages_forget(damages *d, int64_t step); /* it could */
const damage *damages_find(const damages *d, int64_t step); /* NULL: it is none of them */

/* `list` are the checkpoints that are there; what has been away is another one. Takes out of the list those that
 * were tried a moment ago, and returns how many are left. */
size_t damages_take_out(damages *d, int64_t *list, size_t n);

/* The job is over for us: nothing is told any more. */
void damages_withdraw(damages *d);
void damages_fini(damages *d);

#endif
