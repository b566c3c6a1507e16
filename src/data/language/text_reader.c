/*
 * Text as examples of a language model (reader.h): `context` tokens and, as labels, the tokens that follow each of
 * them. The texts of all files are turned into numbers at opening, one behind the other, so everything that can be
 * wrong with them is found then.
 */
#include "data/reader.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "data/index/shards.h"
#include "data/language/language_tokens.h"

#include <stdio.h>
#include <stdlib.h>

enum { FIELD_TOKENS, FIELD_LABEL, FIELDS };

typedef struct text_reader {
    dataset base;
    language_tokens *kind;
    token_array tokens;             /* of all files */
    size_t first;                   /* where the part that is read begins */
    int64_t context, stride;
} text_reader;

static void close_reader(dataset *d)
{
    text_reader *r = (text_reader *)d;
    language_tokens_close(&r->kind);
    token_array_fini(&r->tokens);
    free(r);
}

static status read_example(const dataset *d, int64_t example, void *const *ret, error *err)
{
    (void)err;
    const text_reader *r = (const text_reader *)d;
    size_t at = r->first + (size_t)(example * r->stride), n = (size_t)r->context;
    token_array_read(&r->tokens, at, n, ret[FIELD_TOKENS]);
    token_array_read(&r->tokens, at + 1, n, ret[FIELD_LABEL]);
    return OK;
}

static const char *vocabulary(const dataset *d)
{
    return language_tokens_vocabulary(((const text_reader *)d)->kind);
}

static bool label_word(const dataset *d, int64_t label, buf *to)
{
    return language_tokens_text(((const text_reader *)d)->kind, label, to);
}

/* The tokens that are read, which are numbered by the vocabulary. */
static void contents(const dataset *d, content_digest *ret)
{
    const text_reader *r = (const text_reader *)d;
    size_t n = (size_t)((d->examples - 1) * r->stride + r->context + 1), width = r->tokens.width;
    content_digest_add(ret, (const char *)r->tokens.at + r->first * width, n * width);
}

/* Of the files' texts, one behind the other. */
static void place(const dataset *d, int64_t example, buf *ret)
{
    const text_reader *r = (const text_reader *)d;
    buf_addf(ret, "token %lld", (long long)r->first + (long long)example * (long long)r->stride);
}

static const reader_ops text_ops = {.read = read_example,
                                    .close = close_reader,
                                    .contents = contents,
                                    .vocabulary = vocabulary,
                                    .label_word = label_word,
                                    .place = place};

/* Which part of the tokens is read, and how many examples it gives. */
static status text_reader_cut(text_reader *r, const text_reader_options *o, const char *path, error *err)
{
    const dataset_part all = {.to = 1.0}, *part = o->part ? o->part : &all;
    int64_t first = 0, end = 0, n = (int64_t)r->tokens.n;
    TRY(reader_range(part, n, &first, &end, err));
    if (end - first <= o->context)
        return FAIL(err, E_DATA,
                    "'%s': has %lld tokens%s; an example of context %lld needs %lld", path,
                    (long long)(end - first), end - first < n ? " in the range" : "",
                    (long long)o->context, (long long)o->context + 1);
    r->first = (size_t)first;
    r->base.examples = (end - first - o->context - 1) / o->stride + 1;
    if (part->limit > 0 && part->limit < r->base.examples)
        r->base.examples = part->limit;
    return OK;
}

void text_reader_fields(int64_t context, int64_t size, data_field ret[2])
{
    ret[FIELD_TOKENS] =
        (data_field){.name = "input_ids", .dtype = DT_I64, .rank = 1, .dim = {context}};
    ret[FIELD_LABEL] = ret[FIELD_TOKENS];
    ret[FIELD_LABEL].name = "label";
    ret[FIELD_LABEL].classes = size;
}

static status tokenize(text_reader *r, const text_reader_options *o, const record_source *texts, size_t n,
                       const char *path, error *err)
{
    int64_t began_us = clock_us();
    language_options how = {.tokenizer = o->tokenizer,
                            .option = o->option,
                            .end_of_text = o->end_of_text,
                            .vocabulary = o->vocabulary ? o->vocabulary->text : NULL,
                            .origin = o->vocabulary ? o->vocabulary->origin : NULL};
    TRY(language_tokens_open(&how, texts, n, &r->kind, err));
    TRY(language_tokens_encode(r->kind, texts, n, &r->tokens, err));
    LOG_I("TOKENS", "path=%s files=%zu tokens=%zu bytes_each=%zu seconds=%.3f", path, n, r->tokens.n, r->tokens.width,
          (double)(clock_us() - began_us) * 1e-6);
    return OK;
}

/* All files that are not empty. */
static status open_texts(text_reader *r, const text_reader_options *o, const shards *files, const char *path,
                         error *err)
{
    record_source *texts = xcalloc(files->n + 1, sizeof *texts);
    size_t n = 0;
    for (size_t i = 0; i < files->n; i++) {
        texts[n] = files->at[i].source;
        n += texts[n].bytes > 0;
    }
    status st = n ? tokenize(r, o, texts, n, path, err) : FAIL(err, E_DATA, "'%s': is empty", path);
    free(texts);
    return st;
}

static status open_text(text_reader *r, const text_reader_options *o, const char *path, error *err)
{
    shards files;
    TRY(shards_open(path, false, &files, err));
    status st = open_texts(r, o, &files, path, err);
    shards_close(&files);
    TRY(st);
    r->context = o->context;
    r->stride = o->stride;
    TRY(text_reader_cut(r, o, path, err));
    text_reader_fields(o->context, language_tokens_size(r->kind), r->base.fields);
    r->base.n_fields = FIELDS;
    return OK;
}

status text_reader_open(const text_reader_options *options, const char *path, dataset **ret, error *err)
{
    text_reader *r = xcalloc(1, sizeof *r);
    r->base.ops = &text_ops;
    status st = open_text(r, options, path, err);
    if (st == OK)
        *ret = &r->base;
    else
        close_reader(&r->base);
    return st;
}

bool text_reader_learns(const config *reader)
{
    return language_tokens_learns(config_str(reader, "tokenizer")) && !config_has(reader, "vocabulary");
}

status text_reader_configure(const reader_request *request, dataset **ret, error *err)
{
    const config *reader = request->reader;
    char option[64];
    snprintf(option, sizeof option, "%s.tokenizer", config_path(reader));
    text_reader_options options = {
        .tokenizer = config_str(reader, "tokenizer"),
        .option = option,
        .end_of_text = config_str(reader, "end_of_text"),
        .vocabulary = request->vocabulary,
        .context = config_int(reader, "context"),
        .part = &request->part,
    };
    options.stride =
        config_has(reader, "stride") ? config_int(reader, "stride") : options.context;
    return text_reader_open(&options, request->path, ret, err);
}
