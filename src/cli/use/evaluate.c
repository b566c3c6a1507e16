/*
 * `tequio evaluate`: one model, once, over a whole set of examples. The configuration comes with
 * the job that made the model, unless another is given.
 */
#include "cli/commands.h"
#include "cli/use/allennlp_flags.h"
#include "cli/use/evaluation_files.h"
#include "cli/use/evaluation_tables.h"
#include "cli/use/predictions.h"
#include "cli/use/shares.h"
#include "cli/use/temperature.h"
#include "cli/use/trained_model.h"
#include "cli/use/worst_examples.h"
#include "common/base/json.h"
#include "common/base/log.h"
#include "evaluator/evaluator.h"
#include "metric/figures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct result {
    metric_set means;
    metric_figures figures;
    json_t *details; /* NULL: none are asked for */
} result;

static void result_fini(result *r)
{
    metric_figures_fini(&r->figures);
    json_decref(r->details);
}

static json_t *result_json(const result *r, const char *model, const char *data)
{
    json_t *o = json_pack("{s:o, s:o}", "model", json_words(model), "data", json_words(data));
    json_int_t examples = 0;
    figures_put(o, &r->means, &r->figures);
    for (size_t i = 0; i < r->means.n; i++)
        if (strcmp(r->means.at[i].name, "loss") == 0)
            examples = (json_int_t)r->means.at[i].count;
    json_object_set_new(o, "examples", json_integer(examples));
    if (r->details)
        json_object_update(o, r->details);
    return o;
}

/* As JSON, or as tables; and into the file of its metrics. Of several data the keys have the data's name before them,
 * and are gathered in `all`. */
static status tell(const result *r, const args *a, const char *model, const evaluation_files *f, json_t *all,
                   error *err)
{
    json_t *o = result_json(r, model, f->data), *value;
    const char *key;
    if (r->details && !args_has(a, "json")) {
        evaluation_tables_print(o);
    } else if (!all) {
        char *text = json_dumps(o, JSON_INDENT(2));
        puts(text);
        free(text);
    }
    json_object_foreach(o, key, value)
    {
        char *name = xasprintf("%s_%s", f->name, key);
        if (all && strcmp(key, "model") != 0)
            json_object_set(all, name, value);
        free(name);
    }
    status st = f->metrics ? json_write_file(f->metrics, o, err) : OK;
    json_decref(o);
    return st;
}

/* Processes are started before anything here has threads. */
static status evaluate_shared(const evaluator_request *request, int64_t workers, result *ret, error *err)
{
    shares *others = NULL;
    if (workers > 1 && request->device.ops != &backend_cpu)
        return FAIL(err, E_USAGE, "evaluate: --workers shares the work among processes on the CPU: give --device cpu");
    TRY(shares_start(request, workers, &others, err));
    status st = evaluator_evaluate(request, workers, shares_take, others, &ret->means, &ret->figures,
                                   &ret->details, err);
    shares_end(&others);
    return st;
}

/* The data: as the command line says, which may list several, else validation_data_path. */
static status choose_data(const args *a, const trained_model *s, const char **ret, bool *ret_is_list, error *err)
{
    TRY(trained_model_data(a, ret, err));
    *ret_is_list = *ret != NULL;
    if (!*ret)
        *ret = config_str(s->config, "validation_data_path");
    return *ret ? OK
                : FAIL(err, E_USAGE,
                       "evaluate: the configuration has no validation_data_path: give "
                       "--data");
}

/* `keeps`: its worst examples are those that the page shows. */
static status evaluate_one(const args *a, trained_model *s, const evaluation_files *f, bool keeps, json_t *all,
                           error *err)
{
    evaluator_request request = {
        .config = s->config,
        .model = s->model,
        .batch_size = args_count(a, "batch-size", 0),
        .batch_key = "--batch-size",
        .data_path = f->data,
        .vocabulary = s->vocabulary,
        .details = {.per_class = args_has(a, "per-class"), .temperature = args_has(a, "temperature"),
                    .errors = args_count(a, "errors", 0), .pictures = keeps && worst_examples_have_place(s)},
    };
    dataset_part part;
    TRY(trained_model_part(a, &part, &request.part, err));
    TRY(trained_model_device(s, a, &request.device, err));
    result found = {.details = NULL};
    TRY(evaluate_shared(&request, args_count(a, "workers", 1), &found, err));
    const char *named = s->unpacked ? a->operands[0] : s->model;
    if (request.details.errors > 0 && request.details.pictures)
        worst_examples_keep(s, found.details, f->data);
    status st = tell(&found, a, named, f, all, err);
    if (st == OK && request.details.temperature)
        st = temperature_keep(s, json_object_get(found.details, "temperature"), f->data, err);
    result_fini(&found);
    predictions lines = {.path = f->predictions};
    return st == OK && lines.path ? predictions_write(&lines, &request, err) : st;
}

/* Processes cannot be started again, and one temperature is kept. */
static status check_several(const args *a, size_t n, error *err)
{
    static const char *const alone[] = {"workers", "temperature"};
    for (size_t i = 0; n > 1 && i < COUNT_OF(alone); i++)
        if (args_has(a, alone[i]))
            return FAIL(err, E_USAGE, "evaluate: --%s goes with one file of examples, not with %zu", alone[i], n);
    return OK;
}

static status evaluate_files(const args *a, trained_model *s, arena *memory, error *err)
{
    size_t n;
    bool is_list;
    const char *data = NULL;
    const evaluation_files *files;
    TRY(choose_data(a, s, &data, &is_list, err));
    TRY(evaluation_files_read(a, data, is_list, memory, &files, &n, err));
    TRY(check_several(a, n, err));
    if (n == 1)
        return evaluate_one(a, s, files, true, NULL, err);
    json_t *all = json_pack("{s:o}", "model", json_words(s->unpacked ? a->operands[0] : s->model));
    status st = OK;
    for (size_t i = 0; i < n && st == OK; i++)
        st = evaluate_one(a, s, &files[i], i == 0, all, err);
    if (st == OK && args_has(a, "errors") && worst_examples_have_place(s))
        LOG_W("KEPT", "the page shows the worst examples of '%s', the first of %zu files, alone", files[0].data, n);
    bool has_tables = (args_has(a, "per-class") || args_has(a, "errors")) && !args_has(a, "json");
    char *text = st == OK && !has_tables ? json_dumps(all, JSON_INDENT(2)) : NULL;
    if (text)
        puts(text);
    free(text);
    json_decref(all);
    return st;
}

static status evaluate(const args *a, trained_model *s, error *err)
{
    TRY(allennlp_flags_check(a, err));
    TRY(trained_model_take(s, a, err));
    TRY(allennlp_flags_extend(a, s->config, err));
    arena *memory = arena_create();
    status st = evaluate_files(a, s, memory, err);
    arena_destroy(&memory);
    return st;
}

static int run_evaluate(const args *a, error *err)
{
    trained_model s = {.model = NULL};
    status st = evaluate(a, &s, err);
    trained_model_fini(&s);
    return status_exit_code(st);
}

#define INPUT  "What to evaluate"
#define TELL   "What to tell"
#define OUTPUT "Where to write"

static const flag evaluate_flags[] = {
    {"data", 0, FLAG_PATH, "PATH", INPUT,
     "The examples, all of them; FILE says the same, and both take several paths parted by commas. Default: those of "
     "validation_data_path that validation_dataset_reader reads.",
     0, 0},
    SUBJECT_RANGE_FLAG(INPUT),
    {"config", 0, FLAG_PATH, "CONFIG", INPUT,
     "The model's configuration; default: config.json of the job that made it.", 0, 0},
    SUBJECT_ALLENNLP_FLAGS(INPUT, 'o'),
    ALLENNLP_EVALUATE_FLAGS(INPUT),
    SUBJECT_BATCH_FLAG(INPUT),
    SUBJECT_DEVICE_FLAGS(INPUT),
    {"workers", 0, FLAG_COUNT, "N", INPUT,
     "Processes on this machine that share the batches; the figures are those of one, to the bit. Default: 1.", 1,
     1024},
    {"per-class", 0, FLAG_SWITCH, NULL, TELL, "Precision, recall, F1 and number of labels of each class too.", 0, 0},
    {"errors", 0, FLAG_COUNT, "N", TELL,
     "The N examples with the largest loss too, and where each stands in the data.", 1, 1000000},
    {"temperature", 0, FLAG_SWITCH, NULL, TELL,
     "Fit the temperature that makes the model's probabilities right on these data, which the model should not have "
     "been trained on, and keep it beside the model: predict --temperature fitted takes it.", 0, 0},
    {"json", 0, FLAG_SWITCH, NULL, TELL, "Print JSON where the flags above would print tables.", 0, 0},
    {"output-file", 0, FLAG_PATH, "FILE", OUTPUT,
     "Write the metrics there too, as JSON; of several data as many files, parted by commas.", 0, 0},
    {"predictions-output-file", 0, FLAG_PATH, "FILE", OUTPUT,
     "Write what the model says to each example there, as lines of JSON (predict); likewise.", 0, 0},
    {"auto-names", 0, FLAG_CHOICE, "NONE|METRICS|PREDS|ALL", OUTPUT,
     "Name these files after the data, dev.outputs and dev.preds beside dev.jsonl: those of metrics, of predictions, "
     "or both.", 0, 0},
};

const command command_evaluate = {
    .name = "evaluate",
    .operands = "JOB_DIR|MODEL [FILE]",
    .min_operands = 1,
    .max_operands = 2,
    .summary = "Evaluate a trained model and print its metrics as JSON.",
    .about =
        "Evaluates a model over a whole set of examples and prints its metrics as JSON, or, with --per-class, "
        "--errors or --temperature, as tables. Of a "
        "job dir the final model.safetensors is taken, or the newest checkpoint where training "
        "goes on; model.tar.gz, a checkpoint folder or a .safetensors file may be named as well.",
    .flags = evaluate_flags,
    .n_flags = COUNT_OF(evaluate_flags),
    .needs_passive_waits = true,
    .run = run_evaluate,
};
