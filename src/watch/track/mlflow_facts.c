/* What the files of MLflow's tracker ask of its settings and of the job dir. */
#include "watch/track/mlflow_internal.h"

#include "common/base/alloc.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int64_t mlflow_integer(const json_t *value)
{
    const char *text = json_string_value(value);
    return text ? strtoll(text, NULL, 10) : json_integer_value(value);
}

const char *mlflow_setting(const mlflow *m, const char *key)
{
    return json_string_value(json_object_get(m->settings, key));
}

char *mlflow_file(const mlflow *m, const char *name)
{
    return xasprintf("%s/%s", m->job_dir, name);
}

int64_t mlflow_file_state(const char *path, char ret[64])
{
    struct stat info;
    ret[0] = '\0';
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode))
        return 0;
    int64_t ns = (int64_t)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec;
    snprintf(ret, 64, "%" PRId64 " bytes of %" PRId64, (int64_t)info.st_size, ns);
    return ns / 1000000;
}
