#include "common/base/gcs.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"

#include <stdlib.h>
#include <string.h>

static const char scheme[] = "gs://";

static const char *mounts(void)
{
    const char *folder = getenv("TEQUIO_GCS");
    return folder && *folder ? folder : "/gcs";
}

/* A mount that stands for all buckets lists none of them; one that is asked for is there. */
static status check_mounted(const char *path, const char *name, size_t bytes, error *err)
{
    char *bucket = xasprintf("%s/%.*s", mounts(), (int)bytes, name);
    status st = OK;
    if (!fs_exists(bucket))
        st = FAIL(
            err, E_CONFIG,
            "'%s': Cloud Storage is reached as files, and there is no '%s': mount the bucket "
            "there, as Vertex AI and `gcsfuse %s` do, or name by TEQUIO_GCS the folder in which "
            "buckets are mounted",
            path, bucket, mounts());
    free(bucket);
    return st;
}

status gcs_path(const char *path, char **ret, error *err)
{
    if (strncmp(path, scheme, sizeof scheme - 1) != 0) {
        *ret = xstrdup(path);
        return OK;
    }
    const char *name = path + sizeof scheme - 1;
    size_t bytes = strcspn(name, "/");
    if (!bytes || name[0] == '.')
        return FAIL(err, E_CONFIG, "'%s': expected gs://BUCKET/PATH", path);
    TRY(check_mounted(path, name, bytes, err));
    *ret = xasprintf("%s/%s", mounts(), name);
    return OK;
}
