/*
 * Pace: how long each lane takes for a slot, from what it reports. Pure; times are handed in.
 *
 * A lane's pace is the median of its last reports, so a slow one among them changes nothing, and
 * it is known only after several. A lane that gets no slots reports none: after a while what is
 * known of it is forgotten, and it is taken for an ordinary one and tried again.
 *
 * Threads: a pace belongs to the master's thread.
 */
#ifndef TEQUIO_MASTER_LANES_PACE_H
#define TEQUIO_MASTER_LANES_PACE_H

#include "master/lanes/view.h"

enum { PACE_KEPT = 9, PACE_LEAST = 3 }; /* reports of a lane; and how many say something */

#define PACE_FORGET_US INT64_C(120000000)

typedef struct pace pace;

pace *pace_create(void);
void pace_destroy(pace **p);

/* A slot took `seconds` for a whole batch; others are scaled by who reports. */
void pace_report(pace *p, const view_lane *lane, double seconds, int64_t now_us);
/* A new life of that worker: it may be another machine. */
void pace_forget_worker(pace *p, const view_lane *worker);

/* Seconds a slot takes on each lane; lanes not known are taken for ordinary ones (the median of
 * those known). False when none is known: nothing is written. */
bool pace_of(const pace *p, const view_lane *lanes, size_t n, int64_t now_us, double *ret);

#endif
