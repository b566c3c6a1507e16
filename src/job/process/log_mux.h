/*
 * What a local cluster shows: the master's results and progress as they are, everybody's lines with
 * their task in front, and a progress bar that stays the last line.
 *
 * Threads: the launcher's only one.
 */
#ifndef TEQUIO_JOB_PROCESS_LOG_MUX_H
#define TEQUIO_JOB_PROCESS_LOG_MUX_H

#include "common/base/error.h"
#include "job/process/child.h"

/* A line of the launcher's own. */
void log_mux_say(const char *format, ...) PRINTF_LIKE(1, 2);

/* A line of a task; as child_line. */
void log_mux_show(const child *c, int stream, const char *line, bool is_bar);

#endif
