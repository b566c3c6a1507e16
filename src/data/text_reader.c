/*
 * Plain text as examples of a language model (reader.h): `context` tokens and, as labels, the
 * tokens that follow each of them. The whole text is turned into numbers at opening, so everything
 * that can be wrong with it is found then.
 */
#include "data/reader.h"

#include "common/base/alloc.h"
#include "data/source.h"
#include "data/char_tokens.h"

#include <stdlib.h>

enum { FIELD_TOKENS, FIELD_LABEL, FIELDS };

typedef struct text_reader {
    dataset base;
    char_tokens *tokenizer;
    uint16_t *tokens;     /* of the whole file */
    const uint16_t *from; /* of the part that is read */
    int64_t context, stride;
} text_reader;

static void close_reader(dataset *d)
{
    text_reader *r = (text_reader *)d;
    char_tokens_destroy(&r->tokenizer);
    mem_free(r->tokens);
    free(r);
}

static status read_example(const dataset *d, int64_t example, void *const *ret, error *err)
{
    (void)err;
    const text_reader *r = (const text_reader *)d;
    const uint16_t *from = r->from + example * r->stride;
    int64_t *tokens = ret[FIELD_TOKENS], *label = ret[FIELD_LABEL];
    for (int64_t i = 0; i < r->context; i++) {
        tokens[i] = from[i];
        label[i] = from[i + 1];
    }
    return OK;
}

static const char *vocabulary(const dataset *d)
{
    return char_tokens_vocabulary(((const text_reader *)d)->tokenizer);
}

static bool label_word(const dataset *d, int64_t label, buf *to)
{
    const char_tokens *t = ((const text_reader *)d)->tokenizer;
    char text[UTF8_MAX];
    if (!char_tokens_vocabulary(t) || label < 0 || label >= char_tokens_size(t))
        return false;
    buf_add(to, text, char_tokens_decode(t, label, text));
    return true;
}

/* The tokens that are read, which are numbered by the vocabulary. */
static void contents(const dataset *d, content_digest *ret)
{
    const text_reader *r = (const text_reader *)d;
    size_t tokens = (size_t)((d->examples - 1) * r->stride + r->context + 1);
    content_digest_add(ret, r->from, tokens * sizeof *r->from);
}

static const reader_ops text_ops = {.read = read_example,
                                    .close = close_reader,
                                    .contents = contents,
                                    .vocabulary = vocabulary,
                                    .label_word = label_word};

static status make_tokenizer(const text_reader_options *o, const source *text, const char *path,
                             char_tokens **ret, error *err)
{
    if (!o->vocabulary)
        return char_tokens_learn(o->tokenizer, text->data, text->bytes, path, ret, err);
    return char_tokens_load(o->tokenizer, o->vocabulary->text, o->vocabulary->origin, ret, err);
}

/* Which part of the text is read, and how many examples it gives. */
static status text_reader_cut(text_reader *r, const text_reader_options *o, int64_t n, const char *path,
                              error *err)
{
    const dataset_part all = {.to = 1.0}, *part = o->part ? o->part : &all;
    int64_t first = 0, end = 0;
    TRY(reader_range(part, n, &first, &end, err));
    if (end - first <= o->context)
        return FAIL(err, E_DATA,
                    "'%s': has %lld tokens%s; an example of context %lld needs %lld", path,
                    (long long)(end - first), end - first < n ? " in the range" : "",
                    (long long)o->context, (long long)o->context + 1);
    r->from = r->tokens + first;
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

static status open_text(text_reader *r, const text_reader_options *o, const source *text,
                        const char *path, error *err)
{
    size_t n;
    TRY(make_tokenizer(o, text, path, &r->tokenizer, err));
    TRY(char_tokens_encode(r->tokenizer, text->data, text->bytes, path, &r->tokens, &n, err));
    r->context = o->context;
    r->stride = o->stride;
    TRY(text_reader_cut(r, o, (int64_t)n, path, err));
    text_reader_fields(o->context, char_tokens_size(r->tokenizer), r->base.fields);
    r->base.n_fields = FIELDS;
    return OK;
}

status text_reader_open(const text_reader_options *options, const char *path, dataset **ret,
                        error *err)
{
    source text;
    TRY(source_open(path, &text, err));
    text_reader *r = xcalloc(1, sizeof *r);
    r->base.ops = &text_ops;
    status st = open_text(r, options, &text, path, err);
    source_close(&text);
    if (st == OK)
        *ret = &r->base;
    else
        close_reader(&r->base);
    return st;
}

bool text_reader_learns(const config *reader)
{
    return token_kind_of(config_str(reader, "tokenizer")) == TOKEN_CHARACTERS &&
           !config_has(reader, "vocabulary");
}

status text_reader_configure(const reader_request *request, dataset **ret, error *err)
{
    const config *reader = request->reader;
    text_reader_options options = {
        .tokenizer = token_kind_of(config_str(reader, "tokenizer")),
        .vocabulary = request->vocabulary,
        .context = config_int(reader, "context"),
        .part = &request->part,
    };
    options.stride =
        config_has(reader, "stride") ? config_int(reader, "stride") : options.context;
    return text_reader_open(&options, request->path, ret, err);
}
