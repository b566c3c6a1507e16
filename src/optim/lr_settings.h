/*
 * What the section `trainer.learning_rate_scheduler` says. Pure; any thread.
 */
#ifndef TEQUIO_OPTIM_LR_SETTINGS_H
#define TEQUIO_OPTIM_LR_SETTINGS_H

#include "common/config/config.h"
#include "optim/lr_sequence.h"
#include "optim/plateau.h"

/* What training is planned to be: what a schedule without total_steps spans, and what an epoch is. */
typedef struct training_span {
    int64_t steps, epoch_steps;
} training_span;

/* `config` is the whole configuration. Of the default group of parameters. */
lr_sequence lr_settings(const config *config, training_span span);

/* By what the rate falls as evaluations say; false: it does not, and the rule's is_used is false. */
bool plateau_settings(const config *config, plateau_rule *ret);

#endif
