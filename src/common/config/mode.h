/*
 * `distributed.mode` as the roles want it. Pure; any thread.
 */
#ifndef TEQUIO_COMMON_CONFIG_MODE_H
#define TEQUIO_COMMON_CONFIG_MODE_H

#include "common/config/config.h"

typedef struct mode {
    bool unordered;    /* ssp and async: a step is one batch, and each is applied as it comes */
    int64_t staleness; /* of ssp, in turns of trainer.batches_per_step batches; -1: no bound */
} mode;

/* `config` is the whole configuration. */
mode mode_settings(const config *config);

/* K of a job that begins with so many lanes. */
int64_t mode_batches_per_step(const config *config, int64_t n_lanes);

/* The level, in the tree of a step's slots (common/parts/tree.h), of the highest node that is one
 * lane's when they are dealt out evenly; 0 in a mode without such a tree. */
uint8_t mode_sum_level(const config *config, int64_t n_lanes);

#endif
