/*
 * `tequio generate`: a trained language model goes on with a text. The prompt and what follows it
 * go to standard output as they come.
 */
#include "cli/commands.h"
#include "cli/use/trained_model.h"
#include "common/base/alloc.h"
#include "evaluator/generation.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH = 500 };

static status print(const char *text, size_t bytes, error *err)
{
    if (bytes && fwrite(text, 1, bytes, stdout) != bytes)
        return FAIL(err, E_IO, "write to standard output: %s", strerror(errno));
    return fflush(stdout) == 0 ? OK : FAIL(err, E_IO, "write to standard output: %s", strerror(errno));
}

static status print_tokens(generation *g, int64_t length, buf *text, error *err)
{
    bool ended = false;
    for (int64_t i = 0; i < length && !ended; i++) {
        buf_clear(text);
        TRY(generation_next(g, text, &ended, err));
        TRY(print(text->data, text->size, err));
    }
    buf_clear(text);
    TRY(generation_end(g, text, err));
    buf_adds(text, "\n");
    return print(text->data, text->size, err);
}

static status print_all(generation *g, const char *prompt, int64_t length, error *err)
{
    buf text = BUF_INIT;
    TRY(generation_prompt(g, prompt, err));
    TRY(print(prompt, strlen(prompt), err));
    status st = print_tokens(g, length, &text, err);
    buf_fini(&text);
    return st;
}

static status read_temperature(const args *a, double *ret, error *err)
{
    const char *text = args_text(a, "temperature");
    char *end = NULL;
    *ret = text ? strtod(text, &end) : 1.0;
    if (text && (end == text || *end || !isfinite(*ret) || *ret < 0.0))
        return FAIL(err, E_USAGE, "generate: --temperature: '%s' is no number >= 0", text);
    return OK;
}

static status generate(const args *a, trained_model *s, weights **w, generation **g, error *err)
{
    const char *prompt = args_text(a, "prompt");
    if (!prompt || !prompt[0])
        return FAIL(err, E_USAGE,
                    "generate: --prompt is %s; it takes the text to go on with, one character at "
                    "least",
                    prompt ? "empty" : "missing");
    generation_options options = {
        .top_k = args_count(a, "top-k", 0),
        .seed = (uint64_t)args_count(a, "seed", 0),
    };
    TRY(read_temperature(a, &options.temperature, err));
    TRY(trained_model_find(a->operands[0], s, err));
    TRY(trained_model_configure(s, args_text(a, "config"), NULL, err));
    TRY(weights_open(s->model, w, err));
    options.config = s->config;
    options.vocabulary = s->vocabulary;
    options.weights = *w;
    TRY(trained_model_device(s, a, &options.device, err));
    TRY(generation_open(&options, g, err));
    return print_all(*g, prompt, args_count(a, "length", LENGTH), err);
}

static int run_generate(const args *a, error *err)
{
    trained_model s = {.model = NULL};
    weights *w = NULL;
    generation *g = NULL;
    status st = generate(a, &s, &w, &g, err);
    generation_close(&g);
    weights_close(&w);
    trained_model_fini(&s);
    return status_exit_code(st);
}

#define INPUT "What to go on with"
#define DRAW  "How to draw"

static const flag generate_flags[] = {
    {"prompt", 0, FLAG_TEXT, "TEXT", INPUT, "The beginning; it is printed too.", 0, 0},
    {"length", 0, FLAG_COUNT, "N", INPUT, "Tokens to add, unless the text ends before; default: 500.", 0, INT64_MAX},
    {"config", 0, FLAG_PATH, "CONFIG", INPUT,
     "The model's configuration; default: config.json of the job that made it.", 0, 0},
    {"temperature", 0, FLAG_TEXT, "T", DRAW,
     "Below 1 likely tokens get likelier, above 1 less so; 0 takes the best one. Default: 1.", 0, 0},
    {"top-k", 0, FLAG_COUNT, "K", DRAW, "Draw from the K best tokens only.", 1, INT64_MAX},
    {"seed", 0, FLAG_COUNT, "S", DRAW, "Another seed, another text; default: 0.", 0, INT64_MAX},
    SUBJECT_DEVICE_FLAGS(DRAW),
};

const command command_generate = {
    .name = "generate",
    .operands = "JOB_DIR|MODEL",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "Go on with a text by a trained language model.",
    .about =
        "Prints a prompt and, as it comes, what a language model that was trained on text goes on "
        "with: each token is drawn from the scores the model gives behind the last ones, as many as "
        "its context holds. It ends with the token that dataset_reader.end_of_text names. "
        "The same seed gives the same text. Of a job dir the final "
        "model.safetensors is taken, or the newest checkpoint where training goes on; "
        "JOB_DIR/best, a checkpoint folder or a .safetensors file may be named as well.",
    .flags = generate_flags,
    .n_flags = COUNT_OF(generate_flags),
    .needs_passive_waits = true,
    .run = run_generate,
};
