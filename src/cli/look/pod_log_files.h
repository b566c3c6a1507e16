/*
 * The logs of a job's pods as files of a folder of their own, as log_file.h reads them: written by a `kubectl logs`
 * each, at most 64.
 *
 * Threads: main thread only.
 */
#ifndef TEQUIO_CLI_LOOK_POD_LOG_FILES_H
#define TEQUIO_CLI_LOOK_POD_LOG_FILES_H

#include "cli/look/place.h"

typedef struct pod_log_files pod_log_files;

/* E_FAIL: kubectl tells of no pods, in its words. `follows`: until the pods end. */
MUST_USE status pod_log_files_open(const place_pods *pods, bool follows, pod_log_files **ret, error *err);
void pod_log_files_close(pod_log_files **f); /* ends the commands, removes the folder */

const char *pod_log_files_folder(const pod_log_files *f);
/* Once all are open: nothing of them is left, however this process ends. */
void pod_log_files_hide(pod_log_files *f);
bool pod_log_files_grow(pod_log_files *f);   /* a command is at work still */

#endif
