/*
 * Samplers: what the next trial of a study tries. Each is a pure function of the space, a seed and the trials so
 * far, running ones included: the same study proposes the same, also after it was stopped.
 *
 * Threads: pure functions.
 */
#ifndef TEQUIO_TUNE_SAMPLER_H
#define TEQUIO_TUNE_SAMPLER_H

#include "tune/study.h"

typedef struct sampler {
    const char *name; /* of --algorithm */
    const char *about;
    /* E_CONFIG: it cannot search this space. NULL: it can search any. */
    status (*check)(const space *s, error *err);
    /* The point of trial s->n + 1. False: all have been tried. */
    bool (*propose)(const study *s, uint64_t seed, double *ret_point);
} sampler;

extern const sampler sampler_gp, sampler_tpe, sampler_random, sampler_grid;

/* By its name; NULL: there is none. */
const sampler *sampler_named(const char *name);

#endif
