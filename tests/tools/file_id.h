/* Which file it is, under whatever name, for good: its inode number and when it was made. */
#ifndef TEQUIO_TESTS_TOOLS_FILE_ID_H
#define TEQUIO_TESTS_TOOLS_FILE_ID_H

#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

enum { ID_BYTES = 64 };

/* `name` in the folder `dir`; "": what is open as `dir`. */
static inline bool file_id(int dir, const char *name, char ret[ID_BYTES])
{
    struct statx s;
    int flags = AT_SYMLINK_NOFOLLOW | (name[0] ? 0 : AT_EMPTY_PATH);
    if (statx(dir, name, flags, STATX_INO | STATX_BTIME, &s) != 0)
        return false;
    snprintf(ret, ID_BYTES, "%" PRIu64 "-%" PRIi64 ".%" PRIu32, (uint64_t)s.stx_ino,
             (int64_t)s.stx_btime.tv_sec, s.stx_btime.tv_nsec);
    return true;
}

#endif
