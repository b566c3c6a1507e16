/* The parameters of a search as keys of the configuration. */
#include "common/base/enum_name.h"
#include "common/config/config.h"
#include "job/spec/parameter_names.h"
#include "job/spec/search.h"

#include <stdlib.h>
#include <string.h>

typedef struct mapping {
    const char *name, *key; /* "": left out */
    bool is_used;
} mapping;

static status read_mappings(const char *text, arena *memory, mapping **ret, int *ret_n, error *err)
{
    char *rest = arena_strdup(memory, text ? text : "");
    mapping *list = arena_alloc(memory, (strlen(rest) / 2 + 1) * sizeof *list);
    int n = 0;
    for (char *entry = strtok_r(rest, ",", &rest); entry; entry = strtok_r(NULL, ",", &rest)) {
        char *equals = strchr(entry, '=');
        if (!equals || equals == entry)
            return FAIL(err, E_USAGE,
                        "--parameter '%s': must be NAME=KEY, as units=model.hidden, or NAME= to leave it out", entry);
        *equals = '\0';
        if (equals[1] && !config_knows(equals + 1)) {
            const char *near = config_nearest_path(equals + 1);
            return FAIL(err, E_USAGE, "--parameter %s=%s: there is no key '%s'%s%s%s", entry, equals + 1, equals + 1,
                        near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
        }
        list[n++] = (mapping){.name = entry, .key = equals + 1};
    }
    *ret = list;
    *ret_n = n;
    return OK;
}

static mapping *find_mapping(mapping *list, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (enum_name_is(name, list[i].name))
            return &list[i];
    return NULL;
}

static status check_used(const mapping *list, int n, error *err)
{
    for (int i = 0; i < n; i++)
        if (!list[i].is_used)
            return FAIL(err, E_USAGE, "--parameter %s=%s: the space has no parameter '%s'", list[i].name, list[i].key,
                        list[i].name);
    return OK;
}

static status check_key(const char *name, const char *key, error *err)
{
    if (config_knows(key))
        return OK;
    const char *near = parameter_near(name);
    return FAIL(err, E_CONFIG,
                "'%s' is no key of the configuration, and stands for none%s%s%s; --parameter %s=KEY says which one it "
                "is, --parameter %s= leaves it out",
                name, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "", name, name);
}

/* "256 128" as "[256, 128]"; NULL: it is no list of numbers. */
static const char *as_list(const char *word, arena *memory)
{
    static const char between[] = " ,";
    char *rest = arena_strdup(memory, word);
    const char *list = NULL;
    for (char *item = strtok_r(rest, between, &rest); item; item = strtok_r(NULL, between, &rest)) {
        char *end;
        strtod(item, &end);
        if (end == item || *end)
            return NULL;
        list = arena_printf(memory, "%s%s%s", list ? list : "[", list ? ", " : "", item);
    }
    return list ? arena_printf(memory, "%s]", list) : NULL;
}

static void make_lists(space_parameter *p, arena *memory)
{
    if (p->kind != SPACE_CATEGORICAL || !config_is_list_of_numbers(p->name))
        return;
    const char **words = arena_alloc(memory, (size_t)p->n * sizeof *words);
    for (int i = 0; i < p->n; i++) {
        const char *list = as_list(p->words[i], memory);
        words[i] = list ? list : p->words[i];
    }
    p->words = words;
}

static status add(space_parameter *at, int *n, const space_parameter *p, error *err)
{
    for (int i = 0; i < *n; i++)
        if (strcmp(at[i].name, p->name) == 0)
            return FAIL(err, E_CONFIG, "'%s' is searched twice", p->name);
    at[(*n)++] = *p;
    return OK;
}

status search_name_keys(search *s, const char *text, arena *memory, error *err)
{
    mapping *list = NULL;
    int n_list = 0, n = 0;
    TRY(read_mappings(text, memory, &list, &n_list, err));
    space_parameter *at = arena_alloc(memory, (size_t)s->space.n * sizeof *at);
    const char **names = arena_alloc(memory, (size_t)s->space.n * sizeof *names);
    for (int i = 0; i < s->space.n; i++) {
        mapping *m = find_mapping(list, n_list, s->names[i]);
        space_parameter p = s->space.at[i];
        if (m) {
            m->is_used = true;
            p.name = m->key;
        }
        if (!*p.name)
            continue;
        TRY(check_key(s->names[i], p.name, err));
        make_lists(&p, memory);
        names[n] = s->names[i];
        TRY(add(at, &n, &p, err));
    }
    TRY(check_used(list, n_list, err));
    if (!n)
        return FAIL(err, E_USAGE, "--parameter: nothing is left to search");
    s->space = (space){.at = at, .n = n};
    s->names = names;
    return OK;
}
