/*
 * Records as examples (reader.h): lines of JSON and tf.train.Examples. Nothing of them is kept but where
 * they lie (index/record_set.h): an example is parsed when it is read. For training and evaluation all
 * were read once before (survey.h), so what can be wrong with them is found at opening.
 */
#include "data/reader.h"

#include "common/base/alloc.h"
#include "common/base/log.h"
#include "data/index/record_set.h"
#include "data/record/form.h"
#include "data/record/image_paths.h"
#include "data/record/survey.h"

#include <stdlib.h>
#include <string.h>

typedef struct record_reader {
    dataset base;
    const record_format *format;
    record_set *set;
    record_fields fields;
    kept_lengths lengths;       /* of the examples */
    uint32_t *kept;             /* the record of each example; NULL: every record is one */
    image_paths images;         /* of the records, once these are kept of the examples */
    char *vocabulary;
} record_reader;

static void close_reader(dataset *d)
{
    record_reader *r = (record_reader *)d;
    record_set_close(&r->set);
    record_fields_fini(&r->fields);
    free(r->vocabulary);
    kept_lengths_close(&r->lengths);
    image_paths_fini(&r->images);
    mem_free(r->kept);
    free(r);
}

/* --- reading --- */

static int64_t record_of(const record_reader *r, int64_t example)
{
    return r->kept ? (int64_t)r->kept[example] : example;
}

static status read_parsed(const record_reader *r, int64_t example, const record_reading *how, void *const *ret,
                          error *err)
{
    size_t bytes;
    void *parsed = NULL;
    const unsigned char *data = record_set_read(r->set, record_of(r, example), &bytes);
    TRY(r->format->parse(data, bytes, &parsed, err));
    status st = record_fields_take(&r->fields, r->format, parsed, how, ret, err);
    r->format->drop(parsed);
    return st;
}

static status read_placed(const dataset *d, int64_t example, const record_reading *how, void *const *ret, error *err)
{
    const record_reader *r = (const record_reader *)d;
    status st = read_parsed(r, example, how, ret, err);
    if (st != OK) {
        buf place = BUF_INIT;
        record_set_place(r->set, record_of(r, example), &place);
        error_prepend(err, "%s", place.data);
        buf_fini(&place);
    }
    return st;
}

static status record_reader_read_example(const dataset *d, int64_t example, void *const *ret, error *err)
{
    return read_placed(d, example, &(record_reading){.raw = false}, ret, err);
}

static status record_reader_read_bytes(const dataset *d, int64_t example, void *const *ret, error *err)
{
    return read_placed(d, example, &(record_reading){.raw = true}, ret, err);
}

static status record_reader_read_drawn(const dataset *d, int64_t example, const picture_draws *draws, bool as_bytes,
                                       void *const *ret, error *err)
{
    return read_placed(d, example, &(record_reading){.raw = as_bytes, .draws = draws}, ret, err);
}

static const char *record_reader_vocabulary(const dataset *d)
{
    return ((const record_reader *)d)->vocabulary;
}

/* The first field whose classes are words. */
static const record_field *word_field(const record_reader *r)
{
    for (size_t i = 0; i < r->fields.n; i++)
        if (r->fields.at[i].words)
            return &r->fields.at[i];
    return r->fields.unread.words ? &r->fields.unread : NULL;
}

static bool record_reader_label_word(const dataset *d, int64_t label, buf *to)
{
    const record_field *f = word_field((const record_reader *)d);
    if (!f || label < 0 || label >= words_count(f->words))
        return false;
    buf_adds(to, words_at(f->words, (int32_t)label));
    return true;
}

static void record_reader_contents(const dataset *d, content_digest *ret)
{
    const record_reader *r = (const record_reader *)d;
    int64_t first = record_of(r, d->first), last = record_of(r, d->first + d->examples - 1);
    record_set_contents(r->set, first, last - first + 1, ret);
    if (r->images.prints)
        content_digest_add(ret, r->images.prints + d->first, (size_t)d->examples * sizeof *r->images.prints);
}

static const record_set *record_reader_records(const dataset *d)
{
    return ((const record_reader *)d)->set;
}

static void record_reader_place(const dataset *d, int64_t example, buf *ret)
{
    const record_reader *r = (const record_reader *)d;
    record_set_place(r->set, record_of(r, example), ret);
}

static const reader_ops record_reader_ops = {.read = record_reader_read_example,
                                             .read_bytes = record_reader_read_bytes,
                                             .close = close_reader,
                                             .vocabulary = record_reader_vocabulary,
                                             .label_word = record_reader_label_word,
                                             .contents = record_reader_contents,
                                             .records = record_reader_records,
                                             .place = record_reader_place};

/* Of records that have images: these can be cropped. */
static const reader_ops image_record_ops = {.read = record_reader_read_example,
                                            .read_bytes = record_reader_read_bytes,
                                            .read_drawn = record_reader_read_drawn,
                                            .close = close_reader,
                                            .vocabulary = record_reader_vocabulary,
                                            .label_word = record_reader_label_word,
                                            .contents = record_reader_contents,
                                            .records = record_reader_records,
                                            .place = record_reader_place};

/* --- opening --- */

static json_t *classes_of(const record_field *f)
{
    if (!f->words)
        return json_integer(f->classes);
    json_t *list = json_array();
    for (int32_t w = 0; w < words_count(f->words); w++)
        json_array_append_new(list, json_string(words_at(f->words, w)));
    return list;
}

/* {"label": {"label": 10, "kind": ["cat", "dog"]}, "tokenizer_sha256": ...}, or "words"; NULL: nothing is learned. */
static char *vocabulary_of(const record_fields *fields)
{
    json_t *all = json_object();
    for (size_t i = 0; i < fields->n; i++)
        if (fields->at[i].is_learned)
            json_object_set_new(all, fields->at[i].name, classes_of(&fields->at[i]));
    json_t *whole = json_pack("{s:o}", "label", all);
    for (size_t i = 0; i < fields->n; i++)
        if (fields->at[i].encoder)
            text_encoder_tell(fields->at[i].encoder, whole);
    bool has_any = json_object_size(all) > 0 || json_object_size(whole) > 1;
    char *text = has_any ? json_text(whole) : NULL;
    json_decref(whole);
    return text;
}

static bool is_example(const record_reader *r, size_t record)
{
    return r->images.broken ? !r->images.broken[record] : r->lengths.at[record] > 0;
}

/* The others, with their lengths and what their images are. */
static status keep_examples(record_reader *r, size_t kept, error *err)
{
    kept_lengths few = {.n = 0}, all = r->lengths;
    void *room = NULL;
    size_t n = (size_t)record_set_count(r->set);
    TRY(mem_alloc(kept * sizeof *r->kept, "the places of examples", &room, err));
    r->kept = room;
    if (all.n)
        TRY(kept_lengths_make(kept, &few, err));
    for (size_t i = 0, to = 0; i < n; i++) {
        if (!is_example(r, i))
            continue;
        if (all.n)
            few.heap[to] = all.at[i];
        if (r->images.prints)
            r->images.prints[to] = r->images.prints[i];
        r->kept[to++] = (uint32_t)i;
    }
    kept_lengths_close(&r->lengths);
    r->lengths = few;
    return OK;
}

/* Records of which an image is broken, which a warning has told. */
static status leave_out_broken(record_reader *r, const reader_request *request, error *err)
{
    size_t n = (size_t)record_set_count(r->set), kept = 0;
    for (size_t i = 0; i < n; i++)
        kept += is_example(r, i);
    if (kept == 0)
        return FAIL(err, E_DATA, "'%s': has no example: an image of each of %zu records is broken", request->path, n);
    r->base.examples = (int64_t)kept;
    return keep_examples(r, kept, err);
}

/* Records that are no examples, which the survey gave no length. */
static status leave_out_skipped(record_reader *r, const reader_request *request, error *err)
{
    size_t n = r->lengths.n, kept = 0;
    for (size_t i = 0; i < n; i++)
        kept += is_example(r, i);
    if (kept == 0)
        return FAIL(err, E_DATA, "'%s': has no example: all %zu records are skipped, by their label", request->path, n);
    if (kept < n) {
        TRY(keep_examples(r, kept, err));
        LOG_I("SKIPPED", "path=%s records=%zu: their label says that they are no examples", request->path, n - kept);
    }
    r->base.examples = (int64_t)kept;
    return OK;
}

static void take_images(record_reader *r, size_t decoding)
{
    for (size_t i = 0; i < r->fields.n; i++) {
        if (!record_field_is_image(&r->fields.at[i]))
            continue;
        r->base.ops = &image_record_ops;
        r->base.reading = picture_options_reading(r->fields.at[i].picture, decoding);
    }
}

/* Of images that are files; what else says on_error speaks of nothing. */
static status look_at_images(record_reader *r, const reader_request *request, size_t *decoding, error *err)
{
    const config *c = request->reader;
    bool is_asked = record_form_of(c) == NULL && r->format == &record_format_json;
    bool skips = is_asked && strcmp(config_str(c, "on_error"), "skip") == 0, any = image_paths_any(&r->fields);
    if (skips && !any)
        return FAIL(err, E_CONFIG, "%s.on_error: \"skip\" is of images, and no field is one", config_path(c));
    if (!any || request->without_labels)
        return OK;
    TRY(image_paths_look(r->set, r->format, &r->fields, skips, &r->images, err));
    *decoding = r->images.reading;
    return OK;
}

static status open_reader(record_reader *r, const reader_request *request, error *err)
{
    size_t decoding = 0, in_records = 0;
    TRY(record_fields_read(request, r->format, &r->fields, err));
    TRY(record_set_open(r->format->kind, request->path, &r->set, err));
    TRY(look_at_images(r, request, &decoding, err));
    if (!request->without_labels) /* predictions read each record once, and say themselves what is wrong */
        TRY(survey_take(r->set, r->format, &r->fields, &r->lengths, &in_records, err));
    r->vocabulary = vocabulary_of(&r->fields);
    r->base.examples = record_set_count(r->set);
    for (size_t i = 0; i < r->fields.n; i++)
        r->base.n_fields += record_field_data(&r->fields.at[i], r->base.fields + r->base.n_fields);
    take_images(r, decoding ? decoding : in_records);
    if (!request->without_labels && record_fields_may_skip(&r->fields))
        TRY(leave_out_skipped(r, request, err));
    if (r->images.broken)
        TRY(leave_out_broken(r, request, err));
    r->base.lengths = (uint32_t *)(uintptr_t)r->lengths.at; /* only to be read: they may be mapped */
    return OK;
}

static status record_reader_configure(const record_format *format, const reader_request *request, dataset **ret,
                                      error *err)
{
    record_reader *r = xcalloc(1, sizeof *r);
    r->base.ops = &record_reader_ops;
    r->format = format;
    status st = open_reader(r, request, err);
    if (st != OK) {
        close_reader(&r->base);
        return st;
    }
    return dataset_cut(request, &r->base, ret, err);
}

status jsonl_reader_configure(const reader_request *request, dataset **ret, error *err)
{
    return record_reader_configure(&record_format_json, request, ret, err);
}

status tfrecord_reader_configure(const reader_request *request, dataset **ret, error *err)
{
    return record_reader_configure(&record_format_tf_example, request, ret, err);
}

status webdataset_reader_configure(const reader_request *request, dataset **ret, error *err)
{
    return record_reader_configure(&record_format_sample, request, ret, err);
}

bool record_reader_learns(const config *reader)
{
    return record_fields_learn(reader);
}
