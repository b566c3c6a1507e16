#include "cli/tune/trial_result.h"

#include "common/base/alloc.h"
#include "common/base/json.h"

#include <stdlib.h>

static status read_number(const char *job_dir, const char *file, const char *key, json_t **ret, error *err)
{
    char *path = xasprintf("%s/%s", job_dir, file);
    json_t *tree = NULL;
    status st = json_read_file(path, &tree, err);
    json_t *value = json_object_get(tree, key);
    if (st == OK && !json_is_number(value))
        st = FAIL(err, E_DATA, "'%s' has %s '%s'", path, value ? "no finite" : "no", key);
    if (st == OK)
        *ret = json_incref(value);
    json_decref(tree);
    free(path);
    return st;
}

status trial_result_read(const char *job_dir, const char *metric, trial_result *ret, error *err)
{
    json_t *best = NULL, *steps = NULL;
    char *key = xasprintf("best_validation_%s", metric);
    status st = read_number(job_dir, "metrics.json", key, &best, err);
    if (st == OK)
        st = read_number(job_dir, "summary.json", "steps", &steps, err);
    if (st == OK)
        *ret = (trial_result){.objective = json_number_value(best), .steps = (int64_t)json_integer_value(steps)};
    json_decref(best);
    json_decref(steps);
    free(key);
    return st;
}
