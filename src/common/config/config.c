/*
 * A configuration: the resolved tree and a node for every section in it, made once at loading, so
 * that look-ups only read.
 */
#include "common/config/config.h"

#include "common/base/alloc.h"
#include "common/base/json.h"
#include "common/config/allennlp.h"
#include "common/config/from_archive.h"
#include "common/config/huggingface.h"
#include "common/config/jsonnet.h"
#include "common/config/merge.h"
#include "common/config/options.h"
#include "common/config/resolve.h"
#include "common/config/resolved.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct config_tree {
    arena *memory; /* paths */
    json_t *json;
    config *nodes; /* [n_nodes]; the first is the top */
    size_t n_nodes, cap;
    config_note *notes; /* [n_notes] */
    size_t n_notes, notes_cap;
} config_tree;

struct config {
    config_tree *tree;
    const json_t *json;
    const char *path;
    const char *schema; /* of its rows in the table */
};

/* --- loading --- */

static status apply_environment(json_t *tree, error *err)
{
    const char *text = getenv("TEQUIO_SET");
    status st = OK;
    while (text && *text && st == OK) {
        size_t n = strcspn(text, "\n");
        char *line = xstrndup(text, n);
        if (line[strspn(line, " \t\r")])
            st = merge_setting(tree, "TEQUIO_SET", line, err);
        free(line);
        text += n + (text[n] == '\n');
    }
    return st;
}

/* What is no jsonnet: "key=value" or "key: value", as other programs take them? */
static bool is_bare_setting(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.[]";
    size_t n = strspn(text, letters);
    return n > 0 && (text[n] == '=' || text[n] == ':') && text[n + 1];
}

static status parse_overrides(const char *text, json_t **ret, error *err)
{
    error why = ERROR_INIT;
    status st = jsonnet_parse("overrides", text, ret, &why);
    if (st == OK)
        return OK;
    size_t n = strcspn(text, "=:");
    if (!is_bare_setting(text))
        return FAIL(err, st, "%s", why.text);
    return FAIL(err, E_CONFIG, "overrides: got '%s'; expected an object, as {\"%.*s\":%s%s}", text, (int)n, text,
                text[n + 1] == ' ' ? "" : " ", text + n + 1);
}

static status apply_overrides(json_t *tree, const char *text, error *err)
{
    if (!text || !text[0])
        return OK;
    json_t *overrides = NULL;
    TRY(parse_overrides(text, &overrides, err));
    status st = merge_overrides(tree, overrides, err);
    json_decref(overrides);
    return st;
}

static status apply_settings(json_t *tree, const char *const *settings, error *err)
{
    for (; settings && *settings; settings++)
        TRY(merge_setting(tree, "setting", *settings, err));
    return OK;
}

static status config_gather(const config_source *source, json_t **ret, error *err)
{
    json_t *tree = NULL;
    if (source->path)
        TRY(jsonnet_read_file("config", source->path, &tree, err));
    else
        TRY(jsonnet_parse("config", source->text ? source->text : "{}", &tree, err));
    status st = apply_environment(tree, err);
    if (st == OK)
        st = apply_overrides(tree, source->overrides, err);
    if (st == OK)
        st = apply_settings(tree, source->settings, err);
    if (st == OK)
        *ret = tree;
    else
        json_decref(tree);
    return st;
}

static void config_add_nodes(config_tree *t, const char *schema, const char *path, const json_t *section)
{
    GROW(t->nodes, t->cap, t->n_nodes + 1);
    t->nodes[t->n_nodes++] = (config){.tree = t, .json = section, .path = path, .schema = schema};
    const char *type = json_string_value(json_object_get(section, "type"));
    for (size_t i = 0; i < option_count; i++) {
        const option *row = &option_table[i];
        if (!(row->kinds & (OPTION_SECTION | OPTION_ITEMS)) || !option_is_in(row, schema) ||
            !option_has_type(row, type))
            continue;
        const json_t *value = json_object_get(section, option_key(row));
        char *below = arena_printf(t->memory, "%s%s%s", path, *path ? "." : "", option_key(row));
        if (json_is_object(value))
            config_add_nodes(t, row->bounds, below, value);
        for (size_t k = 0; k < json_array_size(value); k++)
            config_add_nodes(t, row->bounds, arena_printf(t->memory, "%s[%zu]", below, k),
                             json_array_get(value, k));
    }
}

static void config_add_note(void *user, bool is_warning, const char *text)
{
    config_tree *t = user;
    GROW(t->notes, t->notes_cap, t->n_notes + 1);
    t->notes[t->n_notes++] = (config_note){.is_warning = is_warning, .text = arena_strdup(t->memory, text)};
}

static void config_free_tree(config_tree *t)
{
    json_decref(t->json);
    free(t->notes);
    free(t->nodes);
    arena_destroy(&t->memory);
    free(t);
}

/* `written` moves in. */
static status config_make(const config_source *source, json_t *written, config **ret, error *err)
{
    config_tree *t = xcalloc(1, sizeof *t);
    t->memory = arena_create();
    status st = from_archive_take(written, source->read_archive, err);
    if (st == OK)
        st = allennlp_translate(written, config_add_note, t, err);
    if (st == OK)
        st = huggingface_settings(written, source->path, err);
    if (st == OK)
        st = config_resolve(written, &t->json, err);
    json_decref(written);
    if (st != OK) {
        config_free_tree(t);
        return st;
    }
    config_add_nodes(t, "", "", t->json);
    if (config_finds_batch(&t->nodes[0]) && !source->takes_auto_batch) {
        config_free_tree(t);
        return FAIL(err, E_CONFIG,
                    "data_loader.batch_size: \"auto\" is found by 'tequio train' on one machine, when a job begins; "
                    "here it must be a number, and 'tequio find-batch-size CONFIG' says one");
    }
    *ret = &t->nodes[0];
    return OK;
}

status config_load(const config_source *source, config **ret, error *err)
{
    json_t *written = NULL;
    TRY(config_gather(source, &written, err));
    return config_make(source, written, ret, err);
}

status config_load_resolved(const char *text, config **ret, error *err)
{
    json_t *written = NULL;
    TRY(jsonnet_parse("config", text, &written, err));
    return config_make(&(config_source){.text = text}, written, ret, err);
}

bool config_finds_batch(const config *c)
{
    return config_str(c, "data_loader.batch_size");
}

void config_destroy(config **c)
{
    if (!c || !*c)
        return;
    config_tree *t = (*c)->tree;
    BUG_ON(*c != &t->nodes[0]);
    config_free_tree(t);
    *c = NULL;
}

size_t config_notes(const config *c, const config_note **ret)
{
    *ret = c->tree->notes;
    return c->tree->n_notes;
}

/* --- reading --- */

enum { OPTION_PATH = 256 };

/* All kinds that the rows of a key allow, of whatever type; its schema if it is a section. */
static unsigned kinds_of(const char *schema, const char *key, const char **ret_below)
{
    char path[OPTION_PATH];
    unsigned kinds = 0;
    if (snprintf(path, sizeof path, "%s%s%s", schema, *schema ? "." : "", key) >= (int)sizeof path)
        return 0;
    for (size_t i = 0; i < option_count; i++) {
        const option *row = &option_table[i];
        if (strcmp(row->path, path) != 0)
            continue;
        kinds |= row->kinds;
        *ret_below = row->bounds;
    }
    return kinds;
}

/* NULL when null, or when the section's type does not have the key. "" is the section itself. */
static const json_t *config_value_of(const config *c, const char *path, unsigned wanted)
{
    const json_t *value = c->json;
    const char *schema = c->schema;
    for (const char *cursor = path; *cursor;) {
        char key[64];
        size_t n = strcspn(cursor, ".[");
        if (n >= sizeof key)
            BUG("'%s' is not in the table of options", path);
        memcpy(key, cursor, n);
        key[n] = '\0';
        cursor += n;
        unsigned kinds = kinds_of(schema, key, &schema);
        if (!kinds)
            BUG("'%s' below '%s' is not in the table of options", path, c->path);
        value = json_object_get(value, key);
        if (*cursor == '[') {
            char *end = NULL;
            value = json_array_get(value, strtoul(cursor + 1, &end, 10));
            cursor = end + 1;
        } else if (!*cursor && !(kinds & wanted)) {
            BUG("'%s' below '%s' is read as what it never is", path, c->path);
        }
        cursor += *cursor == '.';
    }
    return json_is_null(value) ? NULL : value;
}

static const unsigned any_kind = ~0U;

const config *config_section(const config *c, const char *path)
{
    const json_t *value = config_value_of(c, path, OPTION_SECTION);
    for (size_t i = 0; value && i < c->tree->n_nodes; i++)
        if (c->tree->nodes[i].json == value)
            return &c->tree->nodes[i];
    return NULL;
}

bool config_has(const config *c, const char *path)
{
    return config_value_of(c, path, any_kind) != NULL;
}

int64_t config_int(const config *c, const char *path)
{
    return json_integer_value(config_value_of(c, path, OPTION_INT | OPTION_INTS));
}

double config_f64(const config *c, const char *path)
{
    return json_number_value(
        config_value_of(c, path, OPTION_NUMBER | OPTION_NUMBERS | OPTION_INT | OPTION_INTS));
}

void config_take_int(const config *c, const char *path, int64_t *ret)
{
    if (config_has(c, path))
        *ret = config_int(c, path);
}

void config_take_f64(const config *c, const char *path, double *ret)
{
    if (config_has(c, path))
        *ret = config_f64(c, path);
}

bool config_bool(const config *c, const char *path)
{
    return json_is_true(config_value_of(c, path, OPTION_BOOL));
}

const char *config_str(const config *c, const char *path)
{
    return json_string_value(config_value_of(c, path, OPTION_STRING | OPTION_CHOICE | OPTION_TYPE));
}

size_t config_count(const config *c, const char *path)
{
    return json_array_size(config_value_of(c, path, OPTION_ANY_LIST));
}

const json_t *config_json(const config *c, const char *path)
{
    return config_value_of(c, path, any_kind);
}

const char *config_path(const config *c)
{
    return c->path;
}

/* --- printing --- */

static void dump_value(const json_t *value, int depth, buf *out);

/* The shortest text that reads back as the same number. */
static void dump_real(double x, buf *out)
{
    char text[40];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, x);
        if (strtod(text, NULL) == x)
            break;
    }
    buf_addf(out, "%s%s", text, strpbrk(text, ".e") ? "" : ".0");
}

static void dump_break(int depth, buf *out)
{
    buf_addf(out, "\n%*s", 2 * depth, "");
}

static void dump_object(const json_t *object, int depth, buf *out)
{
    const char *key, *between = "";
    json_t *value;
    buf_adds(out, "{");
    json_object_foreach((json_t *)object, key, value)
    {
        buf_adds(out, between);
        dump_break(depth + 1, out);
        json_t *name = json_string(key);
        dump_value(name, depth + 1, out);
        json_decref(name);
        buf_adds(out, ": ");
        dump_value(value, depth + 1, out);
        between = ",";
    }
    if (json_object_size(object))
        dump_break(depth, out);
    buf_adds(out, "}");
}

/* Lists of numbers stay on one line. */
static void dump_list(const json_t *list, int depth, buf *out)
{
    bool is_flat = !json_is_object(json_array_get(list, 0));
    buf_adds(out, "[");
    for (size_t i = 0; i < json_array_size(list); i++) {
        buf_adds(out, !i ? "" : is_flat ? ", " : ",");
        if (!is_flat)
            dump_break(depth + 1, out);
        dump_value(json_array_get(list, i), depth + 1, out);
    }
    if (!is_flat)
        dump_break(depth, out);
    buf_adds(out, "]");
}

static void dump_value(const json_t *value, int depth, buf *out)
{
    if (json_is_object(value)) {
        dump_object(value, depth, out);
    } else if (json_is_array(value)) {
        dump_list(value, depth, out);
    } else if (json_is_real(value)) {
        dump_real(json_real_value(value), out);
    } else {
        char *text = json_text(value);
        buf_adds(out, text);
        free(text);
    }
}

char *config_dump(const config *c)
{
    buf out = BUF_INIT;
    dump_value(c->json, 0, &out);
    buf_adds(&out, "\n");
    return buf_detach(&out);
}
