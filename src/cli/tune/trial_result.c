#include "cli/tune/trial_result.h"

#include "common/base/alloc.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* A file is written when its epoch ends, and again with what its evaluation says. */
status trial_evaluation_read(const trial_files *f, const char *job_dir, const char *metric, int64_t epoch,
                             trial_evaluation *ret, error *err)
{
    bool is_evaluated = false;
    status st = OK;
    char *key = xasprintf("validation_%s", metric);
    for (int64_t next = epoch + 1; st == OK && !is_evaluated; next++) {
        char *name = xasprintf("metrics_epoch_%" PRId64 ".json", next - 1);
        json_t *tree = NULL;
        st = trial_files_read(f, job_dir, name, &tree, err);
        const json_t *value = json_object_get(tree, key);
        is_evaluated = value != NULL;
        if (is_evaluated)
            *ret = (trial_evaluation){.epoch = next, .steps = json_integer_value(json_object_get(tree, "step")),
                                      .objective = json_is_number(value) ? json_number_value(value) : NAN};
        json_decref(tree);
        free(name);
    }
    free(key);
    return st;
}

static status read_number(const trial_files *f, const char *job_dir, const char *file, const char *key, json_t **ret,
                          error *err)
{
    json_t *tree = NULL;
    status st = trial_files_read(f, job_dir, file, &tree, err);
    json_t *value = json_object_get(tree, key);
    if (st == OK && !json_is_number(value))
        st = FAIL(err, E_DATA, "'%s/%s' has %s '%s'", job_dir, file, value ? "no finite" : "no", key);
    if (st == OK)
        *ret = json_incref(value);
    json_decref(tree);
    return st;
}

status trial_result_read(const trial_files *f, const char *job_dir, const char *metric, trial_result *ret, error *err)
{
    json_t *best = NULL, *steps = NULL;
    char *key = xasprintf("best_validation_%s", metric);
    status st = read_number(f, job_dir, "metrics.json", key, &best, err);
    if (st == OK)
        st = read_number(f, job_dir, "summary.json", "steps", &steps, err);
    if (st == OK)
        *ret = (trial_result){.objective = json_number_value(best), .steps = (int64_t)json_integer_value(steps)};
    json_decref(best);
    json_decref(steps);
    free(key);
    return st;
}
