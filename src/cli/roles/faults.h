/*
 * Planned failures: the plan of this process (`--fault`, else TEQUIO_FAULT), which life of its
 * task this is, and the faults of its tasks.
 *
 * Threads: the main one; a `fault` that was handed out may be used by its role's thread.
 */
#ifndef TEQUIO_CLI_ROLES_FAULTS_H
#define TEQUIO_CLI_ROLES_FAULTS_H

#include "cli/run/shape.h"
#include "common/fault/fault.h"
#include "common/fault/plan.h"

enum { PROCESS_FAULTS_TASKS = 4 };

typedef struct process_faults { /* all zero: no failure is planned */
    const char *text;      /* as given; NULL: none */
    fault_plan *plan;
    int life; /* TEQUIO_FAULT_LIFE, 1 without it */
    task tasks[PROCESS_FAULTS_TASKS];
    fault *faults[PROCESS_FAULTS_TASKS]; /* [n] of the tasks */
    size_t n;
} process_faults;

/* `flag` is the command line's, kept by reference, or NULL. E_USAGE. */
MUST_USE status process_faults_read(const char *flag, process_faults *ret, error *err);
void process_faults_fini(process_faults *r);

/* Does every task that a clause names run in a cluster of that shape? E_USAGE. */
MUST_USE status process_faults_check(const process_faults *r, const shape *s, error *err);

/* The faults of that task of this process, which begin now; NULL when it has none. A task may be
 * asked for twice. */
MUST_USE status process_faults_of(process_faults *r, task who, fault **ret, error *err);

#endif
