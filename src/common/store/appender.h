/*
 * A file that grows record by record. Whole records reach it or none: what cannot be written waits in
 * memory, in its order, and goes out with the next flush that works. So nobody who adds is failed by a full
 * disk; the owner of the file asks how much waits.
 *
 * Threads: belongs to its owner's.
 */
#ifndef TEQUIO_COMMON_STORE_APPENDER_H
#define TEQUIO_COMMON_STORE_APPENDER_H

#include "common/base/buf.h"
#include "common/base/error.h"

#include <stdbool.h>
#include <sys/types.h>

typedef struct appender {
    char *path;
    int fd;
    off_t written;  /* bytes of whole records in the file */
    buf waiting;    /* whole records that are not */
    bool failed;    /* the last try to write did: only a flush tries again */
    bool unsynced;
    bool is_doubtful; /* a sync failed: the kernel may have dropped what was written before it */
} appender;

#define APPENDER_INIT {.fd = -1}

/* Goes on behind what is in the file, which is made where it is missing; with `fresh` it must be: then
 * errno is EEXIST if it is not. */
MUST_USE status appender_open(appender *a, const char *path, bool fresh, error *err);
void appender_close(appender *a); /* what waits is lost; also of APPENDER_INIT */

void appender_add(appender *a, const void *data, size_t bytes); /* it waits for a flush */
/* One record, and what waits, goes out, unless the last try failed. */
void appender_put(appender *a, const void *data, size_t bytes);
/* E_DISK, E_IO: it waits on. */
MUST_USE status appender_flush(appender *a, error *err);
/* A new file with these bytes takes the place of the old one, atomically; then nothing waits. Where it fails
 * all is as it was. Also of APPENDER_INIT with a path. */
MUST_USE status appender_rewrite(appender *a, const buf *bytes, error *err);
/* What was flushed outlives the machine. */
MUST_USE status appender_sync(appender *a, error *err);

#endif
