/*
 * A folder that one process works in at a time, for a moment: flock on the folder itself, which goes with
 * its holder. Several may hold one at a time instead, each for as long as it works there. Any thread.
 */
#ifndef TEQUIO_COMMON_STORE_FOLDER_LOCK_H
#define TEQUIO_COMMON_STORE_FOLDER_LOCK_H

#include <stdbool.h>

/* Makes the folder where it is not there. True: it is ours, or (*ret_fd < 0, or a file system without locks)
 * cannot be locked. False: somebody kept it for 200 ms, for he is frozen. folder_unlock() either way. */
bool folder_lock(const char *path, int *ret_fd);
void folder_unlock(int fd);

/* What is written there goes on, until folder_unlock or this process's end; -1: nobody can be told. */
int folder_hold(const char *path);
/* Somebody holds it, or has it for himself. */
bool folder_is_held(const char *path);

#endif
