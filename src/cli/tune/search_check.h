/*
 * Whether a search can come to something, known before its first trial: a configuration of its space is resolved, the
 * data are opened and the model is built, and evaluations of that have the metric. Other values are resolved too, one
 * at a time; those that the configuration refuses are warned of.
 *
 * Threads: the main one.
 */
#ifndef TEQUIO_CLI_TUNE_SEARCH_CHECK_H
#define TEQUIO_CLI_TUNE_SEARCH_CHECK_H

#include "tune/space.h"

typedef struct search_check {
    const char *command;                 /* for warnings: "tune" */
    const char *config_path, *overrides; /* of all trials; NULL: none */
    const char *const *settings;         /* likewise, over these */
    const space *space;
    const char *metric;                  /* as evaluations name it */
    int better;                          /* +1: larger is better, -1: smaller */
    bool is_elsewhere;                   /* trials run where other files are: data that are not here may be there */
} search_check;

/* E_CONFIG, E_UNSUPPORTED, E_DATA: why no trial would train, with the values that were tried. */
MUST_USE status search_check_run(const search_check *k, error *err);

#endif
