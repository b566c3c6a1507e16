/*
 * A Slurm step as a cluster description. Pure but for the environment, which it reads.
 */
#ifndef TEQUIO_COMMON_CLUSTER_SLURM_H
#define TEQUIO_COMMON_CLUSTER_SLURM_H

#include "common/base/error.h"

#include <jansson.h>

/* *ret is NULL when this process is no task of a step with several; else the caller decrefs it. */
MUST_USE status slurm_spec(json_t **ret, error *err);

/* "n[01-03,7],m5" to a list of names, in the order written, zeros kept; "3(x2),2" to [3, 3, 2].
 * E_CONFIG; the caller decrefs *ret. */
MUST_USE status slurm_hosts(const char *text, json_t **ret, error *err);
MUST_USE status slurm_counts(const char *text, json_t **ret, error *err);

#endif
