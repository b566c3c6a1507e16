/*
 * What a subcommand speaks of when it is given JOB_DIR|MODEL: the weights, and the configuration of
 * the job that made them.
 *
 *   a job dir                   its model.safetensors, or the newest checkpoint where training goes on
 *   JOB_DIR/best                the model.safetensors in it
 *   checkpoints/step-N          that checkpoint
 *   a .safetensors file         itself
 *   an archive (model.tar.gz)   what it holds
 *   weights.th, best.th         what AllenNLP wrote, in an archive, in a folder or alone, of models that are here too
 *
 * Threads: main thread only.
 */
#ifndef TEQUIO_CLI_USE_TRAINED_MODEL_H
#define TEQUIO_CLI_USE_TRAINED_MODEL_H

#include "backend/registry.h"
#include "cli/line/command.h"
#include "common/config/config.h"
#include "data/data.h"

typedef struct trained_model {
    char *model;        /* a .safetensors file or a checkpoint's folder */
    char *config_path;  /* config.json of the job it belongs to; NULL: none was found */
    config *config;     /* NULL before trained_model_configure */
    char *vocabulary;   /* of that job; NULL if its data have none, and before trained_model_configure */
    char *unpacked;     /* the folder of temporary files; NULL: there are none */
} trained_model;

/* *s is zeroed and is to be trained_model_fini'd whatever comes of it. E_DATA, E_IO. */
MUST_USE status trained_model_find(const char *path, trained_model *s, error *err);

/* Loads the configuration, `given` before the job's own, with `overrides` over it; both may be NULL. E_USAGE if
 * there is none. */
MUST_USE status trained_model_configure(trained_model *s, const char *given, const char *overrides, error *err);

/* Both, as the operands and flags below say; with `weights-file` the model's weights are those. */
MUST_USE status trained_model_take(trained_model *s, const args *a, error *err);

/* Data are read by dataset_reader from now on, as validation data are where no reader of their own is given. */
MUST_USE status trained_model_read_as_training(trained_model *s, error *err);

/* The examples: --data, or the second operand, which is AllenNLP's way to say it. E_USAGE for both. */
MUST_USE status trained_model_data(const args *a, const char **ret, error *err);

/* Flags of AllenNLP's evaluate and predict that several commands have. */
#define SUBJECT_ALLENNLP_FLAGS(group, letter)                                                      \
    {"weights-file", 0, FLAG_PATH, "FILE", group,                                                  \
     "A .safetensors file or a checkpoint whose weights are taken in place of the model's.", 0, 0}, \
    {"include-package", 0, FLAG_TEXT, "NAME", group,                                               \
     "A Python package, as AllenNLP loads it; nothing is loaded here, and a warning says so.", 0, 0}, \
    {"file-friendly-logging", 0, FLAG_SWITCH, NULL, group,                                         \
     "As AllenNLP's flag: it is always so.", 0, 0},                                                \
    {                                                                                              \
        "overrides", letter, FLAG_TEXT, "JSON", group,                                             \
            "Values that replace those of the configuration: an object, nested or with dotted keys.", 0, 0 \
    }

/* What of the data is read: of --data all, or of either what --range says. *ret_part is NULL where
 * that is the configuration's business, else `part`. E_USAGE. */
MUST_USE status trained_model_part(const args *a, dataset_part *part, const dataset_part **ret_part,
                             error *err);

#define SUBJECT_BATCH_FLAG(group)                                                                  \
    {                                                                                              \
        "batch-size", 0, FLAG_COUNT, "N", group,                                                   \
            "Examples at a time; default: validation_data_loader.batch_size.", 1, INT64_MAX        \
    }

#define SUBJECT_RANGE_FLAG(group)                                                                  \
    {                                                                                              \
        "range", 0, FLAG_TEXT, "FROM,TO", group,                                                   \
            "The part of the data that is read, from one share to another, as 0.9,1.", 0, 0        \
    }

/* Where to compute: --device, else the first GPU or the CPU, with --threads. E_USAGE. */
MUST_USE status trained_model_device(const trained_model *s, const args *a, backend_choice *ret, error *err);

/* The flags of that; `group` as the other flags have it. */
#define SUBJECT_DEVICE_FLAGS(group)                                                                \
    {"device", 0, FLAG_TEXT, "DEVICE", group,                                                      \
     "cpu, or a GPU as 0, cuda:0 or /gpu:0; default: the first GPU, or the CPU where there is none.", \
     0, 0},                                                                                        \
    {"cuda-device", 0, FLAG_TEXT, "N", group,                                                      \
     "As --device, in AllenNLP's words: a negative number is the CPU.", 0, 0},                     \
    {                                                                                              \
        "threads", 0, FLAG_COUNT, "N", group,                                                      \
            "CPU threads; default: trainer.threads. The last digits of a sum depend on it.", 1,    \
            1024                                                                                   \
    }

void trained_model_fini(trained_model *s);

#endif
