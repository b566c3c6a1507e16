/*
 * `tequio predict`: what a model says to each example, one line of JSON an example, as AllenNLP's
 * command of that name gives it.
 */
#include "cli/commands.h"
#include "cli/use/answer_line.h"
#include "cli/use/prediction_line.h"
#include "cli/use/trained_model.h"
#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/base/fs.h"
#include "evaluator/evaluator.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct writer {
    FILE *to;
    const char *path; /* "standard output", or that of --output-file */
    bool with_inputs;
    int64_t limit;    /* examples; 0: all */
    int64_t done;
    buf line;
    answer_lines answers; /* of examples that are parts of questions */
} writer;

static status write_line(writer *w, bool *ret_enough, error *err)
{
    if (w->line.size == 0)
        return OK;
    if (fwrite(w->line.data, 1, w->line.size, w->to) != w->line.size)
        return FAIL(err, E_IO, "write to '%s': %s", w->path, strerror(errno));
    *ret_enough = ++w->done == w->limit;
    return OK;
}

static status take_answer(void *user, const evaluation_predictions *a, bool *ret_enough, error *err)
{
    writer *w = user;
    for (int64_t i = 0; i < a->examples && !*ret_enough; i++) {
        buf_clear(&w->line);
        if (answer_lines_fit(a))
            TRY(answer_lines_take(&w->answers, a, i, w->with_inputs, &w->line, err));
        else
            prediction_line(a, i, w->done, w->with_inputs, &w->line);
        TRY(write_line(w, ret_enough, err));
    }
    return OK;
}

/* The last question has no other behind it. */
static status end_answers(writer *w, error *err)
{
    bool enough = w->limit > 0 && w->done == w->limit;
    buf_clear(&w->line);
    if (!enough)
        answer_lines_end(&w->answers, &w->line);
    return write_line(w, &enough, err);
}

static status predict_into(const args *a, const trained_model *s, writer *w, error *err)
{
    evaluator_request request = {
        .config = s->config,
        .model = s->model,
        .batch_size = args_count(a, "batch-size", 0),
        .batch_key = "--batch-size",
        .data_path = args_text(a, "data"),
        .vocabulary = s->vocabulary,
    };
    dataset_part part;
    TRY(trained_model_part(a, &part, &request.part, err));
    TRY(trained_model_device(s, a, &request.device, err));
    status st = evaluator_predict(&request, take_answer, w, err);
    if (st == OK)
        st = end_answers(w, err);
    answer_lines_fini(&w->answers);
    buf_fini(&w->line);
    return st;
}

/* The file has its name once it is whole. */
static status predict_to_file(const args *a, const trained_model *s, writer *w, error *err)
{
    char *beside = fs_beside(w->path);
    status st = OK;
    w->to = fopen(beside, "we");
    if (!w->to)
        st = FAIL(err, E_IO, "open '%s': %s", w->path, strerror(errno));
    if (st == OK)
        st = predict_into(a, s, w, err);
    if (w->to && fclose(w->to) != 0 && st == OK)
        st = FAIL(err, E_IO, "write to '%s': %s", w->path, strerror(errno));
    if (st == OK && rename(beside, w->path) != 0)
        st = FAIL(err, E_IO, "rename to '%s': %s", w->path, strerror(errno));
    if (st != OK)
        remove(beside);
    free(beside);
    return st;
}

static status predict(const args *a, trained_model *s, error *err)
{
    if (!args_has(a, "data"))
        return FAIL(err, E_USAGE, "predict: --data is missing; it takes the examples");
    TRY(trained_model_find(a->operands[0], s, err));
    TRY(trained_model_configure(s, args_text(a, "config"), err));
    writer w = {.path = args_text(a, "output-file"),
                .with_inputs = args_has(a, "with-inputs"),
                .limit = args_count(a, "limit", 0)};
    if (w.path)
        return predict_to_file(a, s, &w, err);
    w.path = "standard output";
    w.to = stdout;
    return predict_into(a, s, &w, err);
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
     "The examples, as validation_dataset_reader reads them, but all of them.", 0, 0},
    SUBJECT_RANGE_FLAG(INPUT),
    {"limit", 0, FLAG_COUNT, "N", INPUT, "The first so many examples only.", 1, INT64_MAX},
    {"config", 0, FLAG_PATH, "CONFIG", INPUT,
     "The model's configuration; default: config.json of the job that made it.", 0, 0},
    SUBJECT_BATCH_FLAG(INPUT),
    SUBJECT_DEVICE_FLAGS(INPUT),
    {"with-inputs", 0, FLAG_SWITCH, NULL, OUTPUT,
     "Give what the model was shown too, as \"inputs\".", 0, 0},
    {"output-file", 'o', FLAG_PATH, "FILE", OUTPUT,
     "Write there instead of to standard output; FILE is there once it is whole.", 0, 0},
};

const command command_predict = {
    .name = "predict",
    .operands = "JOB_DIR|MODEL",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "Print what a trained model says to each example, as lines of JSON.",
    .about =
        "Runs a trained model over examples and prints one line of JSON for each, in their order: "
        "its number from 0, the label and the probabilities that follow by the loss the model was "
        "trained with, and the outputs of the model by their names. Of a job dir the final "
        "model.safetensors is taken, or the newest checkpoint where training goes on; "
        "JOB_DIR/best, a checkpoint folder "
        "or a .safetensors file may be named as well.",
    .flags = predict_flags,
    .n_flags = COUNT_OF(predict_flags),
    .needs_passive_waits = true,
    .run = run_predict,
};
