/*
 * Where a host of ours wants things: Vertex AI, whose environment names a folder each for
 * checkpoints, the model at the end, and event files (AIP_CHECKPOINT_DIR, AIP_MODEL_DIR,
 * AIP_TENSORBOARD_LOG_DIR: checkpoints/, model/ and logs/ of the job's base directory). gs:// ones
 * become files (gcs.h).
 *
 * The job dir is the one that was asked for, or else the folder of checkpoints; where only the
 * model's is named, the checkpoints/ beside it.
 *
 * Threads: the main one.
 */
#ifndef TEQUIO_CLI_CLOUD_FOLDERS_H
#define TEQUIO_CLI_CLOUD_FOLDERS_H

#include "common/base/error.h"

typedef struct cloud_folders {
    char *job;    /* NULL: nobody named one */
    char *model;  /* NULL: the model stays in the job dir */
    char *events; /* NULL: event files go into the job dir */
} cloud_folders;

/* `asked` is the job dir that was asked for, or NULL. E_CONFIG as gcs_path; free with _fini, also
 * then. */
MUST_USE status cloud_folders_find(const char *asked, cloud_folders *ret, error *err);
void cloud_folders_fini(cloud_folders *f);

/* Puts what the job made into the folder for the model, if there is one: weights, network, and what
 * `tequio predict` reads beside them. Each file is there when it is whole. May be done again. */
MUST_USE status cloud_hand_over(const cloud_folders *f, error *err);

#endif
