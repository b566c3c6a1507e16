/*
 * A job whose model brings weights begins with a checkpoint of version 0. So they reach the servers
 * as those of any checkpoint do, and a rollback before the first cut finds them again.
 * Threads: the process that is the master, before its roles run.
 */
#ifndef TEQUIO_CLI_ROLES_PRETRAINED_H
#define TEQUIO_CLI_ROLES_PRETRAINED_H

#include "common/config/config.h"
#include "common/store/jobdir.h"

/* Nothing to do if the model brings none, or the job has a checkpoint. */
MUST_USE status pretrained_begin(const config *c, const jobdir *dir, error *err);

#endif
