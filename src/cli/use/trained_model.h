/*
 * What a subcommand speaks of when it is given JOB_DIR|MODEL: the weights, and the configuration of
 * the job that made them.
 *
 *   a job dir                   its model.safetensors, or the newest checkpoint where training goes on
 *   JOB_DIR/best                the model.safetensors in it
 *   checkpoints/step-N          that checkpoint
 *   a .safetensors file         itself
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
} trained_model;

/* *s is zeroed and is to be trained_model_fini'd whatever comes of it. E_DATA, E_IO. */
MUST_USE status trained_model_find(const char *path, trained_model *s, error *err);

/* Loads the configuration, `given` (may be NULL) before the job's own; E_USAGE if there is none. */
MUST_USE status trained_model_configure(trained_model *s, const char *given, error *err);

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
    {                                                                                              \
        "threads", 0, FLAG_COUNT, "N", group,                                                      \
            "CPU threads; default: trainer.threads. The last digits of a sum depend on it.", 1,    \
            1024                                                                                   \
    }

void trained_model_fini(trained_model *s);

#endif
