/*
 * From what is asked of a search, by a file and by flags over it, to what is run. Threads: any.
 */
#ifndef TEQUIO_CLI_TUNE_SEARCH_CHOICE_H
#define TEQUIO_CLI_TUNE_SEARCH_CHOICE_H

#include "cli/tune/search_run.h"
#include "common/config/config.h"
#include "job/spec/search.h"

typedef struct search_choice {
    const search *asked;
    const char *command;                 /* for warnings: "tune" */
    const char *config_path, *overrides; /* of all trials; NULL: none */
    const char *const *settings;         /* likewise: "KEY=VALUE", over these; a space has none of their keys */
    const char *metric, *algorithm, *stopping, *previous; /* flags, over what is asked; NULL: not given */
    int64_t trials, parallel, failed_most, seed; /* likewise; -1: not given */
    int64_t min_epochs, reduction_factor;        /* of the stopping; -1: not given */
    int64_t trials_if_absent;            /* 0: then it is an error */
    bool is_elsewhere;                   /* trials may read other files than this machine's */
} search_choice;

/* Fills in what `choice` decides of a request. `c`, which the request borrows from, is the configuration with those
 * overrides; digest is SHA256's 65 bytes for it. That a trial can train is known then (search_check.h). E_CONFIG,
 * E_USAGE, E_UNSUPPORTED, E_DATA. */
MUST_USE status search_choose(const search_choice *choice, const config *c, char *digest, search_request *ret,
                              error *err);

#endif
