/*
 * AllenNLP's model `from_archive`: the model of the config.json in a model.tar.gz, which begins with its weights.
 *
 * Threads: main thread only.
 */
#ifndef TEQUIO_COMMON_CONFIG_FROM_ARCHIVE_H
#define TEQUIO_COMMON_CONFIG_FROM_ARCHIVE_H

#include "common/config/config.h"

/* Puts that model in the place of such a section of a configuration as it was written, with the archive as
 * pretrained.path; any other stays as it is. `read` may be NULL: archives are not read. E_CONFIG, and what `read`
 * fails with. */
MUST_USE status from_archive_take(json_t *written, config_archive_reader *read, error *err);

#endif
