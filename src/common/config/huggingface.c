#include "common/config/huggingface.h"

#include "common/base/fs.h"
#include "common/base/json.h"
#include "common/config/config.h"
#include "common/config/huggingface_value.h"
#include "common/config/options.h"
#include "common/config/reader_sections.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct setting {
    const char *networks, *key, *theirs, *initial;
    bool bound;
} setting;

typedef struct fixed {
    const char *networks, *theirs, *accepted;
    bool said;
} fixed;

static const setting settings[] = {
#define SETTING(...) {__VA_ARGS__},
#define FIXED(...)
#define IGNORED(...)
#include "common/config/huggingface.def"
#undef SETTING
#undef FIXED
};

static const fixed fixed_keys[] = {
#define SETTING(...)
#define FIXED(...) {__VA_ARGS__},
#include "common/config/huggingface.def"
#undef FIXED
#undef IGNORED
};

static const char *const ignored[] = {
#define FIXED(...)
#define IGNORED(words) words,
#include "common/config/huggingface.def"
#undef SETTING
#undef FIXED
#undef IGNORED
};

static const char networks[] = "bert roberta distilbert electra albert gpt2 llama mistral qwen2";

typedef struct reading {
    arena *memory;
    json_t *section; /* `model` */
    json_t *given;   /* the same as it was written */
    json_t *theirs;  /* config.json */
    const char *file, *network, *head;
} reading;

/* --- the table --- */

static bool has_word(const char *list, const char *word)
{
    char item[64];
    while (option_word(&list, item, sizeof item))
        if (strcmp(item, word) == 0)
            return true;
    return false;
}

static bool is_of(const char *list, const char *network, const char *head)
{
    char with_head[64];
    snprintf(with_head, sizeof with_head, "%s/%s", network, head);
    return has_word(list, network) || has_word(list, with_head);
}

static const char *head_of(const json_t *section)
{
    const char *head = json_string_value(json_object_get(section, "head"));
    return head ? head : "qa";
}

/* What a section of this type calls the key; NULL: it has none. */
static const char *key_here(const json_t *section, const char *key)
{
    const char *type = json_string_value(json_object_get(section, "type"));
    bool is_hidden = strcmp(key, "dropout") == 0 && option_find("model", "hidden_dropout", type);
    key = is_hidden ? "hidden_dropout" : key;
    return option_find("model", key, type) ? key : NULL;
}

static bool is_ignored(const char *key)
{
    for (size_t i = 0; i < COUNT_OF(ignored); i++)
        if (has_word(ignored[i], key))
            return true;
    return key[0] == '_';
}

/* --- config.json into the section --- */

static status not_supported(const reading *r, const char *key, const json_t *value, const char *use,
                            error *err)
{
    char *text = json_text(value);
    status st = FAIL(err, E_CONFIG, "'%s': %s: %.200s is not supported%s%s", r->file, key, text,
                     use ? "; expected " : "", use ? use : "");
    free(text);
    return st;
}

static status check_fixed(const reading *r, const fixed *row, error *err)
{
    const json_t *value = json_object_get(r->theirs, row->theirs);
    if (!value || !has_word(row->networks, r->network))
        return OK;
    json_t *accepted = json_loads(row->accepted, 0, NULL);
    bool is_accepted = false;
    for (size_t i = 0; i < json_array_size(accepted); i++)
        is_accepted = is_accepted || json_equal(json_array_get(accepted, i), value);
    char *use = json_text(json_array_get(accepted, 0));
    status st = is_accepted ? OK : not_supported(r, row->theirs, value, use, err);
    free(use);
    json_decref(accepted);
    return st;
}

static bool is_known(const reading *r, const char *key)
{
    for (size_t i = 0; i < COUNT_OF(settings); i++)
        if (is_of(settings[i].networks, r->network, r->head) && strcmp(settings[i].theirs, key) == 0)
            return true;
    for (size_t i = 0; i < COUNT_OF(fixed_keys); i++)
        if (has_word(fixed_keys[i].networks, r->network) && strcmp(fixed_keys[i].theirs, key) == 0)
            return true;
    return is_ignored(key);
}

static status check_keys(const reading *r, error *err)
{
    const char *key;
    json_t *value;
    for (size_t i = 0; i < COUNT_OF(fixed_keys); i++)
        TRY(check_fixed(r, &fixed_keys[i], err));
    json_object_foreach(r->theirs, key, value)
    {
        if (!is_known(r, key))
            return FAIL(err, E_CONFIG,
                        "'%s': %s: not a key of model_type '%s' that this version knows; if it "
                        "changes nothing of what is computed, take it out",
                        r->file, key, r->network);
    }
    return OK;
}

static status fail_other(const reading *r, const char *key, const json_t *ours, const char *theirs,
                         const json_t *value, error *err)
{
    char *said = json_text(ours), *is = json_text(value);
    status st = FAIL(err, E_CONFIG,
                     "model.%s: got %.100s, but '%s' has %s %.100s; leave it out, for "
                     "transformer_model_name says it",
                     key, said, r->file, theirs, is);
    free(said);
    free(is);
    return st;
}

static bool is_said(const json_t *section, const char *key)
{
    const json_t *value = json_object_get(section, key);
    return value && !json_is_null(value);
}

/* What both say must agree; a key that is null says nothing. */
static status lay(reading *r, const char *key, const char *theirs, json_t *value, bool bound,
                  error *err)
{
    const json_t *ours = json_object_get(r->section, key);
    if (!is_said(r->section, key))
        json_object_set(r->section, key, value);
    else if (huggingface_same(ours, value))
        return OK;
    else if (!is_said(r->given, key))
        return not_supported(r, theirs, value, "what the others that are `dropout` here have", err);
    else if (bound)
        return fail_other(r, key, ours, theirs, value, err);
    return OK;
}

static status lay_setting(reading *r, const setting *s, error *err)
{
    const char *key = key_here(r->section, s->key);
    if (!key)
        return OK;
    json_t *given = json_object_get(r->theirs, s->theirs);
    json_t *theirs = given ? json_incref(given) : json_loads(s->initial, JSON_DECODE_ANY, NULL);
    json_t *value = huggingface_value_here(s->key, theirs);
    if (!value) {
        status st = not_supported(r, s->theirs, theirs, huggingface_value_expected(s->key), err);
        json_decref(theirs);
        return st;
    }
    json_decref(theirs);
    status st = lay(r, key, s->theirs, value, s->bound, err);
    json_decref(value);
    return st;
}

/* Types that are no network themselves have a key that says which one they are of. */
static status lay_network(reading *r, error *err)
{
    const char *type = json_string_value(json_object_get(r->section, "type"));
    json_t *value = json_string(r->network);
    status st = OK;
    if (!has_word(networks, type))
        st = lay(r, "network", "model_type", value, true, err);
    else if (strcmp(type, r->network) != 0)
        st = fail_other(r, "type", json_object_get(r->section, "type"), "model_type", value, err);
    json_decref(value);
    return st;
}

static void lay_path(reading *r, const char *folder)
{
    json_t *pretrained = json_object_get(r->section, "pretrained");
    if (!json_is_object(pretrained)) {
        pretrained = json_object();
        json_object_set_new(r->section, "pretrained", pretrained);
    }
    if (!json_object_get(pretrained, "path"))
        json_object_set_new(pretrained, "path", json_string(folder));
}

static status take(reading *r, error *err)
{
    r->network = json_string_value(json_object_get(r->theirs, "model_type"));
    if (!r->network || !has_word(networks, r->network))
        return FAIL(err, E_CONFIG, "'%s': model_type: %s%s%s; supported: %s", r->file,
                    r->network ? "'" : "", r->network ? r->network : "missing",
                    r->network ? "' is not supported" : "", networks);
    r->given = json_deep_copy(r->section);
    TRY(lay_network(r, err));
    TRY(check_keys(r, err));
    for (size_t i = 0; i < COUNT_OF(settings); i++)
        if (is_of(settings[i].networks, r->network, r->head))
            TRY(lay_setting(r, &settings[i], err));
    return OK;
}

static status take_folder(reading *r, const char *folder, error *err)
{
    r->file = arena_printf(r->memory, "%s/config.json", folder);
    TRY(json_read_file(r->file, &r->theirs, err));
    huggingface_unfold(r->theirs);
    TRY(take(r, err));
    lay_path(r, folder);
    return OK;
}

bool huggingface_sets(const char *key)
{
    for (size_t i = 0; i < COUNT_OF(settings); i++)
        if (strcmp(settings[i].key, key) == 0)
            return true;
    return strcmp(key, "network") == 0;
}

/* Does a section say all that its config.json would? */
static bool says_all(const json_t *section)
{
    const char *type = json_string_value(json_object_get(section, "type"));
    const char *network = json_string_value(json_object_get(section, "network"));
    network = network ? network : type;
    for (size_t i = 0; i < COUNT_OF(settings); i++) {
        const char *key = key_here(section, settings[i].key);
        if (key && is_of(settings[i].networks, network, head_of(section)) && !json_object_get(section, key))
            return false;
    }
    return has_word(networks, network);
}

static status lay_model(json_t *written, const char *file, error *err)
{
    json_t *section = json_object_get(written, "model");
    const char *type = json_string_value(json_object_get(section, "type"));
    const char *name = json_string_value(json_object_get(section, "transformer_model_name"));
    const char *folder = NULL;
    reading r = {.memory = arena_create(), .section = section, .head = head_of(section)};
    if (!type || !name || !option_find("model", "transformer_model_name", type)) {
        arena_destroy(&r.memory); /* what is wrong with it is said when the configuration is resolved */
        return OK;
    }
    status st = huggingface_find(name, file, r.memory, &folder, says_all(section) ? NULL : err);
    if (st == OK)
        st = take_folder(&r, folder, err);
    else if (says_all(section))
        st = OK;
    json_decref(r.theirs);
    json_decref(r.given);
    arena_destroy(&r.memory);
    return st;
}

/* What a tokenizer may be beside a path. */
#define NO_FOLDERS "characters bytes whitespace just_spaces letters_digits character spacy"

/* A name that is no path as the folder it stands for; one that is not found stays, for the reader to refuse. */
static void lay_folder(json_t *reader, const char *key, const char *file)
{
    const char *name = json_string_value(json_object_get(reader, key)), *folder = NULL;
    arena *memory = arena_create();
    if (name && !has_word(NO_FOLDERS, name) && !fs_exists(name) &&
        huggingface_find(name, file, memory, &folder, NULL) == OK)
        json_object_set_new(reader, key, json_string(folder));
    arena_destroy(&memory);
}

static void lay_tokenizer(void *user, json_t *reader, const char *place)
{
    const char *const *file = user;
    (void)place;
    lay_folder(reader, "transformer_model_name", *file);
    lay_folder(reader, "tokenizer", *file);
}

status huggingface_settings(json_t *written, const char *file, error *err)
{
    reader_sections_each(written, lay_tokenizer, &file);
    return lay_model(written, file, err);
}

/* --- the section as config.json --- */

json_t *huggingface_config(const json_t *model, const char *network)
{
    json_t *out = json_object();
    json_object_set_new(out, "model_type", json_string(network));
    for (size_t i = 0; i < COUNT_OF(settings); i++) {
        const setting *s = &settings[i];
        const char *key = key_here(model, s->key);
        const json_t *value = key ? json_object_get(model, key) : NULL;
        if (!value || !is_of(s->networks, network, head_of(model)))
            continue;
        json_object_set_new(out, s->theirs, huggingface_value_there(s->key, value));
    }
    for (size_t i = 0; i < COUNT_OF(fixed_keys); i++) {
        const fixed *row = &fixed_keys[i];
        if (!row->said || !has_word(row->networks, network))
            continue;
        json_t *accepted = json_loads(row->accepted, 0, NULL);
        json_object_set(out, row->theirs, json_array_get(accepted, 0));
        json_decref(accepted);
    }
    return out;
}
