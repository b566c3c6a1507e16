/* The tasks of a job for people: a row for all of one role that are on one host, or on hosts that
 * are numbered as they are. Threads: pure functions. */
#ifndef TEQUIO_CLI_SUBMIT_TASK_TABLE_H
#define TEQUIO_CLI_SUBMIT_TASK_TABLE_H

#include "common/base/buf.h"
#include "job/roster.h"

/* Appends lines as "  worker.0-8              worker-0 to worker-8, port 27182". */
void task_table_add(const roster *tasks, buf *ret);

#endif
