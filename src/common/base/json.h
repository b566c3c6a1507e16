/*
 * JSON by jansson, with our errors. A message gives line, column and what was expected.
 * Threads: a json_t belongs to one thread at a time.
 */
#ifndef TEQUIO_COMMON_BASE_JSON_H
#define TEQUIO_COMMON_BASE_JSON_H

#include "common/base/buf.h"
#include "common/base/error.h"

#include <jansson.h>
#include <stdint.h>

/* `origin` names the text in messages ("TF_CONFIG"); `code` is the status on failure. The caller
 * decrefs *ret. Duplicate keys are refused; any value may stand at the top. */
MUST_USE status json_parse(const char *text, size_t bytes, const char *origin, status code,
                           json_t **ret, error *err);
MUST_USE status json_read_file(const char *path, json_t **ret, error *err); /* E_DATA, E_IO */

/* Pretty (indent 2, keys in order of insertion, final newline), written atomically. */
MUST_USE status json_write_file(const char *path, const json_t *value, error *err);

char *json_text(const json_t *value); /* compact, keys sorted; the caller frees it */

/* A string of text that need not be UTF-8: what is not becomes '?'. */
json_t *json_words(const char *text);

/* As json_write_file writes it. */
void json_pretty(const json_t *value, buf *ret);

/* "an object", "a string", ... for messages */
const char *json_kind(const json_t *value);

#endif
