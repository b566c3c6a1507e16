/*
 * Text as examples of a language model (reader.h): `context` tokens and, as labels, the tokens that follow each of
 * them. The texts of all files are turned into numbers when they are opened for the first time, one behind the other,
 * so everything that can be wrong with them is found then; these are kept (index/kept_arrays.h).
 */
#include "data/reader.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "data/index/kept_arrays.h"
#include "data/index/shards.h"
#include "data/language/language_tokens.h"

#include <stdio.h>
#include <stdlib.h>

enum { FIELD_TOKENS, FIELD_LABEL, FIELDS };

typedef struct text_reader {
    dataset base;
    language_tokens *kind;
    kept_arrays kept;
    token_array tokens;             /* of all files; they lie in `kept` */
    size_t first;                   /* where the part that is read begins */
    int64_t context, stride;
} text_reader;

static void close_reader(dataset *d)
{
    text_reader *r = (text_reader *)d;
    language_tokens_close(&r->kind);
    kept_arrays_close(&r->kept);
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

/* What is to be turned into tokens: all files that are not empty. */
typedef struct text_files {
    const language_tokens *kind;
    record_source *texts;           /* [n] */
    size_t n;
} text_files;

static status write_some(void *user, const token_array *some, error *err)
{
    return kept_write(user, 0, some->at, some->n, err);
}

static status make_tokens(void *user, kept_writer *w, error *err)
{
    const text_files *f = user;
    return language_tokens_encode(f->kind, f->texts, f->n, write_some, w, err);
}

static bool are_tokens_sound(const void *user, const kept_arrays *a)
{
    const text_files *f = user;
    const uint16_t *narrow = a->at[0].at;
    const uint32_t *wide = a->at[0].at;
    int64_t size = language_tokens_size(f->kind);
    bool is_narrow = token_width(size) == sizeof *narrow, good = true;
    for (size_t i = 0; i < a->at[0].n; i++)
        good = good && (is_narrow ? narrow[i] : wide[i]) < size;
    return good;
}

static status take_tokens(text_reader *r, const shards *files, text_files *texts, const char *path, error *err)
{
    int64_t began_us = clock_us();
    size_t width = token_width(language_tokens_size(r->kind));
    kept_recipe recipe = {.what = "tokens",
                          .of = path,
                          .source_bytes = shards_bytes(files),
                          .n = 1,
                          .width = {width},
                          .make = make_tokens,
                          .is_sound = are_tokens_sound,
                          .user = texts};
    cache_key key;
    buf made = BUF_INIT;
    buf_adds(&made, "text 1\n");
    language_tokens_describe(r->kind, &made);
    shards_key(files, made.data, &key);
    buf_fini(&made);
    TRY(kept_arrays_open(&key, &recipe, &r->kept, err));
    r->tokens = (token_array){.at = r->kept.at[0].at, .n = r->kept.at[0].n, .width = width};
    LOG_I("TOKENS", "path=%s files=%zu tokens=%zu bytes_each=%zu made=%d heap_bytes=%zu seconds=%.3f", path, texts->n,
          r->tokens.n, width, r->kept.is_new, kept_arrays_heap_bytes(&r->kept, &recipe),
          (double)(clock_us() - began_us) * 1e-6);
    return OK;
}

static status open_tokens(text_reader *r, const text_reader_options *o, const shards *files, text_files *texts,
                          const char *path, error *err)
{
    language_options how = {.tokenizer = o->tokenizer,
                            .option = o->option,
                            .end_of_text = o->end_of_text,
                            .vocabulary = o->vocabulary ? o->vocabulary->text : NULL,
                            .origin = o->vocabulary ? o->vocabulary->origin : NULL};
    TRY(language_tokens_open(&how, texts->texts, texts->n, &r->kind, err));
    texts->kind = r->kind;
    return take_tokens(r, files, texts, path, err);
}

static status open_texts(text_reader *r, const text_reader_options *o, const shards *files, const char *path,
                         error *err)
{
    text_files texts = {.texts = xcalloc(files->n + 1, sizeof *texts.texts)};
    for (size_t i = 0; i < files->n; i++) {
        texts.texts[texts.n] = files->at[i].source;
        texts.n += files->at[i].source.bytes > 0;
        if (files->at[i].source.bytes == 0 && files->n > 1)
            LOG_W("EMPTY", "file=%s holds no text: it is passed over", files->at[i].name);
    }
    status st = texts.n ? open_tokens(r, o, files, &texts, path, err) : FAIL(err, E_DATA, "'%s': is empty", path);
    free(texts.texts);
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
