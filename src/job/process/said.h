/*
 * What tasks say: their lines are passed on, and those by which one task names another are acted on.
 * Only for supervise.c. Threads: as supervise.h says.
 */
#ifndef TEQUIO_JOB_PROCESS_SAID_H
#define TEQUIO_JOB_PROCESS_SAID_H

#include "job/process/supervision.h"

/* For child_read; `user` is the supervision. */
void said_take_line(void *user, child *c, int stream, const char *line, bool is_bar);

#endif
