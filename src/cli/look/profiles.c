#include "cli/look/profiles.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/natural.h"

#include <stdlib.h>
#include <string.h>

enum { PROFILE_MOST = 128 << 20 };

/* trace-10-20.json */
static bool is_name(const char *name)
{
    static const char before[] = "trace-", behind[] = ".json";
    size_t n = strlen(name), digits = n > strlen(before) ? strspn(name + strlen(before), "0123456789-") : 0;
    return strncmp(name, before, strlen(before)) == 0 && digits && n < 64 &&
           strcmp(name + strlen(before) + digits, behind) == 0;
}

static int compare(const void *a, const void *b)
{
    return natural_compare(*(char *const *)a, *(char *const *)b);
}

status profiles_list(const char *job_dir, json_t **ret, error *err)
{
    char **names = NULL, *folder = xasprintf("%s/profile", job_dir);
    size_t n = 0;
    status st = fs_exists(folder) ? fs_list(folder, &names, &n, err) : OK;
    free(folder);
    TRY(st);
    json_t *list = json_array();
    if (n)
        qsort(names, n, sizeof *names, compare);
    for (size_t i = 0; i < n; i++)
        if (is_name(names[i]))
            json_array_append_new(list, json_string(names[i]));
    fs_list_free(names, n);
    *ret = list;
    return OK;
}

status profiles_read(const char *job_dir, const char *name, buf *ret, error *err)
{
    if (!name || !is_name(name))
        return FAIL(err, E_DATA, "?name= is that of a profile, as trace-10-20.json");
    char *path = xasprintf("%s/profile/%s", job_dir, name);
    status st = fs_read(path, PROFILE_MOST, ret, err);
    free(path);
    return st;
}
