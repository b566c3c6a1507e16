/* See field.h. */
#include "data/record/field.h"

#include "common/base/fs.h"
#include "common/base/utf8.h"
#include "data/pictures/picture_set.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct value {
    const record_format *format;
    const record_reading *how;
    const void *at, *pair;
    int64_t n;          /* how many values were taken, of a field that varies */
    bool was_cut;
    size_t reading;
} value;

struct field_kind {
    const char *type;
    dtype dtype;
    bool is_list;       /* of as many values as `shape` or `most` says */
    bool is_label;      /* left out where labels are not read */
    const char *expected;
    /* False: the value is none of this kind. What is of the kind, and wrong all the same, is E_DATA. */
    status (*take)(const record_field *f, value *v, void *const *ret, bool *ret_fits, error *err);
};

/* --- values --- */

/* How many values it has; false: not as many as the field wants. */
static bool count_fits(const record_field *f, value *v, size_t *ret_n)
{
    size_t most = (size_t)f->elements;
    *ret_n = v->format->count(v->at);
    v->n = (int64_t)*ret_n;
    return f->varies ? *ret_n >= 1 && *ret_n <= most : *ret_n == most;
}

static status take_reals(const record_field *f, value *v, void *const *ret, bool *ret_fits, error *err)
{
    float *out = ret[0];
    size_t n;
    *ret_fits = count_fits(f, v, &n);
    for (size_t i = 0; *ret_fits && i < n; i++) {
        double x;
        *ret_fits = v->format->real(v->at, i, &x);
        if (*ret_fits && !isfinite((float)x))
            return FAIL(err, E_DATA, "field '%s': element %zu is no finite float32", f->name, i);
        out[i] = (float)x;
    }
    for (size_t i = n; *ret_fits && i < (size_t)f->elements; i++)
        out[i] = (float)f->filler;
    return OK;
}

static status take_integers(const record_field *f, value *v, void *const *ret, bool *ret_fits, error *err)
{
    (void)err;
    int64_t *out = ret[0];
    size_t n;
    *ret_fits = count_fits(f, v, &n);
    for (size_t i = 0; *ret_fits && i < n; i++)
        *ret_fits = v->format->integer(v->at, i, &out[i]);
    for (size_t i = n; *ret_fits && i < (size_t)f->elements; i++)
        out[i] = (int64_t)f->filler;
    return OK;
}

static status take_mask(const record_field *f, value *v, void *const *ret, bool *ret_fits, error *err)
{
    (void)err;
    int64_t *out = ret[0];
    size_t n;
    *ret_fits = count_fits(f, v, &n);
    for (size_t i = 0; *ret_fits && i < (size_t)f->elements; i++)
        out[i] = i < n;
    return OK;
}

static status take_bytes(const record_field *f, value *v, void *const *ret, bool *ret_fits, error *err)
{
    const void *bytes;
    size_t n;
    *ret_fits = v->format->bytes(v->at, &bytes, &n);
    if (!*ret_fits)
        return OK;
    if (n != (size_t)f->elements)
        return FAIL(err, E_DATA, "field '%s': has %zu bytes; its shape says %" PRId64, f->name, n, f->elements);
    memcpy(ret[0], bytes, n);
    return OK;
}

static status take_label(const record_field *f, value *v, void *const *ret, bool *ret_fits, error *err)
{
    int64_t x;
    *ret_fits = v->format->count(v->at) == 1 && v->format->integer(v->at, 0, &x);
    if (!*ret_fits)
        return OK;
    if (f->classes && !f->grows && (x < 0 || x >= f->classes))
        return FAIL(err, E_DATA, "field '%s': class %" PRId64 "; expected 0 to %" PRId64 "%s", f->name, x,
                    f->classes - 1, f->is_learned ? ", as the training data have them" : "");
    if (x < 0 || x == INT64_MAX)
        return FAIL(err, E_DATA, "field '%s': class %" PRId64 "; classes are counted from 0", f->name, x);
    *(int64_t *)ret[0] = x;
    return OK;
}

/* Those of a list, each once or more often. */
static status take_labels(const record_field *f, value *v, void *const *ret, bool *ret_fits, error *err)
{
    float *out = ret[0];
    size_t n = v->format->count(v->at);
    for (int64_t c = 0; c < f->elements; c++)
        out[c] = 0.0f;
    *ret_fits = true;
    for (size_t i = 0; i < n && *ret_fits; i++) {
        int64_t x;
        *ret_fits = v->format->integer(v->at, i, &x);
        if (*ret_fits && (x < 0 || x >= f->elements))
            return FAIL(err, E_DATA, "field '%s': class %" PRId64 "; expected 0 to %" PRId64, f->name, x,
                        f->elements - 1);
        if (*ret_fits)
            out[x] = 1.0f;
    }
    return OK;
}

static bool is_utf8(const unsigned char *p, size_t n)
{
    uint32_t code;
    for (size_t one; n; n -= one, p += one)
        if (!*p || (one = utf8_decode(p, n, &code)) == 0)
            return false;
    return true;
}

/* A word of a value, which the caller frees; NULL: it has none. */
static char *word_of(const value *v)
{
    const void *text;
    size_t n;
    if (!v->format->bytes(v->at, &text, &n) || n == 0 || !is_utf8(text, n))
        return NULL;
    return xstrndup(text, n);
}

static status take_word(const record_field *f, value *v, void *const *ret, bool *ret_fits, error *err)
{
    char *word = word_of(v);
    status st = OK;
    *ret_fits = word != NULL;
    int32_t id = word ? words_find(f->words, word) : 0;
    if (id < 0)
        st = FAIL(err, E_DATA, "field '%s': '%.100s' is no word of the training data", f->name, word);
    else if (word)
        *(int64_t *)ret[0] = id;
    free(word);
    return st;
}

static bool input_of(const record_format *format, const void *at, tokenizer_input *ret)
{
    const void *bytes = NULL;
    bool is_one = at && format->bytes(at, &bytes, &ret->bytes);
    ret->text = bytes;
    return is_one;
}

static bool texts_of(const record_field *f, const value *v, tokenizer_input ret[2])
{
    return input_of(v->format, v->at, &ret[0]) && (!f->pair || input_of(v->format, v->pair, &ret[1]));
}

static status take_text(const record_field *f, value *v, void *const *ret, bool *ret_fits, error *err)
{
    tokenizer_input texts[2];
    size_t n = 0, whole = 0;
    *ret_fits = texts_of(f, v, texts);
    if (!*ret_fits)
        return OK;
    TRYF(text_encoder_take(f->encoder, &texts[0], f->pair ? &texts[1] : NULL, ret, &n, &whole, err), err,
         "field '%s'", f->name);
    v->n = (int64_t)n;
    v->was_cut = whole > n;
    return OK;
}

static status look_at_image(const record_field *f, value *v, const unsigned char *bytes, size_t n, error *err)
{
    picture_head head;
    TRY(picture_read_head(bytes, n, &head, err));
    v->reading = n + picture_decoding_bytes(&head, &f->picture->view.decoding);
    return OK;
}

static status take_image(const record_field *f, value *v, void *const *ret, bool *ret_fits, error *err)
{
    const void *bytes;
    size_t n;
    *ret_fits = v->format->bytes(v->at, &bytes, &n);
    if (!*ret_fits)
        return OK;
    status st = v->how->measure ? look_at_image(f, v, bytes, n, err)
                                : picture_view_take(&f->picture->view, v->how->draws, bytes, n, ret[0], err);
    if (st != OK)
        error_prepend(err, "field '%s'", f->name);
    return st;
}

/* The path that a value is, which the caller frees; NULL: it is none. */
static char *path_of(const value *v)
{
    const void *text;
    size_t n;
    bool is_path = v->format->bytes(v->at, &text, &n) && n > 0 && !memchr(text, 0, n);
    return is_path ? xstrndup(text, n) : NULL;
}

/* All of them were looked at before (image_paths.h). */
static status take_image_file(const record_field *f, value *v, void *const *ret, bool *ret_fits, error *err)
{
    char *below = path_of(v), *path = below ? picture_path(f->root, below) : NULL;
    buf file = BUF_INIT;
    status st = OK;
    *ret_fits = below != NULL;
    if (below && !v->how->measure)
        st = fs_read(path, PICTURE_FILE_MOST, &file, err);
    if (below && !v->how->measure && st == OK) {
        st = picture_view_take(&f->picture->view, v->how->draws, (const unsigned char *)file.data, file.size, ret[0],
                               err);
        if (st != OK)
            error_prepend(err, "field '%s': '%s'", f->name, path);
    }
    buf_fini(&file);
    free(path);
    free(below);
    return st;
}

const field_kind field_kind_of_paths = {"image", DT_F32, false, false, "the path of a picture", take_image_file};

static const field_kind kinds[] = {
    {"number", DT_F32, false, false, "a number", take_reals},
    {"numbers", DT_F32, true, false, "numbers", take_reals},
    {"integer", DT_I64, false, false, "an integer", take_integers},
    {"integers", DT_I64, true, false, "integers", take_integers},
    {"mask", DT_I64, true, false, "values", take_mask},
    {"bytes", DT_F32, true, false, "a string of bytes", take_bytes},
    {"label", DT_I64, false, true, "a class: an integer", take_label},
    {"labels", DT_F32, false, false, "a list of classes: integers", take_labels},
    {"word", DT_I64, false, true, "a class: a word in UTF-8, not empty", take_word},
    {"text", DT_I64, false, false, "a text", take_text},
    {"image", DT_F32, false, false, "a JPEG, PNG or WebP, as a string of bytes", take_image},
};

const field_kind *field_kind_of(const char *type)
{
    for (size_t k = 0; k < COUNT_OF(kinds); k++)
        if (strcmp(kinds[k].type, type) == 0)
            return &kinds[k];
    BUG("no kind of field is called '%s'", type);
}

static status describe_misfit(const record_field *f, const value *v, error *err)
{
    buf got = BUF_INIT;
    tokenizer_input text;
    bool is_pair = record_field_is_text(f) && input_of(v->format, v->at, &text);
    v->format->describe(is_pair ? v->pair : v->at, &got);
    status st = record_field_is_text(f)
                    ? FAIL(err, E_DATA, "field '%s': '%s' is %s; expected %s", f->name, is_pair ? f->pair : f->key,
                           got.data, f->kind->expected)
                : f->rank && !record_field_is_labels(f)
                    ? FAIL(err, E_DATA, "field '%s': is %s; expected %s%" PRId64 " %s", f->name, got.data,
                           f->varies ? "1 to " : "", f->elements, f->kind->expected)
                    : FAIL(err, E_DATA, "field '%s': is %s; expected %s", f->name, got.data, f->kind->expected);
    buf_fini(&got);
    return st;
}

static status find_at(const record_field *f, const char *key, const record_format *format, const void *parsed,
                      const void **ret, error *err)
{
    *ret = format->find(parsed, key);
    if (*ret)
        return OK;
    buf keys = BUF_INIT;
    format->keys(parsed, &keys);
    status st = FAIL(err, E_DATA, "field '%s': there is no '%s'; there are: %.500s", f->name, key,
                     keys.data ? keys.data : "none");
    buf_fini(&keys);
    return st;
}

static status find_value(const record_field *f, const record_format *format, const void *parsed,
                         const record_reading *how, value *ret, error *err)
{
    *ret = (value){.format = format, .how = how};
    TRY(find_at(f, f->key, format, parsed, &ret->at, err));
    return f->pair ? find_at(f, f->pair, format, parsed, &ret->pair, err) : OK;
}

static status take_value(const record_field *f, const record_format *format, const void *parsed,
                         const record_reading *how, void *const *ret, error *err)
{
    value v;
    bool fits = false;
    record_measure *measure = how->measure;
    TRY(find_value(f, format, parsed, how, &v, err));
    TRY(f->kind->take(f, &v, ret, &fits, err));
    if (!fits)
        return describe_misfit(f, &v, err);
    if (measure && f->varies && v.n > measure->length)
        measure->length = v.n;
    if (measure) {
        measure->was_cut = measure->was_cut || v.was_cut;
        measure->reading += v.reading;
    }
    return OK;
}

static const float pixel_scale = 1.0f / 255.0f;

bool record_field_is_list(const record_field *f)
{
    return f->kind->is_list;
}

bool record_field_is_bytes(const record_field *f)
{
    return f->kind->take == take_bytes;
}

bool record_field_is_text(const record_field *f)
{
    return f->kind->take == take_text;
}

bool record_field_is_image(const record_field *f)
{
    return f->kind->take == take_image || record_field_is_path(f);
}

bool record_field_is_path(const record_field *f)
{
    return f->kind == &field_kind_of_paths;
}

status record_field_path(const record_field *f, const record_format *format, const void *parsed, char **ret, error *err)
{
    value v;
    TRY(find_value(f, format, parsed, &(record_reading){.raw = true}, &v, err));
    *ret = path_of(&v);
    return *ret ? OK : describe_misfit(f, &v, err);
}

bool record_field_has_words(const record_field *f)
{
    return f->encoder && text_encoder_has_words(f->encoder);
}

bool record_field_is_labels(const record_field *f)
{
    return f->kind->take == take_labels;
}

status record_fields_take(const record_fields *fields, const record_format *format, const void *parsed,
                          const record_reading *how, void *const *ret, error *err)
{
    data_field outputs[TEXT_FIELDS];
    for (size_t i = 0; i < fields->n; i++) {
        const record_field *f = &fields->at[i];
        size_t n = record_field_data(f, outputs);
        TRY(take_value(f, format, parsed, how, ret, err));
        if (outputs[0].bytes.channels && !how->raw && !how->measure)
            data_bytes_spread(&outputs[0], *ret);
        ret += n;
    }
    return OK;
}

static bool skips(const record_field *f, const record_format *format, const void *parsed)
{
    const void *at = format->find(parsed, f->key), *text;
    size_t n;
    return at && format->bytes(at, &text, &n) && n == strlen(f->skips) && memcmp(text, f->skips, n) == 0;
}

bool record_fields_skip(const record_fields *fields, const record_format *format, const void *parsed)
{
    bool any = false;
    for (size_t i = 0; i < fields->n; i++)
        any = any || (fields->at[i].skips && skips(&fields->at[i], format, parsed));
    return any;
}

bool record_fields_may_skip(const record_fields *fields)
{
    bool any = false;
    for (size_t i = 0; i < fields->n; i++)
        any = any || fields->at[i].skips;
    return any;
}

/* --- learning --- */

bool record_field_is_word(const record_field *f)
{
    return f->kind->take == take_word;
}

bool record_field_is_label(const record_field *f)
{
    return f->kind->is_label;
}

status record_field_learn(const record_field *f, const record_format *format, const void *parsed,
                          words *learned, int64_t *classes, error *err)
{
    int64_t label = 0;
    value v;
    const record_reading how = {.raw = true};
    if (!record_field_is_word(f)) {
        TRY(take_value(f, format, parsed, &how, (void *[]){&label}, err));
        *classes = label + 1 > *classes ? label + 1 : *classes;
        return OK;
    }
    TRY(find_value(f, format, parsed, &how, &v, err));
    char *word = word_of(&v);
    if (!word)
        return describe_misfit(f, &v, err);
    words_add(learned, word);
    free(word);
    return OK;
}

status record_field_count(const record_field *f, const record_format *format, const void *parsed, int64_t number,
                          word_counts *counts, error *err)
{
    tokenizer_input texts[2];
    value v;
    TRY(find_value(f, format, parsed, &(record_reading){.raw = true}, &v, err));
    if (!texts_of(f, &v, texts))
        return describe_misfit(f, &v, err);
    TRYF(text_encoder_count(f->encoder, &texts[0], f->pair ? &texts[1] : NULL, counts, number * f->elements, err), err,
         "field '%s'", f->name);
    return OK;
}

void record_fields_describe(const record_fields *fields, buf *ret)
{
    for (size_t i = 0; i < fields->n; i++) {
        const record_field *f = &fields->at[i];
        buf_addf(ret, "%s=%s:%s:%" PRId64 "\n", f->name, f->key, f->kind->type, f->elements);
        if (f->varies)
            buf_addf(ret, "%s varies\n", f->name);
        if (f->skips)
            buf_addf(ret, "%s skips %s\n", f->name, f->skips);
        if (f->pair)
            buf_addf(ret, "%s and %s\n", f->name, f->pair);
        if (f->encoder)
            text_encoder_describe(f->encoder, ret);
        if (f->picture)
            buf_addf(ret, "%s decoded %d %d\n", f->name, f->picture->view.decoding.turn,
                     f->picture->view.decoding.shortest);
    }
}

size_t record_field_data(const record_field *f, data_field ret[TEXT_FIELDS])
{
    if (f->encoder)
        return text_encoder_fields(f->encoder, ret);
    if (f->picture) {
        ret[0] = picture_options_field(f->picture, f->name);
        return 1;
    }
    data_field d = {.name = f->name,
                    .dtype = f->kind->dtype,
                    .rank = f->rank,
                    .classes = f->classes,
                    .classes_option = !f->is_learned ? NULL : f->words ? "vocabulary" : "fields[].classes",
                    .varies = f->varies};
    memcpy(d.dim, f->dim, sizeof d.dim);
    if (record_field_is_bytes(f))
        d.bytes = (data_bytes){.channels = 1, .scale = {pixel_scale}, .background = -1};
    ret[0] = d;
    return 1;
}
