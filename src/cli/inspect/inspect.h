/*
 * `tequio inspect FILE|DIR`: looks into what jobs leave and take. Every kind of thing gives a
 * report as JSON; the text for people is made from that report, so both always tell the same. Main
 * thread only.
 */
#ifndef TEQUIO_CLI_INSPECT_INSPECT_H
#define TEQUIO_CLI_INSPECT_INSPECT_H

#include "common/base/buf.h"
#include "common/base/error.h"

#include <jansson.h>
#include <stdbool.h>

/* The report on whatever lies at `path`; its "kind" is "checkpoint", "job", "safetensors", "events",
 * "idx", "records", "pictures", "videos" or "trace". `verify` also checks a checkpoint's SHA-256 sums, and decodes
 * pictures and videos. The caller decrefs *ret. */
MUST_USE status inspect_look(const char *path, bool verify, json_t **ret, error *err);

/* The report as text for people. */
void inspect_print(const json_t *report, buf *ret);

#endif
