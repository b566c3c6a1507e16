/*
 * How long training is, as a configuration plans it, and how it is paced: the steps of its epochs, where
 * they end, and the schedule. `c` is the whole configuration. Pure; any thread.
 */
#ifndef TEQUIO_COMMON_CONFIG_TRAINING_H
#define TEQUIO_COMMON_CONFIG_TRAINING_H

#include "common/config/config.h"
#include "common/parts/schedule.h"
#include "common/parts/steps.h"

/* By `distributed.mode`. */
schedule training_schedule(const config *c);

/* K of a job that begins with so many lanes. */
int64_t training_batches_per_step(const config *c, int64_t n_lanes);

/* Of a job with so many examples an epoch and so many batches a step; a unit of its schedule is a step. */
steps training_steps(const config *c, int64_t examples, const steps_kinds *kinds, int64_t batches_per_step);

/* The step after the last one, by an end as config_end gives it. */
int64_t training_end(const steps *s, const json_t *end);
/* By the configuration's own. */
int64_t training_total(const steps *s, const config *c);

/* The level, in the tree of a step's slots (common/parts/tree.h), of the highest node that is one
 * lane's when they are dealt out evenly. */
uint8_t training_sum_level(const config *c, int64_t n_lanes);

/* What a lane may take of memory, trainer.memory, in bytes; 0: it is not said. */
size_t training_memory(const config *c);

#endif
