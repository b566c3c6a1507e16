/*
 * A file of the host where the master of a job on hosts runs. Threads: the launcher's only one.
 */
#ifndef TEQUIO_JOB_SSH_FETCH_H
#define TEQUIO_JOB_SSH_FETCH_H

#include "common/base/buf.h"
#include "job/ssh/ssh.h"

/* The bytes of `path`, which counts from where the tasks run, behind what is in `ret`. E_DATA: there is no such file;
 * E_FAIL in the client's words, E_IO; E_CONFIG as ssh_plan. */
MUST_USE status ssh_fetch(const ssh_options *o, const char *path, buf *ret, error *err);

#endif
