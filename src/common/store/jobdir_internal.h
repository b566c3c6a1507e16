/*
 * What a job dir is made of, shared by jobdir*.c and by nobody else. Threads: as jobdir.h says.
 */
#ifndef TEQUIO_COMMON_STORE_JOBDIR_INTERNAL_H
#define TEQUIO_COMMON_STORE_JOBDIR_INTERNAL_H

#include "common/store/jobdir.h"

struct jobdir {
    char *path;
    char *events;       /* where event files go, if that is not `path`; or NULL */
    int lock_fd;        /* -1 for those who only looked in */
    int64_t touched_us; /* when the lock was touched last */
    json_t *job;        /* what job.json holds; NULL before the first start */
    uint64_t job_id;
};

jobdir *jobdir_create(const char *path); /* touches no file */

/* job.json; absent is fine, then d->job stays NULL. */
MUST_USE status jobdir_load(jobdir *d, error *err);
MUST_USE status jobdir_save(const jobdir *d, error *err);

#endif
