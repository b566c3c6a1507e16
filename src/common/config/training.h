/*
 * How long training is, as a configuration plans it: the steps of its epochs, and where they end.
 * Pure; any thread.
 */
#ifndef TEQUIO_COMMON_CONFIG_TRAINING_H
#define TEQUIO_COMMON_CONFIG_TRAINING_H

#include "common/config/config.h"
#include "common/parts/steps.h"

/* Of a job with so many examples an epoch and so many batches a step; where `distributed.mode` is
 * not sync, a step is one batch. `c` is the whole configuration. */
steps training_steps(const config *c, int64_t examples, int64_t batches_per_step);

/* The step after the last one, by an end as config_end gives it. */
int64_t training_end(const steps *s, const json_t *end);
/* By the configuration's own. */
int64_t training_total(const steps *s, const config *c);

#endif
