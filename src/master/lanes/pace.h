/*
 * Pace: how long each lane takes for a slot, and each worker for what is not computing, from what they
 * report. Pure.
 *
 * What is known is the median of the last reports, so one that is far off changes nothing. A lane that gets
 * no slots reports none: what is known of it stays as it was until it is tried (trials.h).
 *
 * Threads: a pace belongs to the master's thread.
 */
#ifndef TEQUIO_MASTER_LANES_PACE_H
#define TEQUIO_MASTER_LANES_PACE_H

#include "master/lanes/recent.h"
#include "master/lanes/view.h"

typedef struct pace pace;

pace *pace_create(void);
void pace_destroy(pace **p);

/* A slot took `seconds` for a whole batch; others are scaled by the caller. */
void pace_report(pace *p, const view_lane *lane, double seconds);
/* A step took a worker so long besides computing and pushing; pushing a node took it so long. */
void pace_turn(pace *p, const view_lane *worker, double fixed_s);
void pace_push(pace *p, const view_lane *worker, double push_s);
/* A new life of that worker, or other circumstances: what is known of it says nothing. */
void pace_forget_worker(pace *p, const view_lane *worker);

/* Seconds a slot takes on each lane; lanes not known are taken for ordinary ones: the median of those of
 * the same worker that are known, else of all. False when none is known: nothing is written. */
bool pace_of(const pace *p, const view_lane *lanes, size_t n, double *ret);
/* The same of the lane's worker; 0 each when nothing is known. */
void pace_of_worker(const pace *p, const view_lane *worker, double *ret_fixed_s, double *ret_push_s);
/* The steps in which it was measured. */
size_t pace_turns(const pace *p, const view_lane *worker);

#endif
