/*
 * `tequio evaluate`: one model, once, over a whole set of examples. The configuration comes with
 * the job that made the model, unless another is given.
 */
#include "cli/commands.h"
#include "cli/use/shares.h"
#include "cli/use/trained_model.h"
#include "common/base/json.h"
#include "evaluator/evaluator.h"
#include "evaluator/figures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_result(const metric_set *m, const metric_figures *figures, const char *model, const char *data)
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
    free(text);
    json_decref(r);
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

static status evaluate(const args *a, trained_model *s, error *err)
{
    TRY(trained_model_find(a->operands[0], s, err));
    TRY(trained_model_configure(s, args_text(a, "config"), err));
    const char *data = args_text(a, "data");
    if (!data)
        data = config_str(s->config, "validation_data_path");
    if (!data)
        return FAIL(err, E_USAGE,
                    "evaluate: the configuration has no validation_data_path: give "
                    "--data");
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
    print_result(&means, &figures, s->model, data);
    metric_figures_fini(&figures);
    return OK;
}

static int run_evaluate(const args *a, error *err)
{
    trained_model s = {.model = NULL};
    status st = evaluate(a, &s, err);
    trained_model_fini(&s);
    return status_exit_code(st);
}

#define INPUT "What to evaluate"

static const flag evaluate_flags[] = {
    {"data", 0, FLAG_PATH, "PATH", INPUT,
     "The examples, all of them; default: those of validation_data_path that "
     "validation_dataset_reader reads.",
     0, 0},
    SUBJECT_RANGE_FLAG(INPUT),
    {"config", 0, FLAG_PATH, "CONFIG", INPUT,
     "The model's configuration; default: config.json of the job that made it.", 0, 0},
    SUBJECT_BATCH_FLAG(INPUT),
    SUBJECT_DEVICE_FLAGS(INPUT),
    {"workers", 0, FLAG_COUNT, "N", INPUT,
     "Processes on this machine that share the batches; the figures are those of one, to the bit. Default: 1.", 1,
     1024},
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
