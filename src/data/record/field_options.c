/* See field.h: what the configuration says of fields. */
#include "data/record/field.h"

#include "common/base/json.h"
#include "data/record/form.h"
#include "data/record/image_paths.h"

#include <stdio.h>
#include <string.h>

static status read_shape(const config *section, record_field *f, error *err)
{
    const json_t *shape = config_json(section, "shape");
    size_t n = json_array_size(shape), elements = 1;
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

/* A list of any number of values up to `most`. */
static void read_most(const config *section, record_field *f)
{
    f->varies = true;
    f->rank = 1;
    f->dim[0] = f->elements = config_int(section, "most");
    if (config_has(section, "filler"))
        f->filler = config_f64(section, "filler");
}

static status read_extent(const config *section, record_field *f, error *err)
{
    f->elements = 1;
    if (record_field_is_text(f))
        f->elements = config_int(section, "most");
    if (record_field_is_labels(f)) {
        f->rank = 1;
        f->dim[0] = f->elements = f->classes;
        f->classes = 0;
    }
    if (!record_field_is_list(f))
        return OK;
    bool has_most = config_has(section, "most"), has_shape = config_has(section, "shape");
    if (has_most == has_shape)
        return FAIL(err, E_CONFIG,
                    "%s: wants one of shape (how many values every record has) and most (how many it may have)",
                    config_path(section));
    if (has_shape)
        return read_shape(section, f, err);
    read_most(section, f);
    return OK;
}

/* How texts become tokens is said once for the reader. */
static status open_text(const reader_request *request, const json_t *vocabulary, record_field *f, error *err)
{
    char option[64];
    const config *reader = request->reader;
    snprintf(option, sizeof option, "%s.tokenizer", config_path(reader));
    const text_encoder_options o = {.tokenizer = {.option = option,
                                                  .path = config_str(reader, "tokenizer"),
                                                  .vocabulary = vocabulary,
                                                  .origin = vocabulary ? request->vocabulary->origin : NULL},
                                    .most = f->elements,
                                    .has_pair = f->pair != NULL,
                                    .refuses_long = strcmp(config_str(reader, "on_long"), "fail") == 0,
                                    .has_words = true,
                                    .words = word_choice_of(reader),
                                    .words_grow = vocabulary && request->vocabulary->grows};
    if (!o.tokenizer.path)
        return FAIL(err, E_CONFIG, "%s: null, but field '%s' is a text; name a tokenizer.json, or its folder, or say "
                                   "\"whitespace\"", option, f->name);
    f->varies = true;
    f->rank = 1;
    f->dim[0] = f->elements;
    return text_encoder_open(&o, &f->encoder, err);
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

/* Classes, or by which tokenizer texts are read. */
static bool learns(const config *section)
{
    const char *type = config_str(section, "type");
    return strcmp(type, "text") == 0 || strcmp(type, "word") == 0 ||
           (strcmp(type, "label") == 0 && !config_has(section, "classes"));
}

/* Its changes are those of the reader. */
static status read_picture(const config *section, const config *augment, arena *memory, record_field *f, error *err)
{
    f->picture = arena_alloc(memory, sizeof *f->picture);
    return picture_options_read(section, augment, f->picture, err);
}

static status read_field(const config *section, const config *augment, arena *memory, record_field *f, error *err)
{
    const char *type = config_str(section, "type"), *key = config_str(section, "key");
    f->name = arena_strdup(memory, config_str(section, "name"));
    f->key = key ? arena_strdup(memory, key) : f->name;
    f->kind = field_kind_of(type);
    f->classes = config_has(section, "classes") ? config_int(section, "classes") : 0;
    f->is_learned = learns(section) && !record_field_is_text(f);
    const char *pair = config_str(section, "pair");
    f->pair = pair ? arena_strdup(memory, pair) : NULL;
    if (record_field_is_image(f))
        TRY(read_picture(section, augment, memory, f, err));
    return read_extent(section, f, err);
}

static bool has_name(const record_field *f, const char *name)
{
    data_field outputs[TEXT_FIELDS];
    bool any = strcmp(f->name, name) == 0;
    for (size_t i = record_field_data(f, outputs); i-- > 0;)
        any = any || strcmp(outputs[i].name, name) == 0;
    return any;
}

static status check_name(const record_fields *fields, const char *name, const char *place, error *err)
{
    for (size_t i = 0; i < fields->n; i++)
        if (has_name(&fields->at[i], name))
            return FAIL(err, E_CONFIG, "%s.name: '%s' is the name of another field already", place, name);
    return OK;
}

/* All texts become fields of the same names. */
static status check_one_text(const record_fields *fields, const record_field *f, const char *place, error *err)
{
    for (size_t i = 0; record_field_is_text(f) && i < fields->n; i++)
        if (record_field_is_text(&fields->at[i]))
            return FAIL(err, E_CONFIG,
                        "%s.type: '%s' is a second text beside '%s'; a reader has one, or two together by `pair`",
                        place, f->name, fields->at[i].name);
    return OK;
}

static status check_names(const record_fields *fields, const record_field *f, const char *place, error *err)
{
    data_field outputs[TEXT_FIELDS];
    size_t all = record_field_data(f, outputs);
    TRY(check_one_text(fields, f, place, err));
    TRY(check_name(fields, f->name, place, err));
    for (size_t i = 0; i < all; i++)
        TRY(check_name(fields, outputs[i].name, place, err));
    for (size_t i = 0; i < fields->n; i++)
        all += record_field_data(&fields->at[i], (data_field[TEXT_FIELDS]){{0}});
    if (all > DATA_FIELDS)
        return FAIL(err, E_CONFIG, "%s: one field too many; an example has at most %d", place, DATA_FIELDS);
    return OK;
}

/* Fields that vary are padded together, so they may be equally long. */
static status check_most(const record_fields *fields, const record_field *f, const char *place, error *err)
{
    for (size_t i = 0; f->varies && i < fields->n; i++)
        if (fields->at[i].varies && fields->at[i].elements != f->elements)
            return FAIL(err, E_CONFIG,
                        "%s.most: %lld, but %lld for field '%s'; fields of unlike length are padded together, so "
                        "all have the same",
                        place, (long long)f->elements, (long long)fields->at[i].elements, fields->at[i].name);
    return OK;
}

static const config *field_section(const config *reader, size_t i)
{
    char path[32];
    snprintf(path, sizeof path, "fields[%zu]", i);
    return config_section(reader, path);
}

/* Takes `f`, whose encoder it then owns, unless it is a label that is not read. */
static status add_field(const reader_request *request, const json_t *vocabulary, record_field f, const char *place,
                        record_fields *ret, error *err)
{
    if (record_field_is_text(&f))
        TRY(open_text(request, vocabulary, &f, err));
    status st = check_names(ret, &f, place, err);
    if (st == OK)
        st = check_most(ret, &f, place, err);
    if (st != OK) {
        text_encoder_destroy(&f.encoder);
        return st;
    }
    bool is_label = record_field_is_label(&f) || record_field_is_labels(&f);
    bool is_read = !(is_label && request->without_labels);
    bool is_known = vocabulary && f.is_learned;
    if (!is_read && !(is_known && record_field_is_word(&f) && !ret->unread.kind))
        return OK;
    record_field *kept = is_read ? &ret->at[ret->n++] : &ret->unread;
    *kept = f;
    kept->grows = is_known && request->vocabulary->grows;
    return is_known ? read_classes(kept, vocabulary, request->vocabulary->origin, err) : OK;
}

static status read_form(const record_form *form, const reader_request *request, const json_t *vocabulary,
                        record_fields *ret, error *err)
{
    record_field given[2];
    size_t n = record_form_fields(form, request->reader, ret->memory, given);
    for (size_t i = 0; i < n; i++)
        TRY(add_field(request, vocabulary, given[i], config_path(request->reader), ret, err));
    return OK;
}

static status read_fields(const reader_request *request, const record_format *format, const json_t *vocabulary,
                          record_fields *ret, error *err)
{
    const record_form *form = record_form_of(request->reader);
    if (form)
        return read_form(form, request, vocabulary, ret, err);
    size_t n = config_count(request->reader, "fields");
    const config *augment = config_has(request->reader, "augment") ? config_section(request->reader, "augment") : NULL;
    for (size_t i = 0; i < n; i++) {
        const config *section = field_section(request->reader, i);
        record_field f = {.name = NULL};
        TRY(read_field(section, augment, ret->memory, &f, err));
        if (record_field_is_bytes(&f) && !format->has_bytes)
            return FAIL(err, E_CONFIG, "%s.type: bytes: strings of %s are text; give integers or numbers as lists",
                        config_path(section), format->type);
        if (record_field_is_image(&f) && !format->has_bytes) {
            f.kind = &field_kind_of_paths;
            TRY(image_paths_root(request, ret->memory, &f.root, err));
        }
        TRY(add_field(request, vocabulary, f, config_path(section), ret, err));
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
    TRY(reader_vocabulary_parse(request->vocabulary, &vocabulary, err));
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
    for (size_t i = 0; i < fields->n; i++) {
        words_destroy(&fields->at[i].words);
        text_encoder_destroy(&fields->at[i].encoder);
    }
    words_destroy(&fields->unread.words);
    arena_destroy(&fields->memory);
    *fields = (record_fields){.n = 0};
}

bool record_fields_learn(const config *reader)
{
    bool any = record_form_of(reader) != NULL;
    for (size_t i = 0; i < config_count(reader, "fields"); i++)
        any = any || learns(field_section(reader, i));
    return any && (!config_has(reader, "vocabulary") || config_bool(reader, "extend_vocabulary"));
}
