/*
 * The last of a row of measurements, and their median: one that is far off changes nothing. Where several
 * in a row are far off on the same side, what is measured has changed, and what was before is forgotten.
 *
 * Threads: belongs to its owner's.
 */
#ifndef TEQUIO_MASTER_LANES_RECENT_H
#define TEQUIO_MASTER_LANES_RECENT_H

#include <stddef.h>

enum { RECENT_KEPT = 31, RECENT_SHIFT = 4 }; /* measurements kept; so many in a row are a change */

typedef struct recent {
    double at[RECENT_KEPT]; /* the oldest first */
    size_t n;
    size_t above, below;    /* of the newest ones in a row, far above the median, or below it */
} recent;

void recent_add(recent *r, double x);
double recent_median(const recent *r); /* the lower one of two; 0 when there is none */
double recent_most(const recent *r, size_t n); /* of the newest n; 0 when there is none */

/* The lower median of n > 0 values, which it sorts. */
double recent_median_of(double *values, size_t n);

#endif
