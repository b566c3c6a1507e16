/*
 * Tokenizes lines of JSON, {"text": ..., "pair": ...} with pair absent or not, and prints for each everything that
 * there is about its windows; and what the ids of the first are decoded to.
 *
 *   tokenize_lines PATH [MAX_LENGTH STRIDE STRATEGY SIDE] < in > out        strategy and side as numbers
 *   tokenize_lines PATH --packed < in > out                                 the same as numbers of 32 bits (add_packed)
 *   tokenize_lines PATH --time ROUNDS < in                                  prints a round's least processor time, in s
 */
#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/base/json.h"
#include "text/tokenizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct options {
    tokenizer_options encode;
    tokenizer_truncation truncation;
} options;

static json_t *flat(const tokenizer_span *spans, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        json_array_append_new(list, json_integer(spans[i].begin));
        json_array_append_new(list, json_integer(spans[i].end));
    }
    return list;
}

#define LIST(values, n)                                                                                      \
    ({                                                                                                       \
        json_t *list_ = json_array();                                                                        \
        for (size_t i_ = 0; i_ < (n); i_++)                                                                  \
            json_array_append_new(list_, json_integer((values)[i_]));                                        \
        list_;                                                                                               \
    })

static json_t *window(const tokenizer_encoding *e)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "ids", LIST(e->ids, e->n), "type_ids",
                     LIST(e->type_ids, e->n), "words", LIST(e->words, e->n), "sequences", LIST(e->sequences, e->n),
                     "special", LIST(e->special, e->n), "attention", LIST(e->attention, e->n), "bytes",
                     flat(e->bytes, e->n), "characters", flat(e->characters, e->n));
}

static json_t *answer(const tokenizer *t, const tokenizer_encodings *all, error *err)
{
    json_t *windows = json_array();
    for (size_t i = 0; i < all->n; i++)
        json_array_append_new(windows, window(&all->at[i]));
    buf decoded[2] = {BUF_INIT, BUF_INIT};
    for (int skip = 0; skip < 2; skip++)
        if (tokenizer_decode(t, all->at[0].ids, all->at[0].n, skip, &decoded[skip], err) != OK)
            fprintf(stderr, "decode: %s\n", err->text);
    json_t *out = json_pack("{s:o, s:o, s:o}", "windows", windows, "decoded",
                            json_stringn(decoded[0].data ? decoded[0].data : "", decoded[0].size), "skipped",
                            json_stringn(decoded[1].data ? decoded[1].data : "", decoded[1].size));
    buf_fini(&decoded[0]);
    buf_fini(&decoded[1]);
    return out;
}

static status encode(const tokenizer *t, const json_t *line, const options *o, tokenizer_scratch *s,
                     tokenizer_encodings *ret, error *err)
{
    const json_t *text = json_object_get(line, "text"), *pair = json_object_get(line, "pair");
    tokenizer_input first = {json_string_value(text), json_string_length(text)};
    tokenizer_input second = {json_string_value(pair), json_string_length(pair)};
    return tokenizer_encode(t, &first, json_is_string(pair) ? &second : NULL, &o->encode, s, ret, err);
}

/* --- packed: what a whole corpus takes a tenth of the time with --- */

static void add_number(buf *to, int64_t value)
{
    int32_t number = (int32_t)value;
    buf_add(to, &number, sizeof number);
}

#define ADD_NUMBERS(to, values, n)                                                                           \
    do {                                                                                                     \
        for (size_t i_ = 0; i_ < (n); i_++)                                                                  \
            add_number(to, (values)[i_]);                                                                    \
    } while (0)

static void add_spans(const tokenizer_span *spans, size_t n, buf *to)
{
    for (size_t i = 0; i < n; i++) {
        add_number(to, spans[i].begin);
        add_number(to, spans[i].end);
    }
}

/* How many tokens, then the lists of a window in the order that window() has. */
static void add_window(const tokenizer_encoding *e, buf *to)
{
    add_number(to, (int64_t)e->n);
    ADD_NUMBERS(to, e->ids, e->n);
    ADD_NUMBERS(to, e->type_ids, e->n);
    ADD_NUMBERS(to, e->words, e->n);
    ADD_NUMBERS(to, e->sequences, e->n);
    ADD_NUMBERS(to, e->special, e->n);
    ADD_NUMBERS(to, e->attention, e->n);
    add_spans(e->bytes, e->n, to);
    add_spans(e->characters, e->n, to);
}

/* What follows in bytes, then the windows, and the text that the first is decoded to; nothing follows an error. */
static void print_packed(const tokenizer *t, const json_t *lines, const options *o)
{
    tokenizer_scratch *s = tokenizer_scratch_create();
    buf all = BUF_INIT;
    for (size_t i = 0; i < json_array_size(lines); i++) {
        tokenizer_encodings made;
        buf_clear(&all);
        if (encode(t, json_array_get(lines, i), o, s, &made, NULL) == OK) {
            for (size_t k = 0; k < made.n; k++)
                add_window(&made.at[k], &all);
            if (tokenizer_decode(t, made.at[0].ids, made.at[0].n, false, &all, NULL) != OK)
                buf_clear(&all);
        }
        uint32_t bytes = (uint32_t)all.size;
        fwrite(&bytes, sizeof bytes, 1, stdout);
        fwrite(all.data, 1, all.size, stdout);
    }
    buf_fini(&all);
    tokenizer_scratch_destroy(&s);
}

static void print(const tokenizer *t, const json_t *lines, const options *o)
{
    tokenizer_scratch *s = tokenizer_scratch_create();
    for (size_t i = 0; i < json_array_size(lines); i++) {
        error err = ERROR_INIT;
        tokenizer_encodings all;
        json_t *out = encode(t, json_array_get(lines, i), o, s, &all, &err) == OK
                          ? answer(t, &all, &err)
                          : json_pack("{s:s}", "error", err.text);
        json_dumpf(out, stdout, JSON_COMPACT);
        putchar('\n');
        json_decref(out);
    }
    tokenizer_scratch_destroy(&s);
}

/* Of this thread: what else runs on the machine does not count. */
static int64_t processor_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void measure(const tokenizer *t, const json_t *lines, const options *o, int rounds)
{
    int64_t best = INT64_MAX;
    size_t tokens = 0;
    for (int round = 0; round < rounds; round++) {
        tokenizer_scratch *s = tokenizer_scratch_create();
        int64_t begin = processor_us();
        tokens = 0;
        for (size_t i = 0; i < json_array_size(lines); i++) {
            tokenizer_encodings all;
            if (encode(t, json_array_get(lines, i), o, s, &all, NULL) == OK)
                tokens += all.at[0].n;
        }
        int64_t took = processor_us() - begin;
        best = took < best ? took : best;
        tokenizer_scratch_destroy(&s);
    }
    printf("%.6f %zu\n", (double)best / 1e6, tokens);
}

int main(int argc, char **argv)
{
    error err = ERROR_INIT;
    tokenizer *t = NULL;
    options o = {.encode = {.no_special_tokens = false}};
    bool is_packed = argc == 3 && strcmp(argv[2], "--packed") == 0;
    bool times = argc == 4 && strcmp(argv[2], "--time") == 0;
    if (argc < 2 || tokenizer_open(argv[1], &t, &err) != OK) {
        fprintf(stderr, "tokenize_lines: %s\n", argc < 2 ? "PATH is missing" : err.text);
        return 1;
    }
    if (argc == 6) {
        o.truncation = (tokenizer_truncation){.max_length = atoi(argv[2]),
                                              .stride = atoi(argv[3]),
                                              .strategy = (tokenizer_strategy)atoi(argv[4]),
                                              .side = (tokenizer_side)atoi(argv[5])};
        o.encode.truncation = &o.truncation;
    }
    json_t *lines = json_array(), *line;
    while ((line = json_loadf(stdin, JSON_DISABLE_EOF_CHECK | JSON_ALLOW_NUL, NULL)) != NULL)
        json_array_append_new(lines, line);
    if (times)
        measure(t, lines, &o, atoi(argv[3]));
    else if (is_packed)
        print_packed(t, lines, &o);
    else
        print(t, lines, &o);
    json_decref(lines);
    tokenizer_destroy(&t);
    return 0;
}
