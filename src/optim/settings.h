/*
 * What the section `trainer` says about updates. Pure; any thread.
 */
#ifndef TEQUIO_OPTIM_SETTINGS_H
#define TEQUIO_OPTIM_SETTINGS_H

#include "common/config/config.h"
#include "common/parts/loss_scale.h"
#include "optim/group.h"

/* `config` is the whole configuration; `total_steps` what a schedule without total_steps spans. Of the default
 * group of parameters, whose optimizer says which states all have. */
optim optim_settings(const config *config);
lr_schedule lr_schedule_settings(const config *config, int64_t total_steps);
/* All groups, the default one first; the caller frees them. */
optim_group *optim_groups_settings(const config *config, int64_t total_steps, size_t *ret_n);
loss_scale_rule loss_scale_settings(const config *config);
/* A step is applied when the master has heard of all its parts. */
bool vote_settings(const config *config);

#endif
