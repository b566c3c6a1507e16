/*
 * What `tequio submit` was asked for: the job, where it is to run, and what its tasks are told.
 * Ownership: everything lives in the request's arena. Main thread only.
 */
#ifndef TEQUIO_CLI_SUBMIT_REQUEST_H
#define TEQUIO_CLI_SUBMIT_REQUEST_H

#include "cli/line/command.h"
#include "common/config/config.h"
#include "job/spec/job.h"

#define SUBMIT_TARGET "local" /* where no other is named */

typedef struct submit_request {
    arena *memory;
    job job;
    const char *target;                 /* "local" */
    const char *page;                   /* where the job's master serves its page; NULL: it does not */
    const char *primary;                /* what TF_CONFIG calls the master */
    const char *const *arguments;       /* of every task: "train", CONFIG, ..., "--job-dir", DIR */
    const char *const *arguments_again; /* of one that is started again */
    const char *config_path, *overrides; /* CONFIG, and --overrides among the arguments; NULL: none */
    const char *const *settings;        /* "KEY=VALUE" of --KEY VALUE among the arguments; NULL at the end */
    config *resolved;                   /* what CONFIG and the overrides among the arguments come to */
    bool is_secured;                    /* its connections between hosts are */
} submit_request;

/* CONFIG, or `path` in its place, and the arguments behind it without overrides and settings; NULL at the end. In the
 * arena. */
const char *const *submit_request_train_words(const submit_request *o, const char *path);

/* The same line without these, and with `path` in the place of CONFIG. In the arena. */
const char *const *submit_request_arguments(const submit_request *o, const char *path, bool again);

/* `page` as above. E_USAGE, E_CONFIG; says the job's warnings on standard error. */
MUST_USE status submit_request_read(const args *a, const char *page, submit_request *ret, error *err);
void submit_request_fini(submit_request *o);

#endif
