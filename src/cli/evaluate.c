/*
 * `tequio evaluate`: one model, once, over a whole set of examples. The configuration comes with
 * the job that made the model, unless another is given.
 */
#include "cli/commands.h"
#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/json.h"
#include "common/store/checkpoint.h"
#include "evaluator/evaluator.h"

#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What to read; all three are owned. */
typedef struct subject {
    char *model; /* .safetensors file or checkpoint folder */
    char *config;
    config *loaded;
} subject;

static void subject_fini(subject *s)
{
    config_destroy(&s->loaded);
    free(s->model);
    free(s->config);
}

/* folder/name if that exists, else NULL */
static char *existing(const char *folder, const char *name)
{
    char *path = xasprintf("%s/%s", folder, name);
    if (fs_exists(path))
        return path;
    free(path);
    return NULL;
}

/* The config.json of the job a file belongs to: beside it (model.safetensors), or one or two floors
 * up (best/, checkpoints/step-N/). NULL if there is none. */
static char *config_above(const char *path)
{
    char *copy = xstrdup(path), *folder = copy, *found = NULL;
    for (int up = 0; up < 3 && !found; up++) {
        folder = dirname(folder);
        found = existing(folder, "config.json");
    }
    free(copy);
    return found;
}

static status newest_checkpoint(const char *job_dir, char **ret, error *err)
{
    jobdir *dir = NULL;
    int64_t *steps = NULL;
    size_t n = 0;
    TRY(jobdir_open(job_dir, &dir, err));
    status st = checkpoint_list(dir, &steps, &n, err);
    if (st == OK && n == 0)
        st =
            FAIL(err, E_DATA, "'%s' holds neither model.safetensors nor a checkpoint yet", job_dir);
    if (st == OK)
        *ret = jobdir_file(dir, "checkpoints/step-%09lld", (long long)steps[n - 1]);
    free(steps);
    jobdir_close(&dir);
    return st;
}

static status find_model(const char *path, subject *s, error *err)
{
    if (!fs_exists(path))
        return FAIL(err, E_IO,
                    "'%s' does not exist; give a job dir, a checkpoint or a "
                    ".safetensors file",
                    path);
    s->config = existing(path, "config.json");
    if (s->config) {
        s->model = existing(path, "model.safetensors");
        return s->model ? OK : newest_checkpoint(path, &s->model, err);
    }
    s->model = xstrdup(path);
    s->config = config_above(path);
    return OK;
}

static status find_config(const args *a, subject *s, error *err)
{
    const char *given = args_text(a, "config");
    if (!given && !s->config)
        return FAIL(err, E_USAGE, "evaluate: no config.json beside '%s': give --config", s->model);
    config_source source = {.path = given ? given : s->config};
    return config_load(&source, &s->loaded, err);
}

static void print_result(const metric_set *m, const char *model, const char *data)
{
    json_t *r = json_pack("{s:s, s:s}", "model", model, "data", data);
    for (size_t i = 0; i < m->n; i++) {
        json_object_set_new(r, m->at[i].name, json_real(metric_result(m, m->at[i].name)));
        if (strcmp(m->at[i].name, "accuracy") == 0)
            json_object_set_new(r, "examples", json_integer((json_int_t)m->at[i].count));
    }
    char *text = json_dumps(r, JSON_INDENT(2));
    puts(text);
    free(text);
    json_decref(r);
}

static status evaluate(const args *a, subject *s, error *err)
{
    TRY(find_model(a->operands[0], s, err));
    TRY(find_config(a, s, err));
    const char *data = args_text(a, "data");
    if (!data)
        data = config_str(s->loaded, "validation_data_path");
    if (!data)
        return FAIL(err, E_USAGE,
                    "evaluate: the configuration has no validation_data_path: give "
                    "--data");
    evaluator_request request = {
        .config = s->loaded,
        .model = s->model,
        .data_path = data,
        .threads = (int)args_count(a, "threads", config_int(s->loaded, "trainer.threads")),
    };
    metric_set metrics;
    TRY(evaluator_evaluate(&request, &metrics, err));
    print_result(&metrics, s->model, data);
    return OK;
}

static int run_evaluate(const args *a, error *err)
{
    subject s = {.model = NULL};
    status st = evaluate(a, &s, err);
    subject_fini(&s);
    return status_exit_code(st);
}

#define INPUT "What to evaluate"

static const flag evaluate_flags[] = {
    {"data", 0, FLAG_PATH, "PATH", INPUT, "The examples; default: validation_data_path.", 0, 0},
    {"config", 0, FLAG_PATH, "CONFIG", INPUT,
     "The model's configuration; default: config.json of the job that made it.", 0, 0},
    {"threads", 0, FLAG_COUNT, "N", INPUT,
     "CPU threads; default: trainer.threads. The last digits of a sum depend on it.", 1, 1024},
};

const command command_evaluate = {
    .name = "evaluate",
    .operands = "JOB_DIR|MODEL",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "Evaluate a trained model and print its metrics as JSON.",
    .about =
        "Evaluates a model over a whole set of examples and prints its metrics as JSON. Of a "
        "job dir the final model.safetensors is taken, or the newest checkpoint where training "
        "goes on; a checkpoint folder or a .safetensors file may be named as well.",
    .flags = evaluate_flags,
    .n_flags = COUNT_OF(evaluate_flags),
    .needs_passive_waits = true,
    .run = run_evaluate,
};
