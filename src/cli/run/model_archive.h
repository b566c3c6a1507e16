/*
 * model.tar.gz: a trained model as one file, as AllenNLP has it. In it are config.json, model.safetensors and,
 * where the training data taught their reader one, vocabulary.json: unpacked by tar it is a folder that all
 * commands take. One that AllenNLP wrote has weights.th (model/allennlp_names.h) and vocabulary/, which is not read.
 *
 * Threads: main thread.
 */
#ifndef TEQUIO_CLI_RUN_MODEL_ARCHIVE_H
#define TEQUIO_CLI_RUN_MODEL_ARCHIVE_H

#include "common/base/error.h"
#include "common/config/config.h"

#include <stdbool.h>

/* `weights` is a .safetensors file; `vocabulary` may be NULL. E_IO, E_DISK, E_DATA. */
MUST_USE status model_archive_write(const char *path, const config *c, const char *weights,
                                    const char *vocabulary, error *err);

/* A file that is gzip, and so no model of another kind. */
bool model_archive_is(const char *path);

/* Into a fresh folder of temporary files, which the caller removes (fs_remove_tree) and whose path it frees.
 * Only those files are written, whatever the archive holds. E_DATA: it is damaged, holds a name that
 * leads out of it, or lacks one of them. */
MUST_USE status model_archive_unpack(const char *path, char **ret_folder, error *err);

/* Its config.json, for model.type from_archive (config_source.read_archive). E_DATA, E_IO. */
MUST_USE status model_archive_config(const char *path, json_t **ret, error *err);

#endif
