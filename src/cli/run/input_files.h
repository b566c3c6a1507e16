/*
 * The files of this machine that a job's configuration names, for tasks that see none of them
 * unless they are handed in. Ownership: in the arena given. Main thread only.
 */
#ifndef TEQUIO_CLI_RUN_INPUT_FILES_H
#define TEQUIO_CLI_RUN_INPUT_FILES_H

#include "common/base/alloc.h"
#include "common/config/config.h"

typedef struct input_files {
    const char *config; /* the configuration as text, in which folders are absolute and no links */
    const char *const *paths; /* folders, or files, that hold what it names; NULL at the end */
} input_files;

typedef struct input_file_name {
    const char *key;  /* "model.pretrained.path"; NULL: the end of a list */
    const char *path; /* as it is written there */
} input_file_name;

/* What the configuration names, whether it is there or not. */
const input_file_name *input_files_names(const config *c, arena *memory);

/* Whether what training reads is there. E_DATA names the first that is not, and its key. */
MUST_USE status input_files_check(const config *c, error *err);

/* A file comes with its whole folder, for others beside it may belong to it. What is not there
 * stays as it is: the task that misses it says so. */
void input_files_find(const config *c, arena *memory, input_files *ret);

#endif
