/*
 * What a search for hyper-parameters asks for: AI Platform's HyperparameterSpec, from the section
 * `hyperparameters` of a job file or from a jsonnet file that holds nothing else.
 *
 * A parameter is a key of the configuration ("trainer.optimizer.lr"). Names that programs for AI Platform give
 * them (`learning-rate`, `batch_size`) stand for keys too: parameter_names.def.
 *
 * Ownership: all of it lives in the arena it was read into. Threads: one at a time.
 * Source: AI Platform Training's REST reference, v1 (HyperparameterSpec, ParameterSpec).
 */
#ifndef TEQUIO_JOB_SPEC_SEARCH_H
#define TEQUIO_JOB_SPEC_SEARCH_H

#include "job/spec/schema.h"
#include "tune/space.h"

typedef struct search {
    int better;              /* +1: MAXIMIZE, -1: MINIMIZE, 0: nothing is said */
    const char *metric;      /* hyperparameterMetricTag; NULL: nothing is said */
    const char *algorithm;   /* a word of the table; NULL: nothing is said */
    const char *previous;    /* resumePreviousJobId; NULL: nothing is said */
    bool stops_early;        /* enableTrialEarlyStopping */
    int64_t trials, parallel, failed_most; /* -1: nothing is said */
    space space;
    const char *const *names; /* [space.n]: of its parameters, as they are written */
} search;

/* Of a HyperparameterSpec that schema_check found right. A parameter that stands there twice, word by word, is taken
 * once; `warn`, which may be NULL, is told. E_CONFIG with the place. */
MUST_USE status search_read(const doc_node *spec, arena *memory, schema_warn *warn, void *user, search *ret,
                            error *err);

/* E_CONFIG. Keys may also be in snake case; `warn` is told of those that are ignored. */
MUST_USE status search_read_file(const char *path, arena *memory, schema_warn *warn, void *user, search *ret,
                                 error *err);

/* Every parameter gets the key of the configuration that it is: the one that `mapping` says, "NAME=KEY,...", or else
 * the one that its name is or stands for; "NAME=" leaves it out. Words of a CATEGORICAL whose key takes lists of
 * numbers, as "256 128", become such lists. `mapping` may be NULL. E_USAGE, E_CONFIG. */
MUST_USE status search_name_keys(search *s, const char *mapping, arena *memory, error *err);

#endif
