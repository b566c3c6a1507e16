/*
 * A search: trials are proposed, run as processes, and written down, until there are as many as were asked for.
 *
 * DIR/trials.jsonl   the journal (tune/trial_journal.h)
 * DIR/trials/N       the job dir of trial N
 * DIR/log/trial-N.log  what it printed
 * DIR/best           the best so far (best_trial.h)
 * DIR/trials.png     objectives over trials and parameters, once it ends or is stopped (trials_plot.h)
 * DIR/hparams        the same for TensorBoard, after every trial (hparams.h)
 *
 * A trial that ran when the search was stopped goes on in its job dir when the search does, and one that was paused
 * when it is promoted. Evaluations are taken from the job dirs, one by one and in their order, so what early stopping
 * decides does not depend on how far a trial has come by the time it is looked at. Where trials run elsewhere their
 * folders here have logs alone, and these files are fetched.
 *
 * Threads: the main one, before any other is started.
 */
#ifndef TEQUIO_CLI_TUNE_SEARCH_RUN_H
#define TEQUIO_CLI_TUNE_SEARCH_RUN_H

#include "cli/tune/trial_files.h"
#include "cli/tune/trial_process.h"
#include "tune/sampler.h"
#include "tune/stopping.h"

typedef struct search_request {
    const char *dir;
    bool recovers, forces;
    const space *space;
    const sampler *sampler;
    stopping stopping;
    uint64_t seed;
    const char *metric; /* as evaluations name it */
    int better;         /* +1: larger is better, -1: smaller */
    int trials, parallel;
    int failed_most;    /* the search ends when so many have failed */
    const char *previous; /* a search whose trials are known from the beginning (previous_search.h), or NULL */
    const char *config_digest; /* of the configuration without values: a search goes on with the same only */
    /* The command line of a trial, argv[0] included: it trains, or goes on, in `job_dir` with these values over the
     * configuration, "--KEY=VALUE" each and NULL at the end. The caller frees the words and the list. */
    char **(*command_line)(const void *user, const char *job_dir, char *const *values);
    const void *user;
    trial_environment environment;
    trial_files files;         /* of job dirs, DIR/trials/N */
} search_request;

/* The exit code: 0 with at least one complete trial, 143 after a signal. */
int search_run(const search_request *r, error *err);

#endif
