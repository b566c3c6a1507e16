#include "job/spec/flags.h"

#include "common/base/enum_name.h"
#include "job/spec/job_file.h"

#include <stdio.h>
#include <string.h>

typedef enum flag_kind {
    KIND_TEXT,
    KIND_PATH,
    KIND_COUNT,
    KIND_CHOICE,
    KIND_TRUTH,
    KIND_SWITCH,
    KIND_TEXTS,
    KIND_LABELS,
    KIND_ACCELERATOR,
} flag_kind;

typedef struct row {
    const char *name;
    flag_kind kind;
    const char *path;
} row;

static const row rows[] = {
#define JOB_FLAG(name, kind, value, path, group, help) {name, KIND_##kind, path},
#include "job/spec/flags.def"
#undef JOB_FLAG
};

typedef struct laying {
    doc_node *top;
    flags_value *value;
    const void *user;
    arena *memory;
    error *err;
} laying;

static const char *given(const laying *l, const char *name)
{
    return l->value(l->user, name);
}

/* --- which go together --- */

static status check_both(const laying *l, const char *a, const char *b)
{
    if (!given(l, a) == !given(l, b))
        return OK;
    return FAIL(l->err, E_USAGE, "--%s needs --%s: both or neither", given(l, a) ? a : b,
                given(l, a) ? b : a);
}

static status check_together(const laying *l)
{
    TRY(check_both(l, "worker-count", "worker-machine-type"));
    TRY(check_both(l, "parameter-server-count", "parameter-server-machine-type"));
    if (given(l, "master-image-uri") && given(l, "runtime-version"))
        return FAIL(l->err, E_USAGE,
                    "Only one of --master-image-uri, --runtime-version can be set.");
    const char *word = given(l, "scale-tier");
    if (word && enum_name_is(word, "custom") && !given(l, "master-machine-type"))
        return FAIL(l->err, E_USAGE,
                    "--master-machine-type is required if scale-tier is set to `CUSTOM`.");
    static const char *const kms[] = {"kms-keyring", "kms-location", "kms-project"};
    for (size_t i = 0; i < COUNT_OF(kms); i++)
        if (given(l, kms[i]) && !given(l, "kms-key"))
            return FAIL(l->err, E_USAGE, "--%s needs --kms-key", kms[i]);
    return OK;
}

/* --- values --- */

static doc_node *scalar(const laying *l, const row *r, const char *text)
{
    return document_scalar(l->memory, arena_printf(l->memory, "--%s", r->name), text);
}

static doc_node *truth(const laying *l, const row *r, const char *text)
{
    bool is_true = enum_name_is(text, "true") || enum_name_is(text, "yes");
    doc_node *n = scalar(l, r, is_true ? "true" : "false");
    n->is_quoted = false;
    return n;
}

/* Cuts the next of a list with commas out of *at; NULL at its end. */
static char *next_item(char **at)
{
    if (!*at)
        return NULL;
    char *item = *at, *comma = strchr(item, ',');
    *at = comma ? comma + 1 : NULL;
    if (comma)
        *comma = '\0';
    return item;
}

static doc_node *texts(const laying *l, const row *r, const char *text)
{
    doc_node *list = document_empty(l->memory, arena_printf(l->memory, "--%s", r->name), DOC_LIST);
    char *at = arena_strdup(l->memory, text);
    for (char *item; (item = next_item(&at));)
        document_append(l->memory, list, scalar(l, r, item));
    return list;
}

/* KEY=VALUE,... ; with `keys`, those two and no others, both of them. */
static status flags_pairs(const laying *l, const row *r, const char *text, const char *const keys[2],
                          doc_node **ret)
{
    doc_node *map = document_empty(l->memory, arena_printf(l->memory, "--%s", r->name), DOC_MAP);
    char *at = arena_strdup(l->memory, text);
    for (char *item; (item = next_item(&at));) {
        char *equals = strchr(item, '=');
        if (!equals || equals == item)
            return FAIL(l->err, E_USAGE, "--%s: '%s' is no KEY=VALUE", r->name, item);
        *equals = '\0';
        if (document_get(map, item))
            return FAIL(l->err, E_USAGE, "--%s: %s is given twice", r->name, item);
        if (keys && strcmp(item, keys[0]) != 0 && strcmp(item, keys[1]) != 0)
            return FAIL(l->err, E_USAGE, "--%s: there is no '%s'; it takes %s=...,%s=...", r->name,
                        item, keys[0], keys[1]);
        document_put(l->memory, map, item, scalar(l, r, equals + 1));
    }
    for (int i = 0; keys && i < 2; i++)
        if (!document_get(map, keys[i]))
            return FAIL(l->err, E_USAGE, "--%s: %s=... is missing", r->name, keys[i]);
    *ret = map;
    return OK;
}

static status make_value(const laying *l, const row *r, const char *text, doc_node **ret)
{
    static const char *const accelerator[2] = {"count", "type"};
    switch (r->kind) {
    case KIND_TRUTH:
    case KIND_SWITCH:
        *ret = truth(l, r, text);
        return OK;
    case KIND_TEXTS:
        *ret = texts(l, r, text);
        return OK;
    case KIND_LABELS:
        return flags_pairs(l, r, text, NULL, ret);
    case KIND_ACCELERATOR:
        return flags_pairs(l, r, text, accelerator, ret);
    default:
        *ret = scalar(l, r, text);
        return OK;
    }
}

/* --- laying over --- */

/* The map that holds the last word of `path`, made where it is not; *ret_key is that word. */
static doc_node *flags_reach(const laying *l, const char *path, const char **ret_key)
{
    doc_node *at = l->top;
    for (const char *dot; (dot = strchr(path, '.')); path = dot + 1) {
        const char *key = arena_strndup(l->memory, path, (size_t)(dot - path));
        doc_node *next = document_get(at, key);
        if (!next || next->kind == DOC_NULL) {
            next = document_empty(l->memory, at->origin, DOC_MAP);
            document_set(l->memory, at, key, next);
        }
        at = next;
    }
    *ret_key = path;
    return at;
}

static status lay(const laying *l, const row *r)
{
    const char *text = given(l, r->name);
    if (!text || !*r->path)
        return OK;
    doc_node *value = NULL;
    TRY(make_value(l, r, text, &value));
    const char *key;
    doc_node *map = flags_reach(l, r->path, &key);
    document_set(l->memory, map, key, value);
    return OK;
}

/* They are those of all roles, whatever program a role's image would run. */
static void drop_programs(const laying *l, job *j)
{
    static const char *const configs[] = {"masterConfig", "workerConfig", "parameterServerConfig",
                                          "evaluatorConfig"};
    const doc_node *input = document_get(l->top, "trainingInput");
    for (size_t i = 0; i < COUNT_OF(configs); i++) {
        doc_node *config = document_get(input, configs[i]);
        doc_node *command = document_get(config, "containerCommand");
        char where[512];
        if (command && command->n) {
            document_where(command, where, sizeof where);
            job_warn(j, l->memory, "%s: ignored: what stands behind -- are arguments of tequio",
                     where);
        }
        static const char *const keys[] = {"containerCommand", "containerArgs"};
        for (size_t k = 0; k < COUNT_OF(keys); k++)
            if (document_get(config, keys[k]))
                document_set(l->memory, config, keys[k],
                             document_empty(l->memory, config->origin, DOC_NULL));
    }
}

static void lay_arguments(const laying *l, const char *const *user_args)
{
    static const char origin[] = "arguments behind --";
    doc_node *list = document_empty(l->memory, origin, DOC_LIST);
    for (int i = 0; user_args[i]; i++)
        document_append(l->memory, list, document_scalar(l->memory, origin, user_args[i]));
    const char *key;
    doc_node *map = flags_reach(l, "trainingInput.args", &key);
    document_set(l->memory, map, key, list);
}

status flags_job(doc_node *top, flags_value *value, const void *user, const char *id,
                 const char *const *user_args, arena *memory, job *ret, error *err)
{
    job j = {.is_scaled = value(user, "scale-down")};
    if (top->kind == DOC_NULL)
        top = document_empty(memory, top->origin, DOC_MAP);
    laying l = {.value = value, .user = user, .memory = memory, .err = err};
    TRY(check_together(&l));
    TRY(job_file_form(top, memory, &j, &l.top, err));
    if (id)
        document_set(memory, l.top, "jobId", document_scalar(memory, "the name of the job", id));
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        TRY(lay(&l, &rows[i]));
    if (user_args && user_args[0]) {
        drop_programs(&l, &j);
        lay_arguments(&l, user_args);
    }
    TRY(job_file_read_form(l.top, &j, err));
    *ret = j;
    return OK;
}
