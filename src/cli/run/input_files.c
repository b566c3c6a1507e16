#include "cli/run/input_files.h"

#include "common/base/gcs.h"
#include "common/base/json.h"
#include "data/index/shards.h"
#include "data/language/language_tokens.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Keys that name files or folders, by the sections they stand in. */
static const struct {
    const char *section, *within, *key;
} keys[] = {
    {NULL, NULL, "train_data_path"},
    {NULL, NULL, "validation_data_path"},
    {NULL, NULL, "test_data_path"},
    {"dataset_reader", NULL, "labels"},
    {"dataset_reader", NULL, "tokenizer"},
    {"dataset_reader", NULL, "vocabulary"},
    {"dataset_reader", NULL, "transformer_model_name"},
    {"dataset_reader", "base_reader", "tokenizer"},
    {"dataset_reader", "base_reader", "vocabulary"},
    {"validation_dataset_reader", NULL, "labels"},
    {"validation_dataset_reader", NULL, "tokenizer"},
    {"validation_dataset_reader", NULL, "vocabulary"},
    {"validation_dataset_reader", NULL, "transformer_model_name"},
    {"validation_dataset_reader", "base_reader", "tokenizer"},
    {"validation_dataset_reader", "base_reader", "vocabulary"},
    {"model", NULL, "path"},
    {"model", "pretrained", "path"},
};

enum { PATHS = 2 * COUNT_OF(keys) };

typedef struct collection {
    arena *memory;
    const char **paths; /* [PATHS + 1] */
    int n;
} collection;

static void add_place(collection *c, const char *path)
{
    for (int i = 0; i < c->n; i++)
        if (strcmp(c->paths[i], path) == 0)
            return;
    c->paths[c->n++] = arena_strdup(c->memory, path);
}

/* Of a file that is really there; no container can have another root. */
static void add_folder(collection *c, const char *file)
{
    const char *slash = strrchr(file, '/');
    add_place(c, slash == file ? file : arena_strndup(c->memory, file, (size_t)(slash - file)));
}

/* A pattern of names: its folder, as far as it has no wildcard, is a place of its own. */
static const char *pattern_place(collection *c, const char *pattern)
{
    char real[PATH_MAX];
    size_t n = strcspn(pattern, "*?[");
    while (n > 0 && pattern[n - 1] != '/')
        n--;
    const char *folder = n ? arena_strndup(c->memory, pattern, n) : ".";
    if (!realpath(folder, real))
        return pattern;
    add_place(c, real);
    return arena_printf(c->memory, "%s/%s", real[1] ? real : "", pattern + n);
}

/* "../data/train.gz" as "/home/me/data/train.gz"; a file that is a link keeps its name. */
static const char *input_files_place(collection *c, const char *path)
{
    char real[PATH_MAX], folder[PATH_MAX];
    struct stat info;
    if (shards_is_pattern(path))
        return pattern_place(c, path);
    if (!realpath(path, real) || stat(real, &info))
        return path;
    if (S_ISDIR(info.st_mode)) {
        add_place(c, real);
        return arena_strdup(c->memory, real);
    }
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    const char *within = slash ? arena_strndup(c->memory, path, (size_t)(slash - path) + 1) : ".";
    if (!realpath(within, folder))
        return path;
    const char *own = arena_printf(c->memory, "%s/%s", folder[1] ? folder : "", name);
    add_folder(c, own);
    add_folder(c, real);
    return own;
}

/* NULL: that key names none. */
static const char *path_of(const json_t *section, const char *key)
{
    const char *path = json_string_value(json_object_get(section, key));
    bool is_path = path && (strcmp(key, "tokenizer") != 0 || language_tokens_has_files(path));
    return is_path ? path : NULL;
}

static json_t *section_of(const json_t *top, const char *section, const char *within)
{
    json_t *at = section ? json_object_get(top, section) : (json_t *)(uintptr_t)top;
    return within ? json_object_get(at, within) : at;
}

const input_file_name *input_files_names(const config *c, arena *memory)
{
    input_file_name *names = arena_alloc(memory, (COUNT_OF(keys) + 1) * sizeof *names);
    int n = 0;
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        const char *section = keys[i].section, *within = keys[i].within;
        const json_t *at = section_of(config_json(c, ""), section, within);
        const char *path = path_of(at, keys[i].key);
        if (path)
            names[n++] = (input_file_name){
                .key = arena_printf(memory, "%s%s%s%s%s", section ? section : "", section ? "." : "",
                                    within ? within : "", within ? "." : "", keys[i].key),
                .path = arena_strdup(memory, path),
            };
    }
    return names;
}

static status check_name(const input_file_name *name, error *err)
{
    char *file = NULL;
    TRYF(gcs_path(name->path, &file, err), err, "%s", name->key);
    status st = OK;
    if (!shards_is_pattern(file) && access(file, R_OK) != 0)
        st = FAIL(err, E_DATA, "%s: open '%s': %s", name->key, file, strerror(errno));
    free(file);
    return st;
}

status input_files_check(const config *c, error *err)
{
    arena *memory = arena_create();
    status st = OK;
    bool tests = config_bool(c, "evaluate_on_test");
    for (const input_file_name *n = input_files_names(c, memory); st == OK && n->key; n++)
        if (tests || strcmp(n->key, "test_data_path") != 0)
            st = check_name(n, err);
    arena_destroy(&memory);
    return st;
}

void input_files_find(const config *c, arena *memory, input_files *ret)
{
    collection all = {.memory = memory};
    all.paths = arena_alloc(memory, (PATHS + 1) * sizeof *all.paths);
    json_t *top = json_deep_copy(config_json(c, ""));
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        json_t *section = section_of(top, keys[i].section, keys[i].within);
        const char *path = path_of(section, keys[i].key);
        if (path)
            json_object_set_new(section, keys[i].key, json_string(input_files_place(&all, path)));
    }
    buf text = BUF_INIT;
    json_pretty(top, &text);
    json_decref(top);
    *ret = (input_files){.config = arena_strdup(memory, text.data), .paths = all.paths};
    buf_fini(&text);
}
