/*
 * A file that one process holds at a time. The lock belongs to the open file (fcntl's F_OFD kind),
 * so it dies with its holder, whatever kills it. The text inside says who that is; the file itself
 * stays behind.
 *
 * Where the file system locks nothing, making the file is the lock, and releasing it removes it: a holder
 * that was killed leaves it behind, and is replaced like one that is frozen.
 *
 * A holder that lives touches the file (lockfile_touch). One that is frozen, or cut off from the
 * files, does not; then another may take its place: a new file, locked already, is renamed over the
 * old one. The old holder keeps its lock, but on a file that has no name any more
 * (lockfile_is_ours). Times are only compared with earlier ones of the same file, never with a
 * clock of this host, so clocks of hosts may differ.
 *
 * Any thread.
 */
#ifndef TEQUIO_COMMON_STORE_LOCKFILE_H
#define TEQUIO_COMMON_STORE_LOCKFILE_H

#include "common/base/error.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct lockfile_takeover {
    int64_t us; /* a holder that has not touched the file for so long is replaced; 0: never */
    /* The holder is being watched: said once, when it takes longer than a touch. NULL: nobody. */
    void (*watching)(void *user, const char *holder);
    void *user;
} lockfile_takeover;

/* E_BUSY, naming process and host, when somebody else holds it and lives, or while yet another
 * one takes its place. */
MUST_USE status lockfile_take(const char *path, const lockfile_takeover *takeover, int *ret_fd,
                              error *err);
void lockfile_release(int *fd, const char *path); /* -1: nothing held */

/* Shows that the holder lives. */
void lockfile_touch(int fd);

/* False once another file has the name. A file without any name is still ours. */
bool lockfile_is_ours(int fd, const char *path);

/* What any file is like now: another number when it was touched, written or replaced; 0 when it is
 * not there. */
uint64_t lockfile_trace(const char *path);

/* Microseconds since the file was written, by the clock that gives files their times: that of another host,
 * perhaps, and it may jump. INT64_MAX if nothing can be written beside it. */
int64_t lockfile_age_us(const char *path);

/* "<pid> on <host>" while somebody holds it, NULL otherwise. Only looks. The caller frees it. */
char *lockfile_holder(const char *path);

#endif
