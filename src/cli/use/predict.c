/*
 * `tequio predict`: what a model says to each example, one line of JSON an example, as AllenNLP's
 * command of that name gives it. Scores of classes are named "logits" and come with the label they
 * give and, where an example has one row of them, with the classes' probabilities; every other
 * output of a model is given by its name.
 */
#include "cli/commands.h"
#include "cli/use/subject.h"
#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/base/fs.h"
#include "evaluator/evaluator.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
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
} writer;

/* JSON knows no infinities and no NaN. */
static void add_number(buf *b, double x)
{
    if (isfinite(x))
        buf_addf(b, "%.9g", x);
    else
        buf_adds(b, "null");
}

static void add_element(buf *b, dtype t, const void *data, int64_t i)
{
    switch (t) {
    case DT_F32:
        add_number(b, (double)((const float *)data)[i]);
        break;
    case DT_I64:
        buf_addf(b, "%" PRId64, ((const int64_t *)data)[i]);
        break;
    case DT_I32:
        buf_addf(b, "%" PRId32, ((const int32_t *)data)[i]);
        break;
    case DT_BOOL:
        buf_adds(b, ((const unsigned char *)data)[i] ? "true" : "false");
        break;
    default:
        buf_addf(b, "%u", ((const unsigned char *)data)[i]);
    }
}

/* The axes from `axis` on, as nested lists; *at is the next element. */
static void add_nested(buf *b, const evaluation_array *o, int32_t axis, int64_t *at)
{
    if (axis == o->shape.rank) {
        add_element(b, o->dtype, o->data, (*at)++);
        return;
    }
    buf_adds(b, "[");
    for (int64_t i = 0; i < o->shape.dim[axis]; i++) {
        buf_adds(b, i ? ", " : "");
        add_nested(b, o, axis + 1, at);
    }
    buf_adds(b, "]");
}

static int64_t largest(const float *scores, int64_t n)
{
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++)
        best = scores[i] > scores[best] ? i : best;
    return best;
}

static void add_probabilities(buf *b, const float *scores, int64_t n)
{
    double top = (double)scores[largest(scores, n)], sum = 0.0;
    for (int64_t i = 0; i < n; i++)
        sum += exp((double)scores[i] - top);
    for (int64_t i = 0; i < n; i++) {
        buf_adds(b, i ? ", " : "");
        add_number(b, exp((double)scores[i] - top) / sum);
    }
}

/* Classes lie along the last axis; each row before it gives a label. */
static void add_labels(buf *b, const evaluation_array *o, const float *scores,
                       int64_t rows, int64_t classes)
{
    buf_adds(b, ", \"label\": ");
    buf_adds(b, o->shape.rank > 2 ? "[" : "");
    for (int64_t i = 0; i < rows; i++)
        buf_addf(b, "%s%" PRId64, i ? ", " : "", largest(scores + i * classes, classes));
    buf_adds(b, o->shape.rank > 2 ? "]" : "");
    if (o->shape.rank > 2)
        return;
    buf_adds(b, ", \"probs\": [");
    add_probabilities(b, scores, classes);
    buf_adds(b, "]");
}

static void add_array(buf *b, const evaluation_array *o, int64_t example)
{
    int64_t at = example * (graph_shape_elements(&o->shape) / o->shape.dim[0]);
    buf_addf(b, ", \"%s\": ", o->name);
    add_nested(b, o, 1, &at);
}

static void add_output(buf *b, const evaluation_array *o, int64_t example)
{
    int64_t n = graph_shape_elements(&o->shape) / o->shape.dim[0], at = example * n;
    int64_t classes = o->shape.dim[o->shape.rank - 1];
    bool is_scores = strcmp(o->name, "logits") == 0 && o->dtype == DT_F32 && o->shape.rank > 1;
    if (is_scores)
        add_labels(b, o, (const float *)o->data + at, n / classes, classes);
    add_array(b, o, example);
}

static void add_inputs(buf *b, const evaluation_answer *a, int64_t example)
{
    buf inputs = BUF_INIT;
    for (size_t i = 0; i < a->n_inputs; i++)
        add_array(&inputs, &a->inputs[i], example);
    buf_addf(b, ", \"inputs\": {%s}", inputs.data + 2); /* without the first comma */
    buf_fini(&inputs);
}

static status take_answer(void *user, const evaluation_answer *a, bool *ret_enough, error *err)
{
    writer *w = user;
    for (int64_t i = 0; i < a->examples && !*ret_enough; i++) {
        buf_clear(&w->line);
        buf_addf(&w->line, "{\"example\": %" PRId64, w->done);
        for (size_t o = 0; o < a->n_outputs; o++)
            add_output(&w->line, &a->outputs[o], i);
        if (w->with_inputs)
            add_inputs(&w->line, a, i);
        buf_adds(&w->line, "}\n");
        if (fwrite(w->line.data, 1, w->line.size, w->to) != w->line.size)
            return FAIL(err, E_IO, "write to '%s': %s", w->path, strerror(errno));
        *ret_enough = ++w->done == w->limit;
    }
    return OK;
}

static status predict_into(const args *a, const subject *s, writer *w, error *err)
{
    evaluator_request request = {
        .config = s->config,
        .model = s->model,
        .data_path = args_text(a, "data"),
        .vocabulary = s->vocabulary,
    };
    TRY(subject_device(s, a, &request.device, err));
    status st = evaluator_predict(&request, take_answer, w, err);
    buf_fini(&w->line);
    return st;
}

/* The file has its name once it is whole. */
static status predict_to_file(const args *a, const subject *s, writer *w, error *err)
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

static status predict(const args *a, subject *s, error *err)
{
    if (!args_has(a, "data"))
        return FAIL(err, E_USAGE, "predict: --data is missing; it takes the examples");
    TRY(subject_find(a->operands[0], s, err));
    TRY(subject_configure(s, args_text(a, "config"), err));
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
    subject s = {.model = NULL};
    status st = predict(a, &s, err);
    subject_fini(&s);
    return status_exit_code(st);
}

#define INPUT  "What to predict"
#define OUTPUT "Where to write"

static const flag predict_flags[] = {
    {"data", 0, FLAG_PATH, "PATH", INPUT,
     "The examples, as validation_dataset_reader reads them.", 0, 0},
    {"limit", 0, FLAG_COUNT, "N", INPUT, "The first so many examples only.", 1, INT64_MAX},
    {"config", 0, FLAG_PATH, "CONFIG", INPUT,
     "The model's configuration; default: config.json of the job that made it.", 0, 0},
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
        "its number from 0, the label, the probabilities and the logits of a classifier, otherwise "
        "the outputs of the model by their names. Of a job dir the final model.safetensors is "
        "taken, or the newest checkpoint where training goes on; JOB_DIR/best, a checkpoint folder "
        "or a .safetensors file may be named as well.",
    .flags = predict_flags,
    .n_flags = COUNT_OF(predict_flags),
    .needs_passive_waits = true,
    .run = run_predict,
};
