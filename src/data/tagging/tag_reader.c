/*
 * Sentences whose words are tagged, as examples (reader.h): rows of token numbers (word_rows.h), their mask,
 * with a tokenizer the number of the word that each token is of, and as label the number of a word's tag at the first
 * of its tokens, -100 at all others. Of dependency trees the label is what a word is to its head, "head_tags", and
 * "head_indices" tell where in the row that is: its first token's place, from 1, or 0 of the root. All is read at
 * opening, so everything that can be wrong is found then, but in what is predicted the tags, which are not read.
 */
#include "data/reader.h"

#include "common/base/alloc.h"
#include "common/base/log.h"
#include "data/index/shards.h"
#include "data/tagging/word_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NO_LABEL = -100 };

typedef struct tag_reader {
    dataset base;
    const sentence_format *format;
    arena *memory;                  /* of names of fields */
    shards files;
    sentences s;
    word_rows rows;
    words *names[TAG_KINDS];        /* [0] of the label, then of features */
    int32_t n_given[TAG_KINDS];     /* of these, by the vocabulary; those that the data add stand behind */
    tag_column columns[TAG_KINDS];
    const char *fields[TAG_KINDS];  /* "label", "pos_tags" */
    size_t n_columns;
    bool has_labels;
    char *vocabulary;
} tag_reader;

static void close_reader(dataset *d)
{
    tag_reader *r = (tag_reader *)d;
    sentences_fini(&r->s);
    word_rows_fini(&r->rows);
    for (size_t i = 0; i < TAG_KINDS; i++)
        words_destroy(&r->names[i]);
    shards_close(&r->files);
    arena_destroy(&r->memory);
    mem_free(r->base.lengths);
    free(r->vocabulary);
    free(r);
}

/* --- reading --- */

/* The field of the label, behind those of tokens. */
static size_t first_tag(const tag_reader *r)
{
    return r->rows.tokenizer ? 3 : 2;
}

/* Of the label, which comes first, or of a feature. */
static int64_t tag_filler(size_t which)
{
    return which == 0 ? NO_LABEL : 0;
}

/* A word whose head was cut off has no label. */
static bool has_label(const tag_reader *r, size_t word)
{
    return !r->s.heads || r->s.heads[word] != NO_LABEL;
}

/* What stands at the first token of a word; `filler` elsewhere. Features are counted from 1. */
static void read_tags(const tag_reader *r, size_t row, size_t which, int64_t filler, int64_t *ret)
{
    const int32_t *places = r->rows.places + r->rows.first[row], *tags = r->s.tags[which];
    size_t n = r->rows.first[row + 1] - r->rows.first[row], first = r->s.at[row].first;
    for (size_t i = 0; i < r->rows.longest; i++) {
        bool is_there = i < n && places[i] != WORD_ROWS_NONE && (which || has_label(r, first + (size_t)places[i]));
        ret[i] = is_there ? tags[first + (size_t)places[i]] + (filler == 0) : filler;
    }
}

static void read_heads(const tag_reader *r, size_t row, int64_t *ret)
{
    const int32_t *places = r->rows.places + r->rows.first[row], *heads = r->s.heads + r->s.at[row].first;
    size_t n = r->rows.first[row + 1] - r->rows.first[row];
    for (size_t i = 0; i < r->rows.longest; i++)
        ret[i] = i < n && places[i] != WORD_ROWS_NONE ? heads[places[i]] : NO_LABEL;
}

/* Of each token its word's number in the sentence, from 1; 0 of special tokens and of what fills up. */
static void read_word_ids(const tag_reader *r, size_t row, int64_t *ret)
{
    const int32_t *places = r->rows.places + r->rows.first[row];
    size_t n = r->rows.first[row + 1] - r->rows.first[row] - r->rows.n_behind;
    int64_t word = 0;
    for (size_t i = 0; i < r->rows.longest; i++) {
        word = i < n && places[i] != WORD_ROWS_NONE ? places[i] + 1 : word;
        ret[i] = i < n ? word : 0;
    }
}

static status read_example(const dataset *d, int64_t example, void *const *ret, error *err)
{
    (void)err;
    const tag_reader *r = (const tag_reader *)d;
    size_t row = (size_t)example, n = r->rows.first[row + 1] - r->rows.first[row];
    const int32_t *ids = r->rows.ids + r->rows.first[row];
    int64_t *tokens = ret[0], *mask = ret[1];
    void *const *tags = ret + first_tag(r);
    for (size_t i = 0; i < r->rows.longest; i++) {
        tokens[i] = i < n ? ids[i] : r->rows.filler;
        mask[i] = i < n;
    }
    if (r->rows.tokenizer)
        read_word_ids(r, row, ret[2]);
    for (size_t i = 0; r->has_labels && i < r->n_columns; i++)
        read_tags(r, row, i, tag_filler(i), tags[i]);
    if (r->s.heads)
        read_heads(r, row, tags[r->n_columns]);
    return OK;
}

static const char *vocabulary(const dataset *d)
{
    return ((const tag_reader *)d)->vocabulary;
}

static bool label_word(const dataset *d, int64_t label, buf *to)
{
    const words *names = ((const tag_reader *)d)->names[0];
    if (label < 0 || label >= words_count(names))
        return false;
    buf_adds(to, words_at(names, (int32_t)label));
    return true;
}

static bool word_at(const dataset *d, int64_t example, int64_t i, buf *ret_text, int64_t *ret_place)
{
    const tag_reader *r = (const tag_reader *)d;
    size_t row = (size_t)example, from = r->rows.first[row], n = r->rows.first[row + 1] - from, place = 0;
    if (i < 0 || (size_t)i >= r->s.at[row].n)
        return false;
    const tagged_word *w = &r->s.words[r->s.at[row].first + (size_t)i];
    while (place < n && r->rows.places[from + place] != i)
        place++;
    buf_add(ret_text, w->text, w->bytes);
    *ret_place = place < n ? (int64_t)place : -1;
    return true;
}

static void contents(const dataset *d, content_digest *ret)
{
    const tag_reader *r = (const tag_reader *)d;
    size_t row = (size_t)d->first, last = row + (size_t)d->examples;
    size_t token = r->rows.first[row], tokens = r->rows.first[last] - token, word = r->s.at[row].first;
    size_t n_words = r->s.at[last - 1].first + r->s.at[last - 1].n - word;
    content_digest_add(ret, r->rows.ids + token, tokens * sizeof *r->rows.ids);
    content_digest_add(ret, r->rows.places + token, tokens * sizeof *r->rows.places);
    for (size_t i = 0; r->has_labels && i < r->n_columns; i++)
        content_digest_add(ret, r->s.tags[i] + word, n_words * sizeof **r->s.tags);
    if (r->s.heads)
        content_digest_add(ret, r->s.heads + word, n_words * sizeof *r->s.heads);
}

static void place(const dataset *d, int64_t example, buf *ret)
{
    const sentences *s = &((const tag_reader *)d)->s;
    buf_addf(ret, "'%s': line %lu", s->at[example].file, (unsigned long)s->words[s->at[example].first].line);
}

static const reader_ops tag_reader_ops = {.read = read_example,
                                          .close = close_reader,
                                          .contents = contents,
                                          .vocabulary = vocabulary,
                                          .label_word = label_word,
                                          .word = word_at,
                                          .place = place};

/* --- which tags --- */

/* `field` is NULL of a label and of features, which are called by `name`. */
static status add_column(tag_reader *r, const config *reader, const char *name, const char *field, error *err)
{
    bool is_label = r->n_columns == 0;
    const tag_kind *kind = sentence_format_tag(r->format, name);
    if (!kind || r->n_columns == TAG_KINDS)
        return FAIL(err, E_CONFIG, "%s.feature_labels: '%s' is none of ner, pos, chunk, or one too many",
                    config_path(reader), name);
    r->fields[r->n_columns] = field ? field : is_label ? "label" : arena_printf(r->memory, "%s_tags", name);
    for (size_t i = 0; i < r->n_columns; i++)
        if (strcmp(r->fields[i], r->fields[r->n_columns]) == 0)
            return FAIL(err, E_CONFIG, "%s.feature_labels: has '%s' twice", config_path(reader), name);
    r->names[r->n_columns] = words_create();
    r->columns[r->n_columns] = (tag_column){
        .kind = kind, .scheme = coding_scheme_of(config_str(reader, "coding_scheme")), .names = r->names[r->n_columns]};
    r->n_columns++;
    return OK;
}

static status choose_of_trees(tag_reader *r, const config *reader, error *err)
{
    const char *part_of_speech = config_bool(reader, "use_language_specific_pos") ? "xpos" : "upos";
    if (!config_bool(reader, "dependencies"))
        return add_column(r, reader, part_of_speech, NULL, err);
    r->s.has_heads = r->has_labels;
    TRY(add_column(r, reader, "head", "head_tags", err));
    return add_column(r, reader, part_of_speech, "pos_tags", err);
}

static status choose_columns(tag_reader *r, const config *reader, error *err)
{
    if (r->format == &sentences_universal_dependencies)
        return choose_of_trees(r, reader, err);
    TRY(add_column(r, reader, config_str(reader, "tag_label"), NULL, err));
    const json_t *features = config_json(reader, "feature_labels");
    for (size_t i = 0; i < json_array_size(features); i++)
        TRY(add_column(r, reader, json_string_value(json_array_get(features, i)), NULL, err));
    return OK;
}

/* {"tags": {"label": ["B-LOC", ...]}, ...} */
static status load_names(tag_reader *r, const json_t *known, const reader_vocabulary *given, error *err)
{
    const char *origin = given->origin;
    for (size_t i = 0; i < r->n_columns; i++) {
        const json_t *list = json_object_get(json_object_get(known, "tags"), r->fields[i]);
        if (json_array_size(list) == 0)
            return FAIL(err, E_DATA, "'%s': has no list of tags for field '%s'", origin, r->fields[i]);
        for (size_t k = 0; k < json_array_size(list); k++) {
            const char *tag = json_string_value(json_array_get(list, k));
            if (!tag || (size_t)words_add(r->names[i], tag) != k)
                return FAIL(err, E_DATA, "'%s': tag %zu of field '%s' is no string, or not the first of its kind",
                            origin, k, r->fields[i]);
        }
        r->columns[i].are_known = !given->grows;
        r->n_given[i] = words_count(r->names[i]);
    }
    return OK;
}

/* What the data have taught in the order of its bytes, whatever the order of the data. */
static void sort_names(tag_reader *r)
{
    for (size_t i = 0; i < r->n_columns; i++) {
        int32_t *places = xmalloc(((size_t)words_count(r->names[i]) + 1) * sizeof *places);
        words_sort_from(r->names[i], r->n_given[i], places);
        for (size_t w = 0; w < r->s.n_words; w++)
            r->s.tags[i][w] = places[r->s.tags[i][w]];
        free(places);
    }
}

static char *vocabulary_of(const tag_reader *r)
{
    json_t *tags = json_object();
    for (size_t i = 0; i < r->n_columns; i++) {
        json_t *list = json_array();
        for (int32_t k = 0; k < words_count(r->names[i]); k++)
            json_array_append_new(list, json_string(words_at(r->names[i], k)));
        json_object_set_new(tags, r->fields[i], list);
    }
    json_t *whole = json_pack("{s:o}", "tags", tags);
    word_rows_say(&r->rows, whole);
    char *text = json_text(whole);
    json_decref(whole);
    return text;
}

/* --- opening --- */

static status read_files(tag_reader *r, const reader_request *request, error *err)
{
    size_t n_columns = r->has_labels ? r->n_columns : 0;
    TRY(shards_open(request->path, false, &r->files, err));
    for (size_t i = 0; i < r->files.n; i++)
        TRY(sentences_add(&r->s, r->format, &r->files.at[i].source, r->columns, n_columns, err));
    if (r->s.n == 0)
        return FAIL(err, E_DATA, "'%s': holds no sentence", request->path);
    return OK;
}

static status make_rows(tag_reader *r, const reader_request *request, const json_t *known, error *err)
{
    const config *reader = request->reader;
    char option[64];
    snprintf(option, sizeof option, "%s.tokenizer", config_path(reader));
    const word_rows_options o = {
        .tokenizer = {.option = option,
                      .path = config_str(reader, "tokenizer"),
                      .vocabulary = known,
                      .origin = known ? request->vocabulary->origin : NULL},
        .grows = known && request->vocabulary->grows,
        .words = word_choice_of(reader),
        .max_length = config_has(reader, "max_length") ? config_int(reader, "max_length") : 0,
        .truncate = config_bool(reader, "truncate"),
        .files = &r->files,
        .path = request->path,
        .type = r->format->type,
    };
    TRY(word_rows_make(&o, &r->s, &r->rows, err));
    LOG_I("SENTENCES", "path=%s files=%zu sentences=%zu words=%zu tokens=%zu longest=%zu made=%d", request->path,
          r->files.n, r->s.n, r->s.n_words, r->rows.n, r->rows.longest, !r->rows.tokenizer || r->rows.kept.is_new);
    if (r->rows.n_cut)
        LOG_W("TRUNCATED", "path=%s: %lld of %zu sentences are longer than %lld tokens: their last words are left out",
              request->path, (long long)r->rows.n_cut, r->s.n, (long long)o.max_length);
    return OK;
}

/* Heads, which are numbers of words, become places of their first tokens, from 1; NO_LABEL where these were cut off. */
static void place_heads(tag_reader *r)
{
    int32_t *place = r->s.heads ? xmalloc((r->s.n_words + 1) * sizeof *place) : NULL;
    for (size_t row = 0; place && row < r->s.n; row++) {
        size_t first = r->s.at[row].first, n = r->s.at[row].n, from = r->rows.first[row];
        for (size_t i = 0; i < n; i++)
            place[i] = NO_LABEL;
        for (size_t k = from; k < r->rows.first[row + 1]; k++)
            if (r->rows.places[k] != WORD_ROWS_NONE)
                place[r->rows.places[k]] = (int32_t)(k - from) + 1;
        for (size_t i = first; i < first + n; i++)
            r->s.heads[i] = r->s.heads[i] ? place[r->s.heads[i] - 1] : 0;
    }
    free(place);
}

static data_field row_field(const tag_reader *r, const char *name, int64_t filler)
{
    return (data_field){.name = name,
                        .dtype = DT_I64,
                        .rank = 1,
                        .dim = {(int64_t)r->rows.longest},
                        .varies = true,
                        .has_filler = true,
                        .filler = filler};
}

static status describe(tag_reader *r, error *err)
{
    dataset *d = &r->base;
    void *memory = NULL;
    d->examples = (int64_t)r->s.n;
    d->fields[d->n_fields] = row_field(r, "input_ids", r->rows.filler);
    d->fields[d->n_fields++].tokens = word_rows_size(&r->rows);
    d->fields[d->n_fields++] = row_field(r, "attention_mask", 0);
    if (r->rows.tokenizer)
        d->fields[d->n_fields++] = row_field(r, "word_ids", 0);
    for (size_t i = 0; r->has_labels && i < r->n_columns; i++)
        d->fields[d->n_fields++] = row_field(r, r->fields[i], tag_filler(i));
    if (r->has_labels) {
        d->fields[first_tag(r)].classes = words_count(r->names[0]);
        d->fields[first_tag(r)].classes_option = "vocabulary";
    }
    if (r->s.heads)
        d->fields[d->n_fields++] = row_field(r, "head_indices", NO_LABEL);
    TRY(mem_alloc(r->s.n * sizeof *d->lengths, "the lengths of examples", &memory, err));
    d->lengths = memory;
    for (size_t i = 0; i < r->s.n; i++)
        d->lengths[i] = (uint32_t)(r->rows.first[i + 1] - r->rows.first[i]);
    return OK;
}

static status open_known(tag_reader *r, const reader_request *request, const json_t *known, error *err)
{
    if (known)
        TRY(load_names(r, known, request->vocabulary, err));
    TRY(read_files(r, request, err));
    if (!known || request->vocabulary->grows)
        sort_names(r);
    TRY(make_rows(r, request, known, err));
    place_heads(r);
    r->vocabulary = vocabulary_of(r);
    return describe(r, err);
}

static status open_reader(tag_reader *r, const reader_request *request, error *err)
{
    json_t *known = NULL;
    TRY(choose_columns(r, request->reader, err));
    TRY(reader_vocabulary_parse(request->vocabulary, &known, err));
    status st = open_known(r, request, known, err);
    json_decref(known);
    return st;
}

static status tag_reader_configure(const sentence_format *format, const reader_request *request, dataset **ret,
                                   error *err)
{
    tag_reader *r = xcalloc(1, sizeof *r);
    r->base.ops = &tag_reader_ops;
    r->format = format;
    r->memory = arena_create();
    r->has_labels = !request->without_labels;
    status st = open_reader(r, request, err);
    if (st != OK) {
        close_reader(&r->base);
        return st;
    }
    return dataset_cut(request, &r->base, ret, err);
}

status conll2003_reader_configure(const reader_request *request, dataset **ret, error *err)
{
    return tag_reader_configure(&sentences_conll2003, request, ret, err);
}

status universal_dependencies_reader_configure(const reader_request *request, dataset **ret, error *err)
{
    return tag_reader_configure(&sentences_universal_dependencies, request, ret, err);
}

bool tag_reader_learns(const config *reader)
{
    return !config_has(reader, "vocabulary") || config_bool(reader, "extend_vocabulary");
}
