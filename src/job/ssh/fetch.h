/*
 * A file of the host where the master of a job on hosts runs. Threads: the launcher's only one.
 */
#ifndef TEQUIO_JOB_SSH_FETCH_H
#define TEQUIO_JOB_SSH_FETCH_H

#include "job/ssh/ssh.h"

/* Writes the bytes of `path`, which counts from where the tasks run, to the file `to`, which is emptied first. E_DATA:
 * there is no such file; otherwise as process/sent_file.h has it; E_CONFIG as ssh_plan. */
MUST_USE status ssh_fetch(const ssh_options *o, const char *path, int to, error *err);

#endif
