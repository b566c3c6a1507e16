/*
 * `tequio evaluate`: one model, once, over a whole set of examples. The configuration comes with
 * the job that made the model, unless another is given.
 */
#include "cli/commands.h"
#include "cli/use/predictions.h"
#include "cli/use/shares.h"
#include "cli/use/trained_model.h"
#include "common/base/json.h"
#include "evaluator/evaluator.h"
#include "evaluator/figures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static status print_result(const metric_set *m, const metric_figures *figures, const char *model, const char *data,
                           const char *file, error *err)
{
    json_t *r = json_pack("{s:s, s:s}", "model", model, "data", data);
    json_int_t examples = 0;
    figures_put(r, m, figures);
    for (size_t i = 0; i < m->n; i++)
        if (strcmp(m->at[i].name, "loss") == 0)
            examples = (json_int_t)m->at[i].count;
    json_object_set_new(r, "examples", json_integer(examples));
    char *text = json_dumps(r, JSON_INDENT(2));
    puts(text);
    status st = file ? json_write_file(file, r, err) : OK;
    free(text);
    json_decref(r);
    return st;
}

/* Processes are started before anything here has threads. */
static status evaluate_shared(const evaluator_request *request, int64_t workers, metric_set *ret,
                              metric_figures *ret_figures, error *err)
{
    shares *others = NULL;
    if (workers > 1 && request->device.ops != &backend_cpu)
        return FAIL(err, E_USAGE, "evaluate: --workers shares the work among processes on the CPU: give --device cpu");
    TRY(shares_start(request, workers, &others, err));
    status st = evaluator_evaluate(request, workers, shares_take, others, ret, ret_figures, err);
    shares_end(&others);
    return st;
}

/* The data: as the command line says, else validation_data_path. */
static status choose_data(const args *a, const trained_model *s, const char **ret, error *err)
{
    TRY(trained_model_data(a, ret, err));
    if (!*ret)
        *ret = config_str(s->config, "validation_data_path");
    return *ret ? OK
                : FAIL(err, E_USAGE,
                       "evaluate: the configuration has no validation_data_path: give "
                       "--data");
}

static status evaluate(const args *a, trained_model *s, error *err)
{
    const char *data = NULL;
    TRY(trained_model_take(s, a, err));
    TRY(choose_data(a, s, &data, err));
    evaluator_request request = {
        .config = s->config,
        .model = s->model,
        .batch_size = args_count(a, "batch-size", 0),
        .batch_key = "--batch-size",
        .data_path = data,
        .vocabulary = s->vocabulary,
    };
    dataset_part part;
    TRY(trained_model_part(a, &part, &request.part, err));
    TRY(trained_model_device(s, a, &request.device, err));
    metric_set means;
    metric_figures figures;
    TRY(evaluate_shared(&request, args_count(a, "workers", 1), &means, &figures, err));
    const char *named = s->unpacked ? a->operands[0] : s->model;
    status st = print_result(&means, &figures, named, data, args_text(a, "output-file"), err);
    metric_figures_fini(&figures);
    predictions lines = {.path = args_text(a, "predictions-output-file")};
    return st == OK && lines.path ? predictions_write(&lines, &request, err) : st;
}

static int run_evaluate(const args *a, error *err)
{
    trained_model s = {.model = NULL};
    status st = evaluate(a, &s, err);
    trained_model_fini(&s);
    return status_exit_code(st);
}

#define INPUT  "What to evaluate"
#define OUTPUT "Where to write"

static const flag evaluate_flags[] = {
    {"data", 0, FLAG_PATH, "PATH", INPUT,
     "The examples, all of them; FILE says the same. Default: those of validation_data_path that "
     "validation_dataset_reader reads.",
     0, 0},
    SUBJECT_RANGE_FLAG(INPUT),
    {"config", 0, FLAG_PATH, "CONFIG", INPUT,
     "The model's configuration; default: config.json of the job that made it.", 0, 0},
    SUBJECT_ALLENNLP_FLAGS(INPUT, 'o'),
    SUBJECT_BATCH_FLAG(INPUT),
    SUBJECT_DEVICE_FLAGS(INPUT),
    {"workers", 0, FLAG_COUNT, "N", INPUT,
     "Processes on this machine that share the batches; the figures are those of one, to the bit. Default: 1.", 1,
     1024},
    {"output-file", 0, FLAG_PATH, "FILE", OUTPUT, "Write the metrics there too.", 0, 0},
    {"predictions-output-file", 0, FLAG_PATH, "FILE", OUTPUT,
     "Write what the model says to each example there, as lines of JSON (predict).", 0, 0},
};

const command command_evaluate = {
    .name = "evaluate",
    .operands = "JOB_DIR|MODEL [FILE]",
    .min_operands = 1,
    .max_operands = 2,
    .summary = "Evaluate a trained model and print its metrics as JSON.",
    .about =
        "Evaluates a model over a whole set of examples and prints its metrics as JSON. Of a "
        "job dir the final model.safetensors is taken, or the newest checkpoint where training "
        "goes on; model.tar.gz, a checkpoint folder or a .safetensors file may be named as well.",
    .flags = evaluate_flags,
    .n_flags = COUNT_OF(evaluate_flags),
    .needs_passive_waits = true,
    .run = run_evaluate,
};
