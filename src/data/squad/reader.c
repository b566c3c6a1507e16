/*
 * Questions about texts as examples (reader.h): files of SQuAD's form, one or many (index/shards.h), read as
 * AllenNLP's transformer_squad does (examples.h). Fields, `length_limit` long but for the last, filled up with padding:
 *
 *   input_ids, token_type_ids   [CLS] question [SEP] context [SEP], and of which text each token is
 *   attention_mask              1 where there is a token
 *   context_mask                1 where an answer may be: at the context, and at [CLS] for none
 *   answer_span                 int64 [2]: the first and the last token of the answer; those of [CLS] if the window
 *                               does not have it whole
 */
#include "data/squad/answers.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "data/reader_tokenizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIELD_IDS, FIELD_TYPES, FIELD_ATTENTION, FIELD_CONTEXT, FIELDS_VARYING, FIELD_ANSWER = FIELDS_VARYING, FIELDS };

static void close_reader(dataset *d)
{
    squad_reader *r = (squad_reader *)d;
    squad_kept_close(&r->kept);
    shards_close(&r->files);
    tokenizer_destroy(&r->tokenizer);
    mem_free(r->base.lengths);
    free(r->vocabulary);
    free(r->path);
    free(r);
}

/* --- reading --- */

typedef struct row {
    int64_t *ids, *types;
    int64_t n;
} row;

static void put(row *r, int64_t id, int64_t type)
{
    r->ids[r->n] = id;
    r->types[r->n++] = type;
}

static void put_special(row *r, const squad_special *s)
{
    for (size_t i = 0; i < s->n; i++)
        put(r, s->ids[i], s->types[i]);
}

static int64_t place_of_cls(const squad_reader *r, int64_t tokens)
{
    const squad_frame *f = &r->frame;
    return (int64_t)f->cls + (f->cls_at_end ? tokens - (int64_t)f->end.n : 0);
}

static status read_example(const dataset *d, int64_t example, void *const *ret, error *err)
{
    (void)err;
    const squad_reader *r = (const squad_reader *)d;
    const squad_window *w = &r->kept.examples.windows[example];
    const squad_asked *q = &r->kept.examples.questions[w->question];
    const squad_token *context = r->kept.examples.tokens.at + r->kept.examples.contexts[q->context].first + w->first;
    int64_t n_context = squad_window_tokens(&r->kept.examples, &r->options, w), answer[2];
    row out = {.ids = ret[FIELD_IDS], .types = ret[FIELD_TYPES]};
    put_special(&out, &r->frame.start);
    for (uint32_t i = 0; i < q->n; i++)
        put(&out, r->kept.examples.ids.at[q->first + i], r->frame.question_type);
    put_special(&out, &r->frame.middle);
    int64_t begin = out.n;
    for (int64_t i = 0; i < n_context; i++)
        put(&out, context[i].id, r->frame.context_type);
    put_special(&out, &r->frame.end);
    int64_t n = out.n, cls = place_of_cls(r, n), *attention = ret[FIELD_ATTENTION], *possible = ret[FIELD_CONTEXT];
    while (out.n < r->options.length_limit)
        put(&out, r->frame.padding, 0);
    for (int64_t i = 0; i < r->options.length_limit; i++) {
        attention[i] = i < n;
        possible[i] = i == cls || (i >= begin && i < begin + n_context);
    }
    if (r->options.without_answers)
        return OK;
    bool is_inside = squad_window_answer(&r->kept.examples, &r->options, w, answer);
    for (int i = 0; i < 2; i++)
        ((int64_t *)ret[FIELD_ANSWER])[i] = is_inside ? begin + answer[i] : cls;
    return OK;
}

/* What the file became: tokens by their numbers, answers, windows. */
static void contents(const dataset *d, content_digest *ret)
{
    const squad_examples *e = &((const squad_reader *)d)->kept.examples;
    content_digest_add(ret, e->tokens.at, e->tokens.n * sizeof *e->tokens.at);
    content_digest_add(ret, e->ids.at, e->ids.n * sizeof *e->ids.at);
    content_digest_add(ret, e->questions, e->n_questions * sizeof *e->questions);
    content_digest_add(ret, e->windows + d->first, (size_t)d->examples * sizeof *e->windows);
}

static const char *vocabulary(const dataset *d)
{
    return ((const squad_reader *)d)->vocabulary;
}

static void place(const dataset *d, int64_t example, buf *ret)
{
    dataset_answer a;
    if (squad_answer(d, example, 0, 0, &a, NULL) != OK) {
        buf_addf(ret, "example %lld", (long long)example);
        return;
    }
    if (a.id)
        buf_addf(ret, "question '%s', from token %lld of its text", a.id, (long long)a.window);
    else
        buf_addf(ret, "question %lld, from token %lld of its text", (long long)a.question, (long long)a.window);
    dataset_answer_fini(&a);
}

static const reader_ops squad_ops = {.read = read_example,
                                     .close = close_reader,
                                     .vocabulary = vocabulary,
                                     .contents = contents,
                                     .answer = squad_answer,
                                     .place = place};

/* --- opening --- */

static status take_lengths(squad_reader *r, error *err)
{
    void *room = NULL;
    const squad_examples *e = &r->kept.examples;
    TRY(mem_alloc(e->n_windows * sizeof *r->base.lengths, "the lengths of examples", &room, err));
    r->base.lengths = room;
    for (size_t i = 0; i < e->n_windows; i++) {
        const squad_window *w = &e->windows[i];
        int64_t context = squad_window_tokens(e, &r->options, w);
        r->base.lengths[i] = (uint32_t)(squad_window_context(e, &r->options, w) + context) + (uint32_t)r->frame.end.n;
    }
    return OK;
}

static void describe_fields(squad_reader *r)
{
    static const char *const names[] = {"input_ids", "token_type_ids", "attention_mask", "context_mask"};
    int64_t limit = r->options.length_limit;
    for (int i = 0; i < FIELDS_VARYING; i++)
        r->base.fields[i] =
            (data_field){.name = names[i], .dtype = DT_I64, .rank = 1, .dim = {limit}, .varies = true};
    r->base.fields[FIELD_IDS].tokens = tokenizer_size(r->tokenizer);
    r->base.fields[FIELD_ANSWER] = (data_field){.name = "answer_span", .dtype = DT_I64, .rank = 1, .dim = {2}};
    r->base.n_fields = r->options.without_answers ? FIELDS_VARYING : FIELDS;
    r->base.examples = (int64_t)r->kept.examples.n_windows;
}

static void tell(const squad_reader *r, double seconds)
{
    const squad_examples *e = &r->kept.examples;
    LOG_I("SQUAD",
          "path=%s files=%zu paragraphs=%zu questions=%zu examples=%zu in_windows=%zu skipped=%zu made=%d "
          "heap_bytes=%zu seconds=%.3f",
          r->path, r->files.n, r->kept.passages.n, e->n_questions, e->n_windows, e->n_parted, e->n_misplaced,
          r->kept.arrays.is_new, r->kept.heap_bytes + e->n_windows * sizeof *r->base.lengths, seconds);
    if (e->n_misplaced)
        LOG_W("SQUAD", "%zu questions of '%s' are left out: their answers do not stand where answer_start says",
              e->n_misplaced, r->path);
}

static void warn_of_empty_files(const squad_reader *r)
{
    const squad_passages *p = &r->kept.passages;
    size_t at = 0;
    for (size_t i = 0; i < r->files.n; i++) {
        size_t first = at;
        while (at < p->n && p->at[at].file == i)
            at++;
        if (at == first)
            LOG_W("EMPTY", "file=%s holds no paragraphs: it is passed over", r->files.at[i].name);
    }
}

static status open_files(squad_reader *r, const char *path, error *err)
{
    int64_t began_us = clock_us();
    r->path = xstrdup(path);
    TRY(shards_open(path, false, &r->files, err));
    TRY(squad_kept_open(&r->files, path, &r->options, &r->kept, err));
    warn_of_empty_files(r);
    TRY(take_lengths(r, err));
    describe_fields(r);
    tell(r, (double)(clock_us() - began_us) * 1e-6);
    return OK;
}

/* Both names that AllenNLP has given the option; false where neither is said. */
static status skips_impossible(const config *reader, bool *ret, error *err)
{
    static const char *const names[] = {"skip_impossible_questions", "skip_invalid_examples"};
    bool said[2];
    for (int i = 0; i < 2; i++)
        said[i] = config_has(reader, names[i]);
    *ret = said[0] ? config_bool(reader, names[0]) : said[1] && config_bool(reader, names[1]);
    if (said[0] && said[1] && config_bool(reader, names[0]) != config_bool(reader, names[1]))
        return FAIL(err, E_CONFIG, "%s: %s and %s are two names of one option, with unlike values",
                    config_path(reader), names[0], names[1]);
    return OK;
}

static status open_tokenizer(squad_reader *r, const reader_request *request, const json_t *known, error *err)
{
    char option[96];
    reader_tokenizer which = {.option = option,
                              .path = config_str(request->reader, "transformer_model_name"),
                              .vocabulary = known,
                              .origin = known ? request->vocabulary->origin : NULL};
    snprintf(option, sizeof option, "%s.transformer_model_name", config_path(request->reader));
    TRY(reader_tokenizer_open(&which, &r->tokenizer, err));
    json_t *own = json_object();
    reader_tokenizer_tell(r->tokenizer, own);
    r->vocabulary = json_text(own);
    json_decref(own);
    r->options.tokenizer = r->tokenizer;
    return squad_frame_of(r->tokenizer, which.path, &r->frame, err);
}

static status configure(squad_reader *r, const reader_request *request, const json_t *known, error *err)
{
    const config *reader = request->reader;
    r->options = (squad_options){.frame = &r->frame,
                                 .length_limit = config_int(reader, "length_limit"),
                                 .stride = config_int(reader, "stride"),
                                 .max_query_length = config_int(reader, "max_query_length"),
                                 .skip_misplaced = strcmp(config_str(reader, "misplaced_answers"), "skip") == 0,
                                 .without_answers = request->without_labels};
    TRY(skips_impossible(reader, &r->options.skip_impossible, err));
    r->options.skip_impossible = r->options.skip_impossible && !request->without_labels;
    TRY(open_tokenizer(r, request, known, err));
    return open_files(r, request->path, err);
}

status squad_reader_configure(const reader_request *request, dataset **ret, error *err)
{
    json_t *known = NULL;
    TRY(reader_vocabulary_parse(request->vocabulary, &known, err));
    squad_reader *r = xcalloc(1, sizeof *r);
    r->base.ops = &squad_ops;
    status st = configure(r, request, known, err);
    json_decref(known);
    if (st != OK) {
        close_reader(&r->base);
        return st;
    }
    return dataset_cut(request, &r->base, ret, err);
}
