/*
 * The folder checkpoints/, shared by checkpoint*.c and by nobody else. Threads: functions without shared
 * state.
 */
#ifndef TEQUIO_COMMON_STORE_CHECKPOINT_INTERNAL_H
#define TEQUIO_COMMON_STORE_CHECKPOINT_INTERNAL_H

#include "common/store/checkpoint.h"

/* Reads "step-<9 or more digits>"; what follows is *ret_rest. */
bool checkpoint_parse_step(const char *name, int64_t *ret_step, const char **ret_rest);
bool checkpoint_is_aside(const char *rest); /* checkpoint_condemn or checkpoint_undo has named it so */
/* Names in a folder of the job dir, none if it is not there. fs_list_free. */
MUST_USE status checkpoint_list_folder(const jobdir *d, const char *folder, char ***ret, size_t *ret_n,
                                       error *err);
/* step-N with whatever is behind it becomes step-N<mark><k>. Returns errno; *ret_name, which is NULL or
 * freed, is its new name, and the caller's to free. */
int checkpoint_rename(const char *folder, const char *mark, char **ret_name);
/* Writes the text file `checkpoint` anew. */
MUST_USE status checkpoint_refresh_index(const jobdir *d, error *err);

/* False: a frozen process has it. */
bool checkpoint_lock_pins(const jobdir *d, int *ret_fd);
/* Steps with a live pin; free the array. Removes the pins of processes that are gone. */
MUST_USE status checkpoint_list_pinned(const jobdir *d, int64_t **ret, size_t *ret_n, error *err);

/* The name of a step's folder; its number is a long long. */
#define CHECKPOINT_STEP "step-%09lld"

/* What a folder of a checkpoint that counts no more is renamed to, behind its step. */
#define CHECKPOINT_DAMAGED ".damaged."
#define CHECKPOINT_UNDONE  ".undone."

#endif
