/*
 * `tequio predict`: what a model says to each example, one line of JSON an example, as AllenNLP's
 * command of that name gives it.
 */
#include "cli/commands.h"
#include "cli/use/allennlp_flags.h"
#include "cli/use/predictions.h"
#include "cli/use/temperature.h"
#include "cli/use/trained_model.h"
#include "common/base/alloc.h"
#include "common/base/log.h"

#include <string.h>

static status predict(const args *a, trained_model *s, error *err)
{
    const char *data = NULL;
    TRY(trained_model_data(a, &data, err));
    if (!data)
        return FAIL(err, E_USAGE, "predict: --data is missing; it takes the examples");
    if (args_has(a, "predictor"))
        LOG_W("ALLENNLP", "--predictor %s is ignored: lines of JSON follow from the model's loss",
              args_text(a, "predictor"));
    const char *choice = args_text(a, "dataset-reader-choice");
    TRY(allennlp_flags_check(a, err));
    TRY(trained_model_take(s, a, err));
    if (choice && strcmp(choice, "train") == 0)
        TRY(trained_model_read_as_training(s, err));
    evaluator_request request = {
        .config = s->config,
        .model = s->model,
        .batch_size = args_count(a, "batch-size", 0),
        .batch_key = "--batch-size",
        .data_path = data,
        .vocabulary = s->vocabulary,
        .whole_length = args_has(a, "with-inputs"),
    };
    dataset_part part;
    TRY(trained_model_part(a, &part, &request.part, err));
    TRY(trained_model_device(s, a, &request.device, err));
    predictions how = {.path = args_text(a, "output-file"),
                       .with_inputs = args_has(a, "with-inputs"),
                       .is_silent = args_has(a, "silent"),
                       .limit = args_count(a, "limit", 0)};
    if (args_has(a, "temperature"))
        TRY(temperature_read(s, args_text(a, "temperature"), &how.temperature, err));
    return predictions_write(&how, &request, err);
}

static int run_predict(const args *a, error *err)
{
    trained_model s = {.model = NULL};
    status st = predict(a, &s, err);
    trained_model_fini(&s);
    return status_exit_code(st);
}

#define INPUT  "What to predict"
#define OUTPUT "Where to write"

static const flag predict_flags[] = {
    {"data", 0, FLAG_PATH, "PATH", INPUT,
     "The examples, as validation_dataset_reader reads them, but all of them; FILE says the same.", 0, 0},
    SUBJECT_RANGE_FLAG(INPUT),
    {"limit", 0, FLAG_COUNT, "N", INPUT, "The first so many examples only.", 1, INT64_MAX},
    {"config", 0, FLAG_PATH, "CONFIG", INPUT,
     "The model's configuration; default: config.json of the job that made it.", 0, 0},
    SUBJECT_ALLENNLP_FLAGS(INPUT, 0),
    SUBJECT_BATCH_FLAG(INPUT),
    SUBJECT_DEVICE_FLAGS(INPUT),
    {"use-dataset-reader", 0, FLAG_SWITCH, NULL, INPUT, "As AllenNLP's flag: it is always so.", 0, 0},
    {"dataset-reader-choice", 0, FLAG_CHOICE, "train|validation", INPUT,
     "Which reader: train is dataset_reader, without what only training does. Default: validation.", 0, 0},
    ALLENNLP_PREDICT_FLAGS(INPUT),
    {"predictor", 0, FLAG_TEXT, "NAME", INPUT,
     "As AllenNLP's flag; nothing depends on it, and a warning says so.", 0, 0},
    {"with-inputs", 0, FLAG_SWITCH, NULL, OUTPUT,
     "Give what the model was shown too, as \"inputs\".", 0, 0},
    {"temperature", 0, FLAG_TEXT, "T|fitted", OUTPUT,
     "Divide logits by T before they become probabilities; fitted: as evaluate --temperature found it for these "
     "weights.", 0, 0},
    {"silent", 0, FLAG_SWITCH, NULL, OUTPUT, "Print nothing on standard output.", 0, 0},
    {"output-file", 'o', FLAG_PATH, "FILE", OUTPUT,
     "Write there instead of to standard output; FILE is there once it is whole.", 0, 0},
};

const command command_predict = {
    .name = "predict",
    .operands = "JOB_DIR|MODEL [FILE]",
    .min_operands = 1,
    .max_operands = 2,
    .summary = "Print what a trained model says to each example, as lines of JSON.",
    .about =
        "Runs a trained model over examples and prints one line of JSON for each, in their order: "
        "its number from 0, the label and the probabilities that follow by the loss the model was "
        "trained with, and the outputs of the model by their names. Of a job dir the final "
        "model.safetensors is taken, or the newest checkpoint where training goes on; "
        "JOB_DIR/best, model.tar.gz, a checkpoint folder "
        "or a .safetensors file may be named as well.",
    .flags = predict_flags,
    .n_flags = COUNT_OF(predict_flags),
    .needs_passive_waits = true,
    .run = run_predict,
};
