/* What a person is told of a configuration that is taken. Any thread. */
#ifndef TEQUIO_CLI_RUN_CONFIG_NOTES_H
#define TEQUIO_CLI_RUN_CONFIG_NOTES_H

#include "common/config/config.h"

/* Logs what became of AllenNLP's keys: one line each. */
void config_notes_log(const config *c);

/* Warns that a package, --include-package of AllenNLP, is not loaded; NULL: none is named. */
void config_notes_package(const char *name);

#endif
