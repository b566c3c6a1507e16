/*
 * Plays one job of the torture from its start to its judgement, in this process, which is nothing
 * else's: it inherits every orphan. Threads: one.
 */
#ifndef TEQUIO_TESTS_FAULT_TORTURE_RUN_JOB_H
#define TEQUIO_TESTS_FAULT_TORTURE_RUN_JOB_H

#include "fault/torture/judge.h"

typedef struct setting {
    const char *program, *clock_library, *free_ports;
    const char *root; /* of the whole torture: data, references */
} setting;

typedef struct verdict {
    fault_found found;
    char why[400];
    double seconds, load, bound_s;
    int fired[KINDS], n_starts;
    bool is_broken; /* the torture itself could not go on */
} verdict;

/* In `dir`, which it makes. */
verdict play(const setting *at, const plan *p, const char *dir);

#endif
