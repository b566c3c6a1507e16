/*
 * gcloud's flags over a job file: each sets its field, whatever the file says there.
 * Threads: one at a time.
 * Source: gcloud's reference of `ai-platform jobs submit training`.
 */
#ifndef TEQUIO_JOB_SPEC_FLAGS_H
#define TEQUIO_JOB_SPEC_FLAGS_H

#include "job/spec/job.h"

/* The value of a flag, or of --scale-down, "true" of a switch; NULL: not given. */
typedef const char *flags_value(const void *user, const char *name);

/*
 * The job of the tree `top` (document.h), which may be DOC_NULL, with the flags over it, `id` as its
 * name and `user_args` (NULL at the end) as its arguments; of these two NULL and none leave what the
 * tree says. E_USAGE of flags that do not go together, E_CONFIG otherwise.
 */
MUST_USE status flags_job(doc_node *top, flags_value *value, const void *user, const char *id,
                          const char *const *user_args, arena *memory, job *ret, error *err);

#endif
