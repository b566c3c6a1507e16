/*
 * The translation: row by row of the table, so that a key of an old generation becomes one of a later, which
 * a row further down translates in its turn.
 */
#include "common/config/allennlp.h"

#include "common/base/alloc.h"
#include "common/base/json.h"
#include "common/config/allennlp_forms.h"
#include "common/config/allennlp_table.h"
#include "common/config/config.h"
#include "common/config/merge.h"
#include "common/config/options.h"
#include "common/config/reader_sections.h"

#include <stdlib.h>
#include <string.h>

typedef struct translator {
    arena *memory;
    json_t *tree;           /* of a reader's rows: a shell whose dataset_reader it is */
    const char *reader;     /* where that stands, for messages */
    const char *own_key;    /* the first that only AllenNLP knows */
    allennlp_note_fn *note;
    void *user;
    error *err;
} translator;

/* Where a value stands: by key in an object, by index in a list. */
typedef struct place {
    json_t *within;
    const char *key; /* NULL: of a list */
    size_t index;
    const char *path; /* for messages */
} place;

static json_t *place_value(const place *p)
{
    return p->key ? json_object_get(p->within, p->key) : json_array_get(p->within, p->index);
}

/* Items keep their numbers. */
static void place_drop(const place *p)
{
    if (p->key)
        json_object_del(p->within, p->key);
    else
        json_array_set_new(p->within, p->index, json_null());
}

/* --- what a row is about --- */

/* As `values` of a row writes it: a string as it is, an object by its type, a list of one as its item. */
static const char *value_word(translator *t, const json_t *value)
{
    const json_t *named = value;
    if (json_is_object(value))
        named = json_object_get(value, "type");
    else if (json_array_size(value) == 1)
        named = json_array_get(value, 0);
    if (json_is_string(named))
        return json_string_length(named) ? json_string_value(named) : "''";
    char *text = json_text(named ? named : value);
    const char *word = arena_strdup(t->memory, text);
    free(text);
    return word;
}

static bool row_fits(translator *t, const allennlp_key *k, const json_t *value)
{
    if (!k->values[0])
        return true;
    const char *is = value_word(t, value);
    char word[64];
    for (const char *cursor = k->values; option_word(&cursor, word, sizeof word);)
        if (strcmp(word, is) == 0 || (json_is_object(value) && strcmp(word, "{...}") == 0))
            return true;
    return false;
}

/* The section at the first `n` characters of a path may be written as its type alone. */
static bool has_types(translator *t, const char *path, size_t n)
{
    const char *schema = arena_printf(t->memory, "%.*s", (int)n, path);
    for (size_t i = 0; i < allennlp_count; i++)
        if (allennlp_table[i].verdict == ALLENNLP_SECTION && strcmp(allennlp_table[i].path, schema) == 0)
            return true;
    return option_find(schema, "type", NULL);
}

/* The value at a dotted path of sections; NULL if there is none. */
static json_t *find_at(translator *t, const char *path)
{
    json_t *node = t->tree;
    for (const char *at = path; node && *at; at += *at == '.') {
        size_t n = strcspn(at, ".");
        json_t *child = json_object_getn(node, at, n);
        at += n;
        if (json_is_string(child) && strcmp(at, ".type") == 0 && has_types(t, path, (size_t)(at - path))) {
            json_t *section = json_pack("{s:O}", "type", child);
            json_object_setn_new(node, at - n, n, section);
            child = section;
        }
        node = child;
    }
    return node;
}

static const char reader[] = "dataset_reader";

/* A path of the reader whose rows are taken, as people know it. */
static const char *shown(translator *t, const char *path)
{
    size_t n = strlen(reader);
    bool is_within = strncmp(path, reader, n) == 0 && (path[n] == '.' || path[n] == '\0');
    return is_within && t->reader ? arena_printf(t->memory, "%s%s", t->reader, path + n) : path;
}

/* --- verdicts --- */

static void say(translator *t, bool is_warning, const char *text)
{
    t->note(t->user, is_warning, text);
}

/* The last key of a section that the value itself is to take the place of. */
static status check_last(translator *t, const place *p)
{
    const char *key;
    json_t *other;
    json_object_foreach(p->within, key, other)
    {
        if (strcmp(key, p->key) != 0)
            return FAIL(t->err, E_CONFIG, "%.*s%s: unknown key beside %s", (int)(strlen(p->path) - strlen(p->key)),
                        p->path, key, p->key);
    }
    return OK;
}

/* What a row of another section says of dataset_reader is said of the reader that reads files. */
static const char *in_base_reader(translator *t, const char *target)
{
    size_t n = strlen(reader);
    if (t->reader || strncmp(target, reader, n) != 0 || target[n] != '.')
        return target;
    const char *within = reader;
    for (const char *next = within; json_is_object(find_at(t, next));
         next = arena_printf(t->memory, "%s.base_reader", within))
        within = next;
    return arena_printf(t->memory, "%s%s", within, target + n);
}

/* "path=value" goes to where it belongs, unless something is there. */
static status put(translator *t, const place *p, const char *target, const char *value)
{
    target = in_base_reader(t, target);
    const json_t *there = find_at(t, target);
    bool is_section = there && there == p->within;
    bool is_given = there && !json_is_null(there) && there != place_value(p) && !is_section;
    if (is_section)
        TRY(check_last(t, p));
    if (is_given && json_equal(there, place_value(p))) {
        place_drop(p);
        return OK;
    }
    if (is_given) {
        say(t, true, arena_printf(t->memory, "%s is ignored: %s is given too", p->path, shown(t, target)));
        place_drop(p);
        return OK;
    }
    say(t, false, arena_printf(t->memory, "%s is taken as %s=%s", p->path, shown(t, target), value));
    place_drop(p);
    return merge_setting(t->tree, p->path, arena_printf(t->memory, "%s=%s", target, value), t->err);
}

static const char *compact(translator *t, const json_t *value)
{
    char *text = json_text(value);
    const char *copy = arena_strdup(t->memory, text);
    free(text);
    return copy;
}

static status put_set(translator *t, const place *p, const char *target)
{
    const char *equals = strchr(target, '=');
    return put(t, p, arena_printf(t->memory, "%.*s", (int)(equals - target), target), equals + 1);
}

static status put_list(translator *t, const place *p, const char *target)
{
    const json_t *value = place_value(p);
    const char *text = compact(t, value);
    return put(t, p, target, json_is_array(value) ? text : arena_printf(t->memory, "[%s]", text));
}

/* The address and the port of one meeting place; the port's row comes after the address'. */
static status put_meeting(translator *t, const place *p, const char *target, bool is_port)
{
    enum { DEFAULT_PORT = 29500 };
    const json_t *value = place_value(p), *there = find_at(t, target);
    bool is_right = is_port ? json_is_integer(value) : json_is_string(value);
    if (json_is_null(value)) {
        place_drop(p);
        return OK;
    }
    if (!is_right)
        return FAIL(t->err, E_CONFIG, "%s: got %s; expected %s", p->path, json_kind(value),
                    is_port ? "an integer" : "a string");
    const char *host = is_port ? json_string_value(there) : json_string_value(value);
    int n = host ? (int)strcspn(host, ":") : 0;
    const char *both = arena_printf(t->memory, "%.*s:%lld", host ? n : 9, host ? host : "127.0.0.1",
                                    is_port ? (long long)json_integer_value(value) : DEFAULT_PORT);
    place_drop(p);
    say(t, false, arena_printf(t->memory, "%s is taken as part of %s=%s", p->path, target, both));
    return merge_setting(t->tree, p->path, arena_printf(t->memory, "%s=\"%s\"", target, both), t->err);
}

/* What the rows before have left of a section. */
static status close_section(translator *t, const allennlp_key *k, const place *p)
{
    const json_t *value = place_value(p);
    const char *key = json_object_iter_key(json_object_iter((json_t *)value));
    if (!key) {
        if (!json_is_null(value) && !json_is_object(value) && !json_is_array(value))
            return FAIL(t->err, E_CONFIG, "%s: got %s; expected an object", p->path, json_kind(value));
        place_drop(p);
        return OK;
    }
    const char *names[64];
    size_t n = allennlp_names(k->path, names, COUNT_OF(names));
    const char *near = config_did_you_mean(key, names, n);
    return FAIL(t->err, E_CONFIG, "%s.%s: unknown key%s%s%s", p->path, key, near ? "; did you mean '" : "",
                near ? near : "", near ? "'?" : "");
}

static status take(translator *t, const allennlp_key *k, const place *p)
{
    switch (k->verdict) {
    case ALLENNLP_SAME:
        BUG("%s has no option", k->path);
    case ALLENNLP_HOLDS:
        place_drop(p);
        return OK;
    case ALLENNLP_MOVED:
        return put(t, p, k->target, compact(t, place_value(p)));
    case ALLENNLP_LISTED:
        return put_list(t, p, k->target);
    case ALLENNLP_SET:
        return put_set(t, p, k->target);
    case ALLENNLP_HOST:
    case ALLENNLP_PORT:
        return put_meeting(t, p, k->target, k->verdict == ALLENNLP_PORT);
    case ALLENNLP_IGNORED:
        say(t, true, arena_printf(t->memory, "%s is ignored: %s", p->path, k->note));
        place_drop(p);
        return OK;
    case ALLENNLP_REFUSED:
        return FAIL(t->err, E_CONFIG, "%s: %.200s is refused: %s", p->path, compact(t, place_value(p)),
                    k->note);
    case ALLENNLP_SECTION:
        return close_section(t, k, p);
    }
    BUG("verdict %d", (int)k->verdict);
}

/* --- the rows --- */

static status take_items(translator *t, const allennlp_key *k, json_t *list, const char *path)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        place p = {.within = list, .index = i, .path = arena_printf(t->memory, "%s[%zu]", path, i)};
        if (!json_is_null(item) && row_fits(t, k, item))
            TRY(take(t, k, &p));
    }
    return OK;
}

/* Of the section that the row calls by its schema. */
static status take_in(translator *t, const allennlp_key *k, const char *schema)
{
    const char *leaf = allennlp_leaf(k);
    const char *key = arena_printf(t->memory, "%.*s", (int)strcspn(leaf, "["), leaf);
    const char *path = arena_printf(t->memory, "%s%s%s", schema, *schema ? "." : "", key);
    json_t *value = find_at(t, path);
    if (!value || allennlp_is_ours(k))
        return OK;
    if (strchr(leaf, '['))
        return take_items(t, k, value, shown(t, path));
    if (!t->own_key && row_fits(t, k, value))
        t->own_key = arena_strdup(t->memory, shown(t, path));
    place p = {.within = find_at(t, schema), .key = key, .path = shown(t, path)};
    return row_fits(t, k, value) ? take(t, k, &p) : OK;
}

typedef struct reader_row {
    translator *t;
    const allennlp_key *key;
    const char *schema;
    status st;
} reader_row;

static void take_in_reader(void *user, json_t *section, const char *path)
{
    reader_row *r = user;
    translator t = *r->t;
    t.tree = json_pack("{s:O}", reader, section);
    t.reader = path;
    if (r->st == OK)
        r->st = take_in(&t, r->key, r->schema);
    r->t->own_key = t.own_key;
    json_decref(t.tree);
}

static status take_row(translator *t, const allennlp_key *k)
{
    const char *leaf = allennlp_leaf(k);
    size_t n = leaf == k->path ? 0 : (size_t)(leaf - k->path) - 1;
    const char *schema = arena_printf(t->memory, "%.*s", (int)n, k->path);
    if (strncmp(schema, reader, strlen(reader)) != 0)
        return take_in(t, k, schema);
    reader_row r = {.t = t, .key = k, .schema = schema};
    reader_sections_each(t->tree, take_in_reader, &r);
    return r.st;
}

status allennlp_translate(json_t *tree, allennlp_note_fn *note, void *user, error *err)
{
    translator t = {.memory = arena_create(), .tree = tree, .note = note, .user = user, .err = err};
    status st = OK;
    allennlp_forms_take(tree, note, user);
    for (size_t i = 0; i < allennlp_count && st == OK; i++)
        st = take_row(&t, &allennlp_table[i]);
    if (st == OK && t.own_key)
        allennlp_forms_count_epochs(tree, t.own_key, note, user);
    arena_destroy(&t.memory);
    return st;
}
