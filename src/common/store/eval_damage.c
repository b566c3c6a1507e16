#include "common/store/eval_damage.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/json.h"
#include "common/base/log.h"

#include <stdlib.h>

static char *path_of(const jobdir *d)
{
    return jobdir_file(d, "eval/damaged.json");
}

void eval_damage_tell(const jobdir *d, const int64_t *steps, size_t n)
{
    error why = ERROR_INIT;
    char *eval = jobdir_file(d, "eval"), *path = path_of(d);
    json_t *list = json_array(), *said = json_pack("{so}", "steps", list);
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, json_integer(steps[i]));
    status st = n ? fs_mkdir(eval, 1, &why) : fs_remove_tree(path, &why);
    if (st == OK && n)
        st = json_write_file(path, said, &why);
    if (st != OK)
        LOG_W("DAMAGED", "the master is not told yet: %s", why.text);
    json_decref(said);
    free(path);
    free(eval);
}

int64_t *eval_damage_list(const jobdir *d, size_t *ret_n)
{
    char *path = path_of(d);
    json_t *said = NULL;
    if (fs_exists(path) && json_read_file(path, &said, NULL) != OK)
        said = NULL;
    free(path);
    const json_t *list = json_object_get(said, "steps");
    *ret_n = json_array_size(list);
    int64_t *steps = *ret_n ? xcalloc(*ret_n, sizeof *steps) : NULL;
    for (size_t i = 0; i < *ret_n; i++)
        steps[i] = json_integer_value(json_array_get(list, i));
    json_decref(said);
    return steps;
}
