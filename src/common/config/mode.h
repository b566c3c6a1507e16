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

#endif
