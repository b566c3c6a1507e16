/*
 * Jsonnet to JSON, by libjsonnet (only here). All environment variables are external variables, as
 * in AllenNLP; imports are looked up from the folder of the file. A program that recurses without
 * end is stopped by libjsonnet's own bounds.
 *
 * Threads: any; every call has its own machine.
 */
#ifndef TEQUIO_COMMON_CONFIG_JSONNET_H
#define TEQUIO_COMMON_CONFIG_JSONNET_H

#include "common/base/error.h"

#include <jansson.h>

/* `origin` names the text in messages and is what imports are relative to; `what` the kind of a file that cannot
 * be read. The value must be an object. E_CONFIG with file and line; the caller decrefs *ret. */
MUST_USE status jsonnet_parse(const char *origin, const char *text, json_t **ret, error *err);
MUST_USE status jsonnet_read_file(const char *what, const char *path, json_t **ret, error *err);

#endif
