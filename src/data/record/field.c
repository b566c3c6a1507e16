/* See field.h. */
#include "data/record/field.h"

#include "common/base/utf8.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct value {
    const record_format *format;
    const void *at;
} value;

struct field_kind {
    const char *type;
    dtype dtype;
    bool is_label;      /* left out where labels are not read */
    const char *expected;
    /* False: the value is none of this kind. What is of the kind, and wrong all the same, is E_DATA. */
    status (*take)(const record_field *f, const value *v, void *ret, bool *ret_fits, error *err);
};

/* --- values --- */

static status take_reals(const record_field *f, const value *v, void *ret, bool *ret_fits, error *err)
{
    float *out = ret;
    *ret_fits = v->format->count(v->at) == (size_t)f->elements;
    for (size_t i = 0; *ret_fits && i < (size_t)f->elements; i++) {
        double x;
        *ret_fits = v->format->real(v->at, i, &x);
        if (*ret_fits && !isfinite((float)x))
            return FAIL(err, E_DATA, "field '%s': element %zu is no finite float32", f->name, i);
        out[i] = (float)x;
    }
    return OK;
}

static status take_integers(const record_field *f, const value *v, void *ret, bool *ret_fits, error *err)
{
    (void)err;
    int64_t *out = ret;
    *ret_fits = v->format->count(v->at) == (size_t)f->elements;
    for (size_t i = 0; *ret_fits && i < (size_t)f->elements; i++)
        *ret_fits = v->format->integer(v->at, i, &out[i]);
    return OK;
}

static status take_bytes(const record_field *f, const value *v, void *ret, bool *ret_fits, error *err)
{
    const void *bytes;
    size_t n;
    *ret_fits = v->format->bytes(v->at, &bytes, &n);
    if (!*ret_fits)
        return OK;
    if (n != (size_t)f->elements)
        return FAIL(err, E_DATA, "field '%s': has %zu bytes; its shape says %" PRId64, f->name, n, f->elements);
    memcpy(ret, bytes, n);
    return OK;
}

static status take_label(const record_field *f, const value *v, void *ret, bool *ret_fits, error *err)
{
    int64_t x;
    *ret_fits = v->format->count(v->at) == 1 && v->format->integer(v->at, 0, &x);
    if (!*ret_fits)
        return OK;
    if (f->classes && (x < 0 || x >= f->classes))
        return FAIL(err, E_DATA, "field '%s': class %" PRId64 "; expected 0 to %" PRId64 "%s", f->name, x,
                    f->classes - 1, f->is_learned ? ", as the training data have them" : "");
    if (x < 0 || x == INT64_MAX)
        return FAIL(err, E_DATA, "field '%s': class %" PRId64 "; classes are counted from 0", f->name, x);
    *(int64_t *)ret = x;
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

static status take_word(const record_field *f, const value *v, void *ret, bool *ret_fits, error *err)
{
    char *word = word_of(v);
    status st = OK;
    *ret_fits = word != NULL;
    int32_t id = word ? words_find(f->words, word) : 0;
    if (id < 0)
        st = FAIL(err, E_DATA, "field '%s': '%.100s' is no word of the training data", f->name, word);
    else if (word)
        *(int64_t *)ret = id;
    free(word);
    return st;
}

/* Here a kind of texts belongs, once there is a tokenizer. */
static const field_kind kinds[] = {
    {"number", DT_F32, false, "a number", take_reals},
    {"numbers", DT_F32, false, "numbers", take_reals},
    {"integer", DT_I64, false, "an integer", take_integers},
    {"integers", DT_I64, false, "integers", take_integers},
    {"bytes", DT_F32, false, "a string of bytes", take_bytes},
    {"label", DT_I64, true, "a class: an integer", take_label},
    {"word", DT_I64, true, "a class: a word in UTF-8, not empty", take_word},
};

static bool is_of(const field_kind *k, const char *type)
{
    return strcmp(k->type, type) == 0;
}

static status describe_misfit(const record_field *f, const value *v, error *err)
{
    buf got = BUF_INIT;
    v->format->describe(v->at, &got);
    status st = f->rank
                    ? FAIL(err, E_DATA, "field '%s': is %s; expected %" PRId64 " %s", f->name, got.data,
                           f->elements, f->kind->expected)
                    : FAIL(err, E_DATA, "field '%s': is %s; expected %s", f->name, got.data, f->kind->expected);
    buf_fini(&got);
    return st;
}

static status find_value(const record_field *f, const record_format *format, const void *parsed, value *ret,
                         error *err)
{
    *ret = (value){.format = format, .at = format->find(parsed, f->key)};
    if (ret->at)
        return OK;
    buf keys = BUF_INIT;
    format->keys(parsed, &keys);
    status st = FAIL(err, E_DATA, "field '%s': there is no '%s'; there are: %.500s", f->name, f->key,
                     keys.data ? keys.data : "none");
    buf_fini(&keys);
    return st;
}

static status take_value(const record_field *f, const record_format *format, const void *parsed, void *ret,
                         error *err)
{
    value v;
    bool fits = false;
    TRY(find_value(f, format, parsed, &v, err));
    TRY(f->kind->take(f, &v, ret, &fits, err));
    return fits ? OK : describe_misfit(f, &v, err);
}

static const float pixel_scale = 1.0f / 255.0f;

/* In place, from the last: a float32 is longer than its byte. */
static void spread_bytes(const record_field *f, void *at)
{
    const unsigned char *bytes = at;
    float *out = at;
    for (int64_t i = f->elements; i-- > 0;)
        out[i] = (float)bytes[i] * pixel_scale;
}

status record_fields_take(const record_fields *fields, const record_format *format, const void *parsed,
                          bool raw, void *const *ret, error *err)
{
    for (size_t i = 0; i < fields->n; i++) {
        const record_field *f = &fields->at[i];
        TRY(take_value(f, format, parsed, ret[i], err));
        if (f->kind->take == take_bytes && !raw)
            spread_bytes(f, ret[i]);
    }
    return OK;
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
    if (!record_field_is_word(f)) {
        TRY(take_value(f, format, parsed, &label, err));
        *classes = label + 1 > *classes ? label + 1 : *classes;
        return OK;
    }
    TRY(find_value(f, format, parsed, &v, err));
    char *word = word_of(&v);
    if (!word)
        return describe_misfit(f, &v, err);
    words_add(learned, word);
    free(word);
    return OK;
}

/* --- what the configuration says --- */

static status read_shape(const config *section, record_field *f, error *err)
{
    const json_t *shape = config_json(section, "shape");
    size_t n = json_array_size(shape), elements = 1;
    f->elements = 1;
    if (!shape)
        return OK;
    if (n == 0 || n > TENSOR_RANK - 1)
        return FAIL(err, E_CONFIG, "%s.shape: has %zu dimensions; expected 1 to %d", config_path(section), n,
                    TENSOR_RANK - 1);
    f->rank = (int32_t)n;
    for (size_t i = 0; i < n; i++) {
        f->dim[i] = json_integer_value(json_array_get(shape, i));
        if (!size_mul(elements, (size_t)f->dim[i], &elements) || elements > INT32_MAX)
            return FAIL(err, E_CONFIG, "%s.shape: an example of more than %d values", config_path(section),
                        INT32_MAX);
    }
    f->elements = (int64_t)elements;
    return OK;
}

static status read_words(record_field *f, const json_t *list, const char *origin, error *err)
{
    f->words = words_create();
    if (!json_is_array(list) || json_array_size(list) == 0)
        return FAIL(err, E_DATA, "'%s': has no list of words for field '%s'", origin, f->name);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *word = json_string_value(json_array_get(list, i));
        if (!word || (size_t)words_add(f->words, word) != i)
            return FAIL(err, E_DATA, "'%s': word %zu of field '%s' is no string, or not the first of its kind",
                        origin, i, f->name);
    }
    f->classes = words_count(f->words);
    return OK;
}

/* What a vocabulary says of a field: {"label": {"label": 10, "kind": ["cat", "dog"]}}. */
static status read_classes(record_field *f, const json_t *vocabulary, const char *origin, error *err)
{
    const json_t *known = json_object_get(json_object_get(vocabulary, "label"), f->name);
    if (record_field_is_word(f))
        return read_words(f, known, origin, err);
    f->classes = json_integer_value(known);
    if (f->classes < 1)
        return FAIL(err, E_DATA, "'%s': does not say how many classes field '%s' has", origin, f->name);
    return OK;
}

static bool learns_classes(const config *section)
{
    const char *type = config_str(section, "type");
    return strcmp(type, "word") == 0 || (strcmp(type, "label") == 0 && !config_has(section, "classes"));
}

static status read_field(const config *section, arena *memory, record_field *f, error *err)
{
    const char *type = config_str(section, "type"), *key = config_str(section, "key");
    f->name = arena_strdup(memory, config_str(section, "name"));
    f->key = key ? arena_strdup(memory, key) : f->name;
    for (size_t k = 0; k < COUNT_OF(kinds); k++)
        if (is_of(&kinds[k], type))
            f->kind = &kinds[k];
    BUG_ON(!f->kind);
    f->classes = config_has(section, "classes") ? config_int(section, "classes") : 0;
    f->is_learned = learns_classes(section);
    return read_shape(section, f, err);
}

static status check_name(const record_fields *fields, const record_field *f, const config *section, error *err)
{
    for (size_t i = 0; i < fields->n; i++)
        if (strcmp(fields->at[i].name, f->name) == 0)
            return FAIL(err, E_CONFIG, "%s.name: '%s' is the name of another field already",
                        config_path(section), f->name);
    if (fields->n == DATA_FIELDS)
        return FAIL(err, E_CONFIG, "%s: one field too many; an example has at most %d", config_path(section),
                    DATA_FIELDS);
    return OK;
}

static const config *field_section(const config *reader, size_t i)
{
    char path[32];
    snprintf(path, sizeof path, "fields[%zu]", i);
    return config_section(reader, path);
}

static status read_fields(const reader_request *request, const record_format *format, const json_t *vocabulary,
                          record_fields *ret, error *err)
{
    size_t n = config_count(request->reader, "fields");
    for (size_t i = 0; i < n; i++) {
        const config *section = field_section(request->reader, i);
        record_field f = {.name = NULL};
        TRY(read_field(section, ret->memory, &f, err));
        TRY(check_name(ret, &f, section, err));
        if (f.kind->take == take_bytes && !format->has_bytes)
            return FAIL(err, E_CONFIG,
                        "%s.type: bytes: strings of %s are text; give integers or numbers as lists",
                        config_path(section), format->type);
        bool is_read = !(f.kind->is_label && request->without_labels);
        bool is_known = vocabulary && f.is_learned;
        if (!is_read && !(is_known && record_field_is_word(&f) && !ret->unread.kind))
            continue;
        record_field *kept = is_read ? &ret->at[ret->n++] : &ret->unread;
        *kept = f;
        if (is_known)
            TRY(read_classes(kept, vocabulary, request->vocabulary->origin, err));
    }
    if (ret->n == 0)
        return FAIL(err, E_CONFIG, "%s.fields: names no field to read", config_path(request->reader));
    return OK;
}

status record_fields_read(const reader_request *request, const record_format *format, record_fields *ret,
                          error *err)
{
    record_fields fields = {.memory = NULL};
    json_t *vocabulary = NULL;
    const reader_vocabulary *given = request->vocabulary;
    if (given)
        TRY(json_parse(given->text, strlen(given->text), given->origin, E_DATA, &vocabulary, err));
    fields.memory = arena_create();
    status st = read_fields(request, format, vocabulary, &fields, err);
    json_decref(vocabulary);
    if (st == OK)
        *ret = fields;
    else
        record_fields_fini(&fields);
    return st;
}

void record_fields_fini(record_fields *fields)
{
    for (size_t i = 0; i < fields->n; i++)
        words_destroy(&fields->at[i].words);
    words_destroy(&fields->unread.words);
    arena_destroy(&fields->memory);
    *fields = (record_fields){.n = 0};
}

bool record_fields_learn(const config *reader)
{
    bool any = false;
    for (size_t i = 0; i < config_count(reader, "fields"); i++)
        any = any || learns_classes(field_section(reader, i));
    return any && !config_has(reader, "vocabulary");
}

void record_fields_describe(const record_fields *fields, buf *ret)
{
    for (size_t i = 0; i < fields->n; i++) {
        const record_field *f = &fields->at[i];
        buf_addf(ret, "%s=%s:%s:%" PRId64 "\n", f->name, f->key, f->kind->type, f->elements);
    }
}

data_field record_field_data(const record_field *f)
{
    data_field d = {.name = f->name, .dtype = f->kind->dtype, .rank = f->rank, .classes = f->classes};
    memcpy(d.dim, f->dim, sizeof d.dim);
    if (f->kind->take == take_bytes)
        d.bytes = (data_bytes){.channels = 1, .scale = {pixel_scale}, .background = -1};
    return d;
}
