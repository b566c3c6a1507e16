/*
 * Which cluster this process is a task of: by the environment, or by --nnodes or
 * distributed.num_nodes. Flags that speak of another one are refused. Threads: the main thread.
 */
#ifndef TEQUIO_CLI_TRAIN_MEMBERSHIP_H
#define TEQUIO_CLI_TRAIN_MEMBERSHIP_H

#include "cli/line/command.h"
#include "common/cluster/cluster.h"
#include "common/config/config.h"

/* The flags of a cluster on this machine. */
enum { SHAPE_FLAGS = 5 };
extern const char *const shape_flags[SHAPE_FLAGS];

/* E_CONFIG, and E_USAGE for the flags. */
MUST_USE status membership_find(const args *a, const config *c, cluster **ret, error *err);

#endif
