/*
 * Rehearsing failures: the plan of this process (`--fault`, else TEQUIO_FAULT), which life of its
 * task this is, and the faults of the tasks it plays.
 *
 * Threads: the main one; a `fault` that was handed out may be used by its role's thread.
 */
#ifndef TEQUIO_CLI_PLAY_REHEARSAL_H
#define TEQUIO_CLI_PLAY_REHEARSAL_H

#include "cli/train/shape.h"
#include "common/fault/fault.h"
#include "common/fault/plan.h"

enum { REHEARSAL_TASKS = 4 };

typedef struct rehearsal { /* all zero: nothing is rehearsed */
    const char *text;      /* as given; NULL: none */
    fault_plan *plan;
    int life; /* TEQUIO_FAULT_LIFE, 1 without it */
    task tasks[REHEARSAL_TASKS];
    fault *faults[REHEARSAL_TASKS]; /* [n] of the tasks */
    size_t n;
} rehearsal;

/* `flag` is the command line's, kept by reference, or NULL. E_USAGE. */
MUST_USE status rehearsal_read(const char *flag, rehearsal *ret, error *err);
void rehearsal_fini(rehearsal *r);

/* Does every task that a clause names run in a cluster of that shape? E_USAGE. */
MUST_USE status rehearsal_check(const rehearsal *r, const shape *s, error *err);

/* The faults of that task of this process, which begin now; NULL when it has none. A task may be
 * asked for twice. */
MUST_USE status rehearsal_fault(rehearsal *r, task who, fault **ret, error *err);

#endif
