/*
 * Cloud Storage as files: gs://BUCKET/PATH is the file /gcs/BUCKET/PATH, for Vertex AI mounts every
 * bucket there that a job may use, by Cloud Storage FUSE; `gcsfuse /gcs` does so elsewhere. The
 * environment's TEQUIO_GCS names another folder in which buckets are mounted.
 * Any thread.
 */
#ifndef TEQUIO_COMMON_BASE_GCS_H
#define TEQUIO_COMMON_BASE_GCS_H

#include "common/base/error.h"

/* *ret is the path to open, a copy of `path` if that is no gs:// one; the caller frees it.
 * E_CONFIG: there is no bucket in it, or its bucket is not mounted. */
MUST_USE status gcs_path(const char *path, char **ret, error *err);

#endif
