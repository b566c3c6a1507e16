/*
 * What one job of the torture is and what is done to it: drawn from its seed alone.
 * Threads: any; everything is a value.
 */
#ifndef TEQUIO_TESTS_FAULT_TORTURE_PLAN_H
#define TEQUIO_TESTS_FAULT_TORTURE_PLAN_H

#include "common/base/buf.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum kind {
#define KIND(NAME, word, where, seconds, what) NAME,
#include "fault/torture/kinds.def"
#undef KIND
    KINDS,
} kind;

const char *kind_word(kind k);
const char *kind_what(kind k);
int kind_seconds(kind k);
kind kind_of(const char *word); /* KINDS: no such word */

typedef struct recipe {
    const char *name;
    int steps;
    bool votes;
    const char *fields;
} recipe;

typedef enum mode { SYNC, SSP, ASYNC, MODES } mode;
typedef enum primary { CHIEF, MASTER, WORKER_0, PRIMARIES } primary; /* what TF_CONFIG calls it */
typedef enum impairment { STALL, BREAK, SLOW, IMPAIRMENTS } impairment; /* of a connection */

enum { MOST_DISTURBANCES = 4, MOST_TASKS = 12 };
enum { HEARTBEAT_S = 2, HANG_S = 4, START_S = 30, LOST_S = 60, GRACE_S = 6 };

typedef struct disturbance {
    kind kind;
    int per_mille;   /* of the steps are done when it comes, */
    int pause_ms;    /* and this time has passed; 0 steps: since the start */
    int lasts_ms;    /* FREEZE, SILENCE, LAUNCHER, DISK, LINK */
    uint32_t choice; /* of victims: which they are shows when it comes */
    impairment how;  /* LINK */
    bool all;        /* LEAVE: everybody; LINK: all connections of a task; CLOCK: of all tasks */
    int hours;       /* CLOCK: by which it jumps */
} disturbance;

typedef struct plan {
    uint64_t seed;
    const recipe *recipe;
    mode mode;
    primary primary;
    bool is_launched; /* by tequio train --workers, else each by its TF_CONFIG */
    int workers, ps, evaluators, lanes;
    int master_trains; /* -1: as the program has it */
    bool replicas, curve, apart, validates, rebalances;
    int checkpoint_steps; /* 0: by time */
    int steps;            /* of 4 batches, or in the modes ssp and async that many batches */
    int n_disturbances;
    disturbance disturbances[MOST_DISTURBANCES];
} plan;

/* `only`: every disturbance is of that kind; KINDS: of any. `without`: bits 1 << kind of those left
 * out. */
plan plan_draw(uint64_t seed, kind only, uint32_t without);

bool plan_has(const plan *p, kind k);

/* Adds one line that tells of it. */
void plan_describe(const plan *p, buf *ret);

/* The configuration in jsonnet, and what of it does not decide the result, as -o takes it. */
void plan_config(const plan *p, const char *data, buf *ret);
void plan_overrides(const plan *p, buf *ret);

#endif
