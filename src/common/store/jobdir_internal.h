/*
 * What a job dir is made of, shared by jobdir*.c and by nobody else. Threads: as jobdir.h says.
 */
#ifndef TEQUIO_COMMON_STORE_JOBDIR_INTERNAL_H
#define TEQUIO_COMMON_STORE_JOBDIR_INTERNAL_H

#include "common/store/jobdir.h"

struct jobdir {
    char *path;
    char *events;       /* where event files go, if that is not `path`; or NULL */
    int dir_fd;         /* of the folder, so that it is known again; -1 until it is opened */
    int lock_fd;        /* -1 for those who only looked in */
    int64_t touched_us; /* when the lock was touched last */
    json_t *job;        /* what job.json holds; NULL before the first start */
    uint64_t job_id;
    json_t *found;      /* names that were in the folder before a first start; or NULL */
    int n_made;         /* folders that it made: the job dir, and those above it */
    bool is_first;      /* this is the job's first start */
    const config *moves_to; /* its end is about to move to that of this one; or NULL */
};

jobdir *jobdir_create(const char *path); /* touches no file */

/* job.json; absent is fine, then d->job stays NULL. */
MUST_USE status jobdir_load(jobdir *d, error *err);
MUST_USE status jobdir_save(const jobdir *d, error *err);
/* Sets a value of job.json, and takes it. */
MUST_USE status jobdir_update(jobdir *d, const char *key, json_t *value, error *err);

/* Whether the name may be there before a master comes for the first time. */
bool jobdir_is_before(const char *name);
bool jobdir_has_begun(const jobdir *d); /* d->job is there */
/* From now on that folder is the job dir, wherever its name leads. */
MUST_USE status jobdir_hold(jobdir *d, error *err);
/* The folder, once it is noted what of it is missing, and what is in it. */
MUST_USE status jobdir_make_folder(jobdir *d, error *err);
MUST_USE status jobdir_note_found(jobdir *d, error *err);
/* What a first start made, with `all` also what may be there before one; then there is no job. */
MUST_USE status jobdir_remove_made(jobdir *d, bool all, error *err);

/* --- jobdir_recover.c --- */

/* Digest, its lines, and the end of a configuration into d->job. */
void jobdir_put_config(jobdir *d, const config *c);
bool jobdir_has_config(const jobdir *d, const config *c); /* d->job is there */
/* Likewise of the configuration with another end; NULL: with its own. */
bool jobdir_has_digest(const jobdir *d, const config *c, const json_t *end);
/* E_CONFIG unless the request's configuration is the job's but for an end that it can still have. */
MUST_USE status jobdir_check_other_end(const jobdir *d, const jobdir_request *r, bool is_done,
                                       error *err);
/* The job goes on to the end of d->moves_to: it is not done any more, and has one more entry of
 * history. */
MUST_USE status jobdir_move_end(jobdir *d, error *err);
MUST_USE status jobdir_save_config(const jobdir *d, const config *c, error *err);
/* Results of an end that is one no more. The weights stay until there are others. */
MUST_USE status jobdir_remove_results(const jobdir *d, error *err);
/* What stands in a tree at "model.layers[2].kernel"; NULL if nothing does. Borrowed. */
const json_t *jobdir_value_at(const json_t *tree, const char *path);

/* --- jobdir_back.c --- */

/* Whether the request chooses a step, and that was not carried out before. */
bool jobdir_must_go_back(const jobdir *d, const jobdir_request *r, bool is_done);
/* E_CONFIG lists the checkpoints that there are if that step is none; E_DATA: it is damaged.
 * Reads all of it. */
MUST_USE status jobdir_check_choice(const jobdir *d, int64_t step, error *err);
/* Goes back, or finishes what an earlier start began of it. */
MUST_USE status jobdir_go_back(jobdir *d, const jobdir_request *r, error *err);
/* The job comes to its first step from there. */
MUST_USE status jobdir_gone_back(jobdir *d, error *err);

#endif
