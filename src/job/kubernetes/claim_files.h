/*
 * Files of a claim that pods of a job see and this machine does not: a pod of its own, NAME-files, sees the claims and
 * is asked for them by `kubectl exec`. Its image is the job's, which holds tequio and need not hold a shell.
 *
 * Threads: the launcher's only one, which waits for the commands.
 */
#ifndef TEQUIO_JOB_KUBERNETES_CLAIM_FILES_H
#define TEQUIO_JOB_KUBERNETES_CLAIM_FILES_H

#include "job/kubernetes/manifest.h"

/* Writes the bytes of a file, by its path in the pods, to the file `to`, which is emptied first. Makes the pod where it
 * is not there yet; *has_pod, false at first, is the caller's to keep. E_DATA: there is no such file; E_FAIL in
 * kubectl's words; otherwise as process/sent_file.h has it. */
MUST_USE status claim_files_fetch(const kubernetes_options *o, bool *has_pod, const char *path, int to, error *err);

/* Removes the pod, if there is one. */
MUST_USE status claim_files_end(const kubernetes_options *o, bool *has_pod, error *err);

#endif
