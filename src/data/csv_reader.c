/*
 * Rows of a table as examples (reader.h): columns of numbers, columns of categories, texts and a label.
 * All files are turned into numbers at opening, one behind the other, so everything that can be wrong with them is
 * found then.
 */
#include "data/csv_rows.h"

#include "common/base/alloc.h"
#include "common/base/log.h"
#include "common/base/read_progress.h"

#include <stdlib.h>
#include <string.h>

static void close_reader(dataset *d)
{
    csv_reader *r = (csv_reader *)d;
    for (size_t i = 0; i < r->n; i++)
        column_fini(&r->columns[i]);
    column_fini(&r->unread_label);
    csv_texts_fini(&r->texts);
    mem_free(r->base.lengths);
    mem_free(r->lines);
    for (size_t i = 0; i < r->n_files; i++)
        free(r->files[i].name);
    free(r->files);
    free(r->columns);
    free(r->sizes);
    free(r->vocabulary);
    free(r);
}

/* --- reading --- */

static status csv_reader_read_example(const dataset *d, int64_t example, void *const *ret, error *err)
{
    (void)err;
    const csv_reader *r = (const csv_reader *)d;
    size_t field = 0, i = 0, inputs = r->n - r->has_label;
    float *numbers = ret[field];
    for (; i < r->n_numbers; i++)
        numbers[i] = r->columns[i].numbers[example];
    field += r->n_numbers > 0;
    int64_t *categories = inputs > r->n_numbers ? ret[field++] : NULL;
    for (; i < inputs; i++)
        *categories++ = r->columns[i].ids[example];
    if (r->texts.encoder)
        field += csv_texts_read(&r->texts, (size_t)example, ret + field);
    if (r->has_label && r->columns[i].kind == COLUMN_NUMBER)
        *(float *)ret[field] = r->columns[i].numbers[example];
    else if (r->has_label)
        *(int64_t *)ret[field] = r->columns[i].ids[example];
    return OK;
}

static const char *vocabulary(const dataset *d)
{
    return ((const csv_reader *)d)->vocabulary;
}

static bool label_word(const dataset *d, int64_t label, buf *to)
{
    const csv_reader *r = (const csv_reader *)d;
    const column *c = r->has_label ? &r->columns[r->n - 1] : &r->unread_label;
    if (c->kind != COLUMN_CLASS || !c->words || label < 0 || label >= words_count(c->words))
        return false;
    buf_adds(to, words_at(c->words, (int32_t)label));
    return true;
}

static void place(const dataset *d, int64_t example, buf *ret)
{
    const csv_reader *r = (const csv_reader *)d;
    size_t file = r->n_files - 1;
    while (r->files[file].first > (size_t)example)
        file--;
    buf_addf(ret, "'%s': line %lu", r->files[file].name, (unsigned long)r->lines[example]);
}

/* The columns that are read, as the numbers that they have become. */
static void contents(const dataset *d, content_digest *ret)
{
    const csv_reader *r = (const csv_reader *)d;
    size_t rows = (size_t)d->examples;
    for (size_t i = 0; i < r->n; i++) {
        const column *c = &r->columns[i];
        if (c->kind == COLUMN_NUMBER)
            content_digest_add(ret, c->numbers + d->first, rows * sizeof *c->numbers);
        else
            content_digest_add(ret, c->ids + d->first, rows * sizeof *c->ids);
    }
    if (r->texts.encoder)
        csv_texts_contents(&r->texts, (size_t)d->first, rows, ret);
}

static const reader_ops csv_ops = {.read = csv_reader_read_example,
                                   .close = close_reader,
                                   .contents = contents,
                                   .vocabulary = vocabulary,
                                   .label_word = label_word,
                                   .place = place};

/* --- columns --- */

static void add_columns(csv_reader *r, const json_t *names, column model)
{
    size_t i;
    json_t *name;
    json_array_foreach((json_t *)(uintptr_t)names, i, name)
    {
        r->columns[r->n] = model;
        r->columns[r->n++].name = json_string_value(name);
    }
}

static status choose_columns(csv_reader *r, const csv_reader_options *o, error *err)
{
    size_t n = json_array_size(o->numeric) + json_array_size(o->categorical);
    if (n == 0 && !o->text && !o->pair)
        return FAIL(err, E_CONFIG,
                    "dataset_reader: names no columns to read: set numeric, categorical, text or several of them");
    r->columns = xcalloc(n + 1, sizeof *r->columns);
    add_columns(r, o->numeric, (column){.kind = COLUMN_NUMBER, .scaling = o->scaling});
    r->n_numbers = r->n;
    add_columns(r, o->categorical, (column){.kind = COLUMN_CATEGORY, .buckets = o->buckets});
    column label = {.name = o->label,
                    .kind = o->label_is_number ? COLUMN_NUMBER : COLUMN_CLASS};
    r->has_label = o->label && !o->without_labels;
    if (r->has_label)
        r->columns[r->n++] = label;
    else if (o->label)
        r->unread_label = label;
    return OK;
}

/* Its text is opened once it is known where it stands. */
static status choose_texts(csv_reader *r, const csv_reader_options *o, const json_t *known, error *err)
{
    text_encoder_options how = {.tokenizer = {.option = "dataset_reader.tokenizer",
                                              .path = o->tokenizer,
                                              .vocabulary = known,
                                              .origin = known ? o->vocabulary->origin : NULL},
                                .most = o->most,
                                .has_pair = o->pair != NULL,
                                .refuses_long = o->refuses_long};
    if (!o->text && !o->pair)
        return OK;
    if (!o->text)
        return FAIL(err, E_CONFIG, "dataset_reader.pair: '%s' is the second text; set text, the first", o->pair);
    if (!o->tokenizer)
        return FAIL(err, E_CONFIG, "dataset_reader.tokenizer: null, but column '%s' is a text; name a tokenizer.json, "
                                   "or its folder", o->text);
    r->texts.columns[0].name = o->text;
    r->texts.columns[1].name = o->pair;
    return csv_texts_open(&r->texts, &how, err);
}

/* --- vocabulary --- */

enum { NUMERIC, CATEGORICAL, LABEL };
static const char *const sections[] = {"numeric", "categorical", "label"};

static const char *section_of(const csv_reader *r, size_t i)
{
    return sections[i < r->n_numbers                   ? NUMERIC
                    : r->has_label && i == r->n - 1 ? LABEL
                                                    : CATEGORICAL];
}

static status load_vocabulary(csv_reader *r, const json_t *whole, const reader_vocabulary *given, error *err)
{
    status st = OK;
    for (size_t i = 0; i < r->n && st == OK; i++) {
        const json_t *section = json_object_get(whole, section_of(r, i));
        st = column_load(&r->columns[i], json_object_get(section, r->columns[i].name),
                         given->origin, err);
    }
    column *label = &r->unread_label;
    const json_t *known = json_object_get(json_object_get(whole, sections[LABEL]), label->name);
    if (st == OK && label->name && known)
        st = column_load(label, known, given->origin, err);
    return st;
}

static void csv_reader_write_vocabulary(csv_reader *r)
{
    json_t *whole = json_object();
    for (size_t i = 0; i < r->n; i++) {
        json_t *one = column_vocabulary(&r->columns[i]);
        if (!one)
            continue;
        json_t *section = json_object_get(whole, section_of(r, i));
        if (!section) {
            section = json_object();
            json_object_set_new(whole, section_of(r, i), section);
        }
        json_object_set_new(section, r->columns[i].name, one);
    }
    if (r->texts.encoder)
        text_encoder_tell(r->texts.encoder, whole);
    r->vocabulary = json_text(whole);
    json_decref(whole);
}

/* --- opening --- */

static bool is_missing(const json_t *missing, const char *word)
{
    for (size_t i = 0; i < json_array_size(missing); i++)
        if (strcmp(json_string_value(json_array_get(missing, i)), word) == 0)
            return true;
    return word[0] == '\0';
}

static status take_row(csv_reader *r, const csv_reader_options *o, const csv *c, size_t row,
                       error *err)
{
    if (c->n_cells != r->n_columns)
        return FAIL(err, E_DATA, "'%s': line %zu has %zu columns, the first row %zu", c->origin,
                    c->row_line, c->n_cells, r->n_columns);
    for (size_t i = 0; i < r->n; i++) {
        const char *word = csv_cell(c, r->columns[i].place);
        TRYF(column_take(&r->columns[i], row, is_missing(o->missing, word) ? NULL : word, err), err,
             "'%s': line %zu", c->origin, c->row_line);
    }
    r->lines[row] = (uint32_t)c->row_line;
    return OK;
}

/* Not fewer than there are rows. */
static size_t count_lines(const shards *files)
{
    size_t n = files->n;
    for (size_t k = 0; k < files->n; k++) {
        const record_source *s = &files->at[k].source;
        for (size_t i = 0; i < s->bytes; i++)
            n += s->data[i] == '\n' || s->data[i] == '\r';
    }
    return n;
}

/* Of one file after the other. */
typedef struct reading {
    csv_reader *r;
    const csv_reader_options *o;
    size_t most, rows;              /* of all */
} reading;

static status take_next(void *user, const csv *c, error *err)
{
    reading *t = user;
    BUG_ON(t->rows >= t->most);
    return take_row(t->r, t->o, c, t->rows++, err);
}

static status read_file(reading *t, const record_source *file, error *err)
{
    csv_reader *r = t->r;
    GROW(r->files, r->files_cap, r->n_files + 1);
    r->files[r->n_files++] = (csv_file){.name = xstrdup(file->name), .first = t->rows};
    return csv_rows_each(r, t->o, file, take_next, t, err);
}

static status read_files(csv_reader *r, const csv_reader_options *o, const shards *files, const char *path, error *err)
{
    reading t = {.r = r, .o = o, .most = count_lines(files)};
    void *lines = NULL;
    TRY(mem_alloc(t.most * sizeof *r->lines, "the lines of rows", &lines, err));
    r->lines = lines;
    for (size_t i = 0; i < r->n; i++)
        TRY(column_begin(&r->columns[i], t.most, err));
    for (size_t i = 0; i < files->n; i++) {
        size_t before = t.rows;
        TRY(read_file(&t, &files->at[i].source, err));
        if (t.rows == before && files->n > 1)
            LOG_W("EMPTY", "file=%s holds no rows of data: it is passed over", files->at[i].name);
    }
    if (t.rows == 0)
        return FAIL(err, E_DATA, "'%s': %s", path, shards_bytes(files) ? "has no rows of data" : "is empty");
    for (size_t i = 0; i < r->n; i++)
        column_finish(&r->columns[i], t.rows);
    r->base.examples = (int64_t)t.rows;
    return OK;
}

static void csv_reader_describe_fields(csv_reader *r)
{
    dataset *d = &r->base;
    size_t n_words = r->n - r->has_label - r->n_numbers;
    if (r->n_numbers)
        d->fields[d->n_fields++] = (data_field){
            .name = "numeric", .dtype = DT_F32, .rank = 1, .dim = {(int64_t)r->n_numbers}};
    r->sizes = xcalloc(n_words + 1, sizeof *r->sizes);
    for (size_t i = 0; i < n_words; i++)
        r->sizes[i] = column_size(&r->columns[r->n_numbers + i]);
    if (n_words)
        d->fields[d->n_fields++] = (data_field){.name = "categorical",
                                                .dtype = DT_I64,
                                                .rank = 1,
                                                .dim = {(int64_t)n_words},
                                                .sizes = r->sizes};
    if (r->texts.encoder)
        d->n_fields += text_encoder_fields(r->texts.encoder, d->fields + d->n_fields);
    const column *label = r->has_label ? &r->columns[r->n - 1] : NULL;
    if (label && label->kind == COLUMN_NUMBER)
        d->fields[d->n_fields++] = (data_field){.name = "label", .dtype = DT_F32};
    else if (label)
        d->fields[d->n_fields++] =
            (data_field){.name = "label",
                         .dtype = DT_I64,
                         .classes = column_size(label),
                         .classes_option = "vocabulary"};
}

/* --- texts --- */

typedef struct text_rows {
    csv_reader *r;
    const csv_reader_options *o;
    const shards *files;
} text_rows;

static status add_text(void *user, const csv *c, error *err)
{
    return csv_texts_add(user, c, err);
}

/* All rows have been read before, so each has its cells. */
static status each_text(void *user, csv_texts_maker *m, error *err)
{
    const text_rows *t = user;
    status st = OK;
    for (size_t i = 0; i < t->files->n && st == OK; i++)
        st = csv_rows_each(t->r, t->o, &t->files->at[i].source, add_text, m, err);
    return st;
}

static status make_texts(csv_reader *r, const csv_reader_options *o, const shards *files, const char *path, error *err)
{
    text_rows rows = {.r = r, .o = o, .files = files};
    buf said = BUF_INIT;
    if (!r->texts.encoder)
        return OK;
    buf_addf(&said, "%c header=%d without_labels=%d text=%s pair=%s label=%s\n", o->separator, o->header,
             o->without_labels, o->text, o->pair ? o->pair : "", o->label ? o->label : "");
    for (size_t i = 0; i < json_array_size(o->columns); i++)
        buf_addf(&said, "%s\n", json_string_value(json_array_get(o->columns, i)));
    status st = csv_texts_make(&r->texts,
                               &(csv_texts_source){.files = files,
                                                   .path = path,
                                                   .options = said.data,
                                                   .rows = (size_t)r->base.examples,
                                                   .each = each_text,
                                                   .user = &rows},
                               err);
    buf_fini(&said);
    return st;
}

static status take_lengths(csv_reader *r, error *err)
{
    void *room = NULL;
    size_t rows = (size_t)r->base.examples;
    if (!r->texts.encoder)
        return OK;
    TRY(mem_alloc(rows * sizeof *r->base.lengths, "the lengths of examples", &room, err));
    r->base.lengths = room;
    for (size_t i = 0; i < rows; i++)
        r->base.lengths[i] = csv_texts_length(&r->texts, i);
    if (r->texts.n_cut)
        LOG_W("CUT", "texts=%zu most=%lld: they have more tokens, and lose some", r->texts.n_cut,
              (long long)r->texts.most);
    return OK;
}

status csv_reader_open(const csv_reader_options *options, const char *path, dataset **ret,
                       error *err)
{
    shards files;
    TRY(shards_open(path, false, &files, err));
    csv_reader *r = xcalloc(1, sizeof *r);
    r->base.ops = &csv_ops;
    json_t *known = NULL;
    status st;
    TRY_OUT(st, choose_columns(r, options, err));
    TRY_OUT(st, reader_vocabulary_parse(options->vocabulary, &known, err));
    if (known)
        TRY_OUT(st, load_vocabulary(r, known, options->vocabulary, err));
    TRY_OUT(st, choose_texts(r, options, known, err));
    read_progress_begin("reading all rows of", path, shards_bytes(&files), NULL);
    TRY_OUT(st, read_files(r, options, &files, path, err));
    TRY_OUT(st, make_texts(r, options, &files, path, err));
    TRY_OUT(st, take_lengths(r, err));
    csv_reader_describe_fields(r);
    csv_reader_write_vocabulary(r);
    *ret = &r->base;
out:
    json_decref(known);
    shards_close(&files);
    if (st != OK)
        close_reader(&r->base);
    return st;
}

bool csv_reader_learns(const config *reader)
{
    return !config_has(reader, "vocabulary");
}

static column_scaling scaling_of(const char *name)
{
    return strcmp(name, "log") == 0           ? SCALING_LOG
           : strcmp(name, "standardize") == 0 ? SCALING_STANDARDIZE
                                              : SCALING_NONE;
}

status csv_reader_configure(const reader_request *request, dataset **ret, error *err)
{
    const config *reader = request->reader;
    const char *separator = config_str(reader, "separator");
    csv_reader_options options = {
        .separator = separator[0],
        .header = config_bool(reader, "header"),
        .columns = config_json(reader, "columns"),
        .numeric = config_json(reader, "numeric"),
        .categorical = config_json(reader, "categorical"),
        .text = config_str(reader, "text"),
        .pair = config_str(reader, "pair"),
        .tokenizer = config_str(reader, "tokenizer"),
        .most = config_int(reader, "max_sequence_length"),
        .refuses_long = strcmp(config_str(reader, "on_long"), "fail") == 0,
        .label = config_str(reader, "label"),
        .without_labels = request->without_labels,
        .label_is_number = strcmp(config_str(reader, "label_is"), "number") == 0,
        .scaling = scaling_of(config_str(reader, "scaling")),
        .buckets = config_has(reader, "buckets") ? config_int(reader, "buckets") : 0,
        .missing = config_json(reader, "missing"),
        .vocabulary = request->vocabulary,
    };
    if (separator[1] || separator[0] == '"' || separator[0] == '\n' || separator[0] == '\r')
        return FAIL(err, E_CONFIG, "%s.separator: '%s' is no single character that can part cells",
                    config_path(reader), separator);
    dataset *d = NULL;
    TRY(csv_reader_open(&options, request->path, &d, err));
    return dataset_cut(request, d, ret, err);
}
