/* See field.h: what the configuration says of fields. */
#include "data/record/field.h"

#include "common/base/json.h"

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
    bool has_most = config_has(section, "most"), has_shape = config_has(section, "shape");
    f->elements = 1;
    if (!record_field_is_list(f))
        return OK;
    if (has_most == has_shape)
        return FAIL(err, E_CONFIG,
                    "%s: wants one of shape (how many values every record has) and most (how many it may have)",
                    config_path(section));
    if (has_shape)
        return read_shape(section, f, err);
    read_most(section, f);
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
    f->kind = field_kind_of(type);
    f->classes = config_has(section, "classes") ? config_int(section, "classes") : 0;
    f->is_learned = learns_classes(section);
    return read_extent(section, f, err);
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

/* Fields that vary are padded together, so they may be equally long. */
static status check_most(const record_fields *fields, const record_field *f, const config *section, error *err)
{
    for (size_t i = 0; f->varies && i < fields->n; i++)
        if (fields->at[i].varies && fields->at[i].elements != f->elements)
            return FAIL(err, E_CONFIG,
                        "%s.most: %lld, but %lld for field '%s'; fields of unlike length are padded together, so "
                        "all have the same",
                        config_path(section), (long long)f->elements, (long long)fields->at[i].elements,
                        fields->at[i].name);
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
        TRY(check_most(ret, &f, section, err));
        if (record_field_is_bytes(&f) && !format->has_bytes)
            return FAIL(err, E_CONFIG,
                        "%s.type: bytes: strings of %s are text; give integers or numbers as lists",
                        config_path(section), format->type);
        bool is_read = !(record_field_is_label(&f) && request->without_labels);
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
