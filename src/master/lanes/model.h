/*
 * What is known of lanes and links, as shares.h wants it. Pure.
 */
#ifndef TEQUIO_MASTER_LANES_MODEL_H
#define TEQUIO_MASTER_LANES_MODEL_H

#include "master/lanes/hedge.h"
#include "master/lanes/pace.h"
#include "master/lanes/shares.h"

typedef struct model {
    share_worker *workers; /* as the lanes follow each other; nobody is barred */
    size_t n;
    double *slot_s;        /* [lanes] */
} model;

/* pace: NULL, or nothing is known: all are equal. The lanes of a worker are next to each other. */
model model_make(const pace *p, const hedge_lane *lanes, size_t n_lanes);
void model_fini(model *m);

#endif
