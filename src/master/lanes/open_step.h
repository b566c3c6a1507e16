/*
 * The open step: the lowest that is not known to be complete on all servers. Which of its slots are
 * there, since when it is open, how long steps take, and how long one may be open before somebody is
 * late. Pure; times are handed in.
 *
 * Threads: belongs to the master's thread.
 */
#ifndef TEQUIO_MASTER_LANES_OPEN_STEP_H
#define TEQUIO_MASTER_LANES_OPEN_STEP_H

#include "common/parts/steps.h"
#include "master/lanes/recent.h"

#include <stddef.h>

#define LATE_LEAST_US INT64_C(500000)
#define LATE_FIRST_US INT64_C(5000000) /* in the first step, in which everything is loaded */
/* Late is who takes so many times the median step, or so many times what those who are done would need
 * for the missing slots too, and not less. */
enum { LATE_TIMES = 3, LATE_STEPS_KNOWN = 5 };

typedef struct open_step {
    steps steps;
    int64_t step;
    uint32_t n_slots, n_in;
    bool *is_in;     /* [steps.per_step] the slots on the servers */
    int64_t since_us;
    double turn_s;   /* the longest that those took who brought slots */
    bool is_clean;   /* it was seen to begin, and nobody's slots have changed since */
    recent times_s;  /* of steps that were clean, and not an epoch's smaller last one */
    bool is_seen;    /* it was seen to begin */
    recent all_s;    /* of steps that were not clean too */
    bool is_as_dealt; /* no slots were dealt since it began */
    recent dealt_s;  /* of steps as slots are dealt now, also where some were hedged */
    int64_t n_over;  /* steps that are over since the first */
} open_step;

void open_step_init(open_step *o, const steps *s, int64_t step, int64_t now_us);
void open_step_fini(open_step *o);

/* Step `step` is open from now on. seen: it begins now. */
void open_step_begin(open_step *o, int64_t step, bool seen, int64_t now_us);
/* Nobody has anything to compute; when that is over the step begins. */
void open_step_pause(open_step *o, int64_t now_us);

/* Slots were dealt anew: what was measured is of another deal. */
void open_step_deal(open_step *o);

/* A slot is on the servers; who brought it took so long, with all it had to do. */
void open_step_take(open_step *o, uint32_t slot, double turn_s);
/* It is over, and the next is open. */
void open_step_next(open_step *o, int64_t now_us);
/* It has as many slots as any, and was clean so far: how long it takes says something. */
bool open_step_measures(const open_step *o);

/* How long the step, or whoever was asked since, may take. */
int64_t open_step_patience_us(const open_step *o);

#endif
