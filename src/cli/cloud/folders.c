#include "cli/cloud/folders.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/gcs.h"
#include "common/base/log.h"

#include <libgen.h>
#include <stdlib.h>
#include <string.h>

/* --- which --- */

/* The path in a variable, without slashes at its end; *ret stays as it is where it is not set. */
static status find(const char *variable, char **ret, error *err)
{
    const char *value = getenv(variable);
    if (!value || !*value)
        return OK;
    char *path = NULL;
    TRYF(gcs_path(value, &path, err), err, "%s", variable);
    for (size_t n = strlen(path); n > 1 && path[n - 1] == '/';)
        path[--n] = '\0';
    *ret = path;
    return OK;
}

static char *beside(const char *folder, const char *name)
{
    char *copy = xstrdup(folder);
    char *path = xasprintf("%s/%s", dirname(copy), name);
    free(copy);
    return path;
}

status cloud_folders_find(const char *asked, cloud_folders *ret, error *err)
{
    *ret = (cloud_folders){.job = NULL};
    TRY(find("AIP_MODEL_DIR", &ret->model, err));
    TRY(find("AIP_TENSORBOARD_LOG_DIR", &ret->events, err));
    if (asked)
        return gcs_path(asked, &ret->job, err);
    TRY(find("AIP_CHECKPOINT_DIR", &ret->job, err));
    if (!ret->job && ret->model)
        ret->job = beside(ret->model, "checkpoints");
    return OK;
}

void cloud_folders_fini(cloud_folders *f)
{
    free(f->job);
    free(f->model);
    free(f->events);
}

/* --- handing over --- */

static status copy(const char *from, const char *to, error *err)
{
    fs_map file;
    TRY(fs_map_open(from, &file, err));
    status st = fs_write_atomic(to, file.data ? (const void *)file.data : "", file.bytes, err);
    fs_map_close(&file);
    return st;
}

status cloud_hand_over(const cloud_folders *f, error *err)
{
    static const char *const names[] = {"config.json", "vocabulary.json",   "summary.json",
                                        "model.onnx",  "model.safetensors", "metrics.json",
                                        "model.tar.gz"};
    if (!f->model || strcmp(f->model, f->job) == 0)
        return OK;
    status st = fs_mkdirs(f->model, err);
    for (size_t i = 0; st == OK && i < COUNT_OF(names); i++) {
        char *from = xasprintf("%s/%s", f->job, names[i]),
             *to = xasprintf("%s/%s", f->model, names[i]);
        if (fs_exists(from))
            st = copy(from, to, err);
        free(from);
        free(to);
    }
    if (st == OK)
        LOG_I("HANDED_OVER", "model=%s", f->model);
    else
        error_prepend(err, "AIP_MODEL_DIR");
    return st;
}
