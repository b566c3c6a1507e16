/*
 * The files of trials' job dirs: on this machine, or fetched from the one that has them. Threads: the main one.
 */
#ifndef TEQUIO_CLI_TUNE_TRIAL_FILES_H
#define TEQUIO_CLI_TUNE_TRIAL_FILES_H

#include "common/base/json.h"

#include <stdbool.h>

typedef struct trial_files {
    /* A file by its path there is written to the file `to`, which is emptied first. E_DATA: there is none; other
     * failures may pass. NULL: files are here. */
    status (*fetch)(const void *user, const char *path, int to, error *err);
    const void *user;
} trial_files;

/* E_DATA: there is no such file, or it is no JSON; other failures may pass. The caller decrefs *ret. */
MUST_USE status trial_files_read(const trial_files *f, const char *job_dir, const char *name, json_t **ret, error *err);

/* Puts the file to `to`, by a link where that can be; *ret_is_there is false, and nothing done, if there is none.
 * Whatever its size it is not held in memory, and `to` is whole or not there. */
MUST_USE status trial_files_place(const trial_files *f, const char *job_dir, const char *name, const char *to,
                                  bool *ret_is_there, error *err);

#endif
