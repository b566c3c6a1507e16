/* `tequio tokenize`: what tokens a text becomes, and from where each comes. */
#include "cli/commands.h"
#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/json.h"
#include "common/config/huggingface.h"
#include "text/tokenizer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_LIMIT = 1 << 30 };

typedef struct request {
    const tokenizer *tokenizer;
    tokenizer_scratch *scratch;
    tokenizer_options options;
    bool as_json, in_bytes;
} request;

static tokenizer_span span_of(const request *r, const tokenizer_encoding *e, size_t i)
{
    return r->in_bytes ? e->bytes[i] : e->characters[i];
}

static json_t *token_text(const request *r, int32_t id)
{
    size_t bytes = 0;
    const char *text = tokenizer_text(r->tokenizer, id, &bytes);
    return json_stringn(text ? text : "", bytes);
}

static status print_json(const request *r, const tokenizer_encoding *e, error *err)
{
    json_t *tokens = json_array(), *ids = json_array(), *offsets = json_array();
    for (size_t i = 0; i < e->n; i++) {
        tokenizer_span span = span_of(r, e, i);
        json_array_append_new(tokens, token_text(r, e->ids[i]));
        json_array_append_new(ids, json_integer(e->ids[i]));
        json_array_append_new(offsets, json_pack("[I, I]", (json_int_t)span.begin, (json_int_t)span.end));
    }
    json_t *line = json_pack("{s:o, s:o, s:o}", "tokens", tokens, "ids", ids, "offsets", offsets);
    int failed = json_dumpf(line, stdout, JSON_COMPACT) || putchar('\n') == EOF;
    json_decref(line);
    return failed ? FAIL(err, E_IO, "write to standard output: %s", strerror(errno)) : OK;
}

static void print_table(const request *r, const tokenizer_encoding *e)
{
    for (size_t i = 0; i < e->n; i++) {
        tokenizer_span span = span_of(r, e, i);
        char place[64] = "";
        if (e->sequences[i] >= 0)
            snprintf(place, sizeof place, "%u-%u", (unsigned)span.begin, (unsigned)span.end);
        json_t *text = token_text(r, e->ids[i]);
        char *quoted = json_dumps(text, JSON_ENCODE_ANY); /* control characters are escaped */
        printf("%7d  %-13s %s\n", e->ids[i], place, quoted);
        free(quoted);
        json_decref(text);
    }
}

static status show(const request *r, const char *text, size_t bytes, const tokenizer_input *pair, error *err)
{
    tokenizer_encodings all;
    tokenizer_input input = {text, bytes};
    TRY(tokenizer_encode(r->tokenizer, &input, pair, &r->options, r->scratch, &all, err));
    if (r->as_json)
        return print_json(r, &all.at[0], err);
    print_table(r, &all.at[0]);
    return OK;
}

/* A line of the file is a text; between two stands an empty line in a table. */
static status show_file(const request *r, const char *path, error *err)
{
    buf text = BUF_INIT;
    TRY(fs_read(path, FILE_LIMIT, &text, err));
    status st = OK;
    size_t number = 0;
    for (size_t at = 0; at < text.size && st == OK; number++) {
        const char *line = text.data + at, *end = memchr(line, '\n', text.size - at);
        size_t bytes = end ? (size_t)(end - line) : text.size - at;
        if (!r->as_json && number > 0)
            putchar('\n');
        st = show(r, line, bytes, NULL, err);
        if (st != OK)
            error_prepend(err, "'%s': line %zu", path, number + 1);
        at += bytes + 1;
    }
    buf_fini(&text);
    return st;
}

/* By its path, or by a name that Hugging Face's cache has. */
static status open_tokenizer(const char *name, tokenizer **ret, error *err)
{
    const char *path = name, *folder = NULL;
    arena *memory = arena_create();
    status st = OK;
    if (!fs_exists(name) && huggingface_find(name, NULL, memory, &folder, NULL) == OK)
        path = folder;
    else if (!fs_exists(name))
        st = FAIL(err, E_DATA,
                  "tokenize: there is no '%s', nor has Hugging Face's cache a model of that name; `hf download %s` "
                  "brings one",
                  name, name);
    if (st == OK)
        st = tokenizer_open(path, ret, err);
    arena_destroy(&memory);
    return st;
}

static status tokenize(const args *a, tokenizer **t, request *r, error *err)
{
    static const tokenizer_truncation whole = {.max_length = 0};
    static const tokenizer_padding none = {.is_on = false};
    const char *text = args_text(a, "text"), *file = args_text(a, "file"), *pair = args_text(a, "pair");
    if (!text == !file)
        return FAIL(err, E_USAGE, "tokenize: one of --text TEXT and --file FILE must be given");
    if (pair && !text)
        return FAIL(err, E_USAGE, "tokenize: --pair goes with --text");
    TRY(open_tokenizer(a->operands[0], t, err));
    r->tokenizer = *t;
    r->as_json = args_has(a, "json");
    r->in_bytes = args_has(a, "bytes");
    r->options = (tokenizer_options){.no_special_tokens = args_has(a, "no-special-tokens"),
                                     .truncation = &whole,
                                     .padding = &none};
    if (file)
        return show_file(r, file, err);
    tokenizer_input second = {pair, pair ? strlen(pair) : 0};
    return show(r, text, strlen(text), pair ? &second : NULL, err);
}

static int run_tokenize(const args *a, error *err)
{
    tokenizer *t = NULL;
    request r = {.scratch = tokenizer_scratch_create()};
    status st = tokenize(a, &t, &r, err);
    tokenizer_scratch_destroy(&r.scratch);
    tokenizer_destroy(&t);
    return status_exit_code(st);
}

#define INPUT  "What to read"
#define OUTPUT "What to show"

static const flag tokenize_flags[] = {
    {"text", 0, FLAG_TEXT, "TEXT", INPUT, "The text.", 0, 0},
    {"pair", 0, FLAG_TEXT, "TEXT", INPUT, "A second text behind it, as a model that reads two is shown them.", 0, 0},
    {"file", 0, FLAG_PATH, "FILE", INPUT, "A file; each of its lines is a text.", 0, 0},
    {"no-special-tokens", 0, FLAG_SWITCH, NULL, INPUT, "Add neither [CLS] nor its kin.", 0, 0},
    {"json", 0, FLAG_SWITCH, NULL, OUTPUT,
     "Print a line of JSON for each text: \"tokens\", \"ids\" and \"offsets\".", 0, 0},
    {"bytes", 0, FLAG_SWITCH, NULL, OUTPUT, "Count offsets in bytes instead of code points.", 0, 0},
};

const command command_tokenize = {
    .name = "tokenize",
    .operands = "PATH",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "Show what tokens a text becomes.",
    .about =
        "Reads a text as Hugging Face's tokenizers do, and prints of each token its id, the part of the text that "
        "it comes from, and its own text. PATH is a tokenizer.json, BERT's vocab.txt, GPT-2's vocab.json with "
        "merges.txt beside it, a folder that has one of them, or the name of a model in Hugging Face's cache.\n\n"
        "Texts are shown whole: neither cut to the model's length nor padded to it.",
    .flags = tokenize_flags,
    .n_flags = COUNT_OF(tokenize_flags),
    .run = run_tokenize,
};
