/*
 * Flags of AllenNLP's evaluate and predict that are taken where they ask for what is so here, and refused with the
 * reason where they do not.
 * Threads: pure.
 */
#ifndef TEQUIO_CLI_USE_ALLENNLP_FLAGS_H
#define TEQUIO_CLI_USE_ALLENNLP_FLAGS_H

#include "cli/line/command.h"
#include "common/config/config.h"

#define ALLENNLP_EVALUATE_FLAGS(group)                                                                               \
    {"batch-weight-key", 0, FLAG_TEXT_OR_EMPTY, "KEY", group,                                                        \
     "As AllenNLP's flag: only \"\" is taken, for a loss is the mean over examples.", 0, 0},                         \
    {"extend-vocab", 0, FLAG_SWITCH, NULL, group,                                                                    \
     "As AllenNLP's flag: taken with a warning where the data's words cannot be new to the model, else refused.", 0, \
     0},                                                                                                             \
    {                                                                                                                \
        "embedding-sources-mapping", 0, FLAG_TEXT_OR_EMPTY, "JSON", group,                                           \
            "As AllenNLP's flag: only an empty object is taken, for no table gets new rows.", 0, 0                   \
    }

#define ALLENNLP_PREDICT_FLAGS(group)                                                                                \
    {"predictor-args", 0, FLAG_TEXT_OR_EMPTY, "JSON", group,                                                         \
     "As AllenNLP's flag: only an empty object is taken, for there are no predictors.", 0, 0},                       \
    {                                                                                                                \
        "multitask-head", 0, FLAG_TEXT_OR_EMPTY, "NAME", group,                                                      \
            "As AllenNLP's flag: refused, for no model has several heads.", 0, 0                                     \
    }

/* Of the command's flags above that a value alone decides. E_USAGE. */
MUST_USE status allennlp_flags_check(const args *a, error *err);

/* --extend-vocab, by what the configuration's readers number. E_USAGE. */
MUST_USE status allennlp_flags_extend(const args *a, const config *c, error *err);

#endif
