/*
 * A file that one process holds at a time. The lock belongs to the open file (fcntl's F_OFD kind),
 * so it dies with its holder, whatever kills it. The text inside says who that is; the file itself
 * stays behind. Any thread.
 */
#ifndef TEQUIO_COMMON_STORE_LOCKFILE_H
#define TEQUIO_COMMON_STORE_LOCKFILE_H

#include "common/base/error.h"

/* E_USAGE, naming process and host, when somebody else holds it. */
MUST_USE status lockfile_take(const char *path, int *ret_fd, error *err);
void lockfile_release(int *fd); /* -1: nothing held */

/* "<pid> on <host>" while somebody holds it, NULL otherwise. Only looks. The caller frees it. */
char *lockfile_holder(const char *path);

#endif
