/*
 * The trials of a study as samplers that learn see them: points of the unit cube with objectives to be made small.
 *
 * Ownership: observations own their arrays. Threads: pure functions.
 */
#ifndef TEQUIO_TUNE_OBSERVATIONS_H
#define TEQUIO_TUNE_OBSERVATIONS_H

#include "tune/study.h"

typedef struct observations {
    int n, d;        /* trials that have ended; parameters */
    double *x;       /* [n][d]: the middle of each point's cell */
    double *y;       /* [n]: mean 0 and deviation 1; what is far above the median is drawn closer */
    int *order;      /* [n]: from the least y on */
    int n_running;
    double *running; /* [n_running][d] */
} observations;

/* A trial that was paused or stopped counts by the best of its evaluations; one that failed, or has none, as the worst
 * of all others (study_count_known), of which there is at least one. Of more than `most` trials those with the best
 * objectives and the newest are taken, half and half. */
void observations_take(observations *o, const study *s, int most);
void observations_fini(observations *o);

#endif
