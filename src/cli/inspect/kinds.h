/* The kinds of things `tequio inspect` looks into, a file each: what each looks like as a report and as
 * text. Main thread only. */
#ifndef TEQUIO_CLI_INSPECT_KINDS_H
#define TEQUIO_CLI_INSPECT_KINDS_H

#include "common/base/buf.h"
#include "common/base/error.h"

#include <jansson.h>
#include <stdbool.h>

MUST_USE status inspect_look_checkpoint(const char *dir, bool verify, json_t **ret, error *err);
void inspect_print_checkpoint(const json_t *report, buf *ret);
MUST_USE status inspect_look_job(const char *dir, json_t **ret, error *err);
void inspect_print_job(const json_t *report, buf *ret);
MUST_USE status inspect_look_safetensors(const char *path, json_t **ret, error *err);
void inspect_print_safetensors(const json_t *report, buf *ret);
MUST_USE status inspect_look_events(const char *path, json_t **ret, error *err);
void inspect_print_events(const json_t *report, buf *ret);
MUST_USE status inspect_look_idx(const char *path, json_t **ret, error *err);
void inspect_print_idx(const json_t *report, buf *ret);
/* What is not records of a kind that is known: *ret is NULL then. */
MUST_USE status inspect_look_records(const char *path, json_t **ret, error *err);
void inspect_print_records(const json_t *report, buf *ret);
/* Likewise what is no picture; `verify` decodes all. */
MUST_USE status inspect_look_pictures(const char *path, bool verify, json_t **ret, error *err);
/* Likewise what is no list of pictures. */
MUST_USE status inspect_look_list(const char *path, bool verify, json_t **ret, error *err);
void inspect_print_pictures(const json_t *report, buf *ret);
/* Likewise what is no video, or lies among more pictures; and what is no list of videos, files or folders of frames. */
MUST_USE status inspect_look_videos(const char *path, bool verify, json_t **ret, error *err);
MUST_USE status inspect_look_video_list(const char *path, bool verify, json_t **ret, error *err);
void inspect_print_videos(const json_t *report, buf *ret);

MUST_USE status inspect_look_trace(const char *path, json_t **ret, error *err);
void inspect_print_trace(const json_t *report, buf *ret);

#endif
