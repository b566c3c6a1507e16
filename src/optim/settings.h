/*
 * What the section `trainer` says about updates. Pure; any thread.
 */
#ifndef TEQUIO_OPTIM_SETTINGS_H
#define TEQUIO_OPTIM_SETTINGS_H

#include "common/config/config.h"
#include "common/parts/flat.h"
#include "common/parts/loss_scale.h"
#include "optim/group.h"
#include "optim/lr_settings.h"

/* `config` is the whole configuration. Of the default group of parameters, whose optimizer says which states all
 * have. */
optim optim_settings(const config *config);
/* All groups, the default one first; the caller frees them. E_CONFIG where a schedule wants other groups than the
 * tensors of `f` are in. */
MUST_USE status optim_groups_settings(const config *config, const flat *f, training_span span, optim_group **ret,
                                      size_t *ret_n, error *err);
/* Bytes that a server's steps work in, beside the weights and states. */
MUST_USE status optim_memory(const config *config, const flat *f, size_t *ret, error *err);
loss_scale_rule loss_scale_settings(const config *config);
/* A step is applied when the master has heard of all its parts, and says how. */
bool vote_settings(const config *config);

#endif
