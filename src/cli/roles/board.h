/*
 * What TensorBoard shows of a job beside its curves, which the process that is the master leaves in the event files:
 * the configuration as text and among the hyper-parameters of runs that are laid side by side, and that it is done.
 * Threads: the process's main one, while no role runs.
 */
#ifndef TEQUIO_CLI_ROLES_BOARD_H
#define TEQUIO_CLI_ROLES_BOARD_H

#include "common/config/config.h"
#include "common/store/jobdir.h"
#include "graph/graph.h"

enum { BOARD_PARAMETERS = 512, BOARD_NODES = 50000 };    /* at most that many hyper-parameters and nodes */

/* `is_trial`: of a search, which tells the hyper-parameters of its trials itself. Nothing is written of a job that has
 * told of a step already. Warn where they fail. */
void board_begin(const config *c, const jobdir *dir, bool is_trial);
void board_end(const jobdir *dir, bool is_trial);
/* The network of the jobdir `dir`, at two sizes of the batch: sizes that differ are told as unknown. */
void board_network(void *dir, const graph *const both[2]);

#endif
