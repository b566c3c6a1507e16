#include "cli/run/input_files.h"

#include "common/base/gcs.h"
#include "common/base/json.h"
#include "common/config/reader_sections.h"
#include "data/index/shards.h"
#include "data/multitask/data_paths.h"
#include "data/reader_tokenizer.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Keys that name files or folders: of the whole, and of each reader. */
static const char *const data_keys[] = {"train_data_path", "validation_data_path", "test_data_path"};
static const char *const reader_keys[] = {"labels", "tokenizer", "vocabulary", "transformer_model_name",
                                          "root"};

typedef struct collection {
    arena *memory;
    const char **paths;
    size_t n, cap;
} collection;

static void add_place(collection *c, const char *path)
{
    for (size_t i = 0; i < c->n; i++)
        if (strcmp(c->paths[i], path) == 0)
            return;
    GROW(c->paths, c->cap, c->n + 1);
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

/* --- the keys --- */

typedef void path_use(void *user, json_t *section, const char *key, const char *place);

typedef struct path_walk {
    path_use *use;
    void *user;
    bool changes; /* `use` puts other paths there */
} path_walk;

/* Where the key names a path; `place` is the section's, NULL of the whole. */
static void visit_key(const path_walk *w, json_t *section, const char *key, const char *place)
{
    const char *path = json_string_value(json_object_get(section, key));
    if (path && (strcmp(key, "tokenizer") != 0 || reader_tokenizer_is_path(path)))
        w->use(w->user, section, key, place);
}

/* A path, or several by the names of readers. */
static void visit_data(const path_walk *w, json_t *top, const char *key)
{
    const char *text = json_string_value(json_object_get(top, key)), *name;
    json_t *paths = NULL, *path;
    error ignored = ERROR_INIT; /* whoever opens them says what is wrong */
    if (!text || !data_paths_are_named(text) || data_paths_parse(text, &paths, &ignored) != OK) {
        visit_key(w, top, key, NULL);
        return;
    }
    json_object_foreach(paths, name, path)
    {
        w->use(w->user, paths, name, key);
    }
    char *changed = w->changes ? json_text(paths) : NULL;
    if (changed)
        json_object_set_new(top, key, json_string(changed));
    free(changed);
    json_decref(paths);
}

static void visit_reader(void *user, json_t *section, const char *place)
{
    for (size_t i = 0; i < COUNT_OF(reader_keys); i++)
        visit_key(user, section, reader_keys[i], place);
}

/* The data, what their readers want, and what the model wants. */
static void each_path(json_t *top, path_use *use, void *user, bool changes)
{
    path_walk w = {use, user, changes};
    json_t *model = json_object_get(top, "model");
    json_t *teacher = json_object_get(json_object_get(model, "distillation"), "teacher");
    for (size_t i = 0; i < COUNT_OF(data_keys); i++)
        visit_data(&w, top, data_keys[i]);
    reader_sections_each(top, visit_reader, &w);
    visit_key(&w, model, "path", "model");
    visit_key(&w, json_object_get(model, "pretrained"), "path", "model.pretrained");
    visit_key(&w, teacher, "path", "model.distillation.teacher");
    visit_key(&w, json_object_get(teacher, "pretrained"), "path", "model.distillation.teacher.pretrained");
}

/* --- lists of them --- */

typedef struct name_list {
    arena *memory;
    input_file_name *at;
    size_t n, cap;
} name_list;

static void add_name(void *user, json_t *section, const char *key, const char *place)
{
    name_list *l = user;
    GROW(l->at, l->cap, l->n + 1);
    l->at[l->n++] = (input_file_name){
        .key = arena_printf(l->memory, "%s%s%s", place ? place : "", place ? "." : "", key),
        .path = arena_strdup(l->memory, json_string_value(json_object_get(section, key))),
    };
}

/* Of what was allocated a copy in the arena, with zeros behind it. */
static void *keep(arena *memory, void *at, size_t bytes, size_t zeros)
{
    char *kept = arena_alloc(memory, bytes + zeros);
    if (bytes)
        memcpy(kept, at, bytes);
    memset(kept + bytes, 0, zeros);
    free(at);
    return kept;
}

const input_file_name *input_files_names(const config *c, arena *memory)
{
    name_list l = {.memory = memory};
    each_path((json_t *)(uintptr_t)config_json(c, ""), add_name, &l, false);
    return keep(memory, l.at, l.n * sizeof *l.at, sizeof *l.at);
}

static bool is_of_huggingface(const char *key)
{
    const char *dot = strrchr(key, '.');
    return dot && (strcmp(dot, ".tokenizer") == 0 || strcmp(dot, ".transformer_model_name") == 0);
}

/* What else the name could have been. */
static const char *hint(const input_file_name *name)
{
    if (strstr(name->path, "://"))
        return "; nothing is downloaded, a file of this machine is expected";
    return is_of_huggingface(name->key) ? "; nor has Hugging Face's cache a model of that name" : "";
}

static status check_name(const input_file_name *name, error *err)
{
    char *file = NULL;
    TRYF(gcs_path(name->path, &file, err), err, "%s", name->key);
    status st = OK;
    if (!shards_is_pattern(file) && access(file, R_OK) != 0)
        st = FAIL(err, E_DATA, "%s: open '%s': %s%s", name->key, file, strerror(errno), hint(name));
    free(file);
    return st;
}

status input_files_check(const config *c, error *err)
{
    static const char test_data[] = "test_data_path";
    arena *memory = arena_create();
    status st = OK;
    bool tests = config_bool(c, "evaluate_on_test");
    for (const input_file_name *n = input_files_names(c, memory); st == OK && n->key; n++)
        if (tests || strncmp(n->key, test_data, strlen(test_data)) != 0)
            st = check_name(n, err);
    arena_destroy(&memory);
    return st;
}

static void place_path(void *user, json_t *section, const char *key, const char *place)
{
    (void)place;
    const char *path = json_string_value(json_object_get(section, key));
    json_object_set_new(section, key, json_string(input_files_place(user, path)));
}

void input_files_find(const config *c, arena *memory, input_files *ret)
{
    collection all = {.memory = memory};
    json_t *top = json_deep_copy(config_json(c, ""));
    each_path(top, place_path, &all, true);
    buf text = BUF_INIT;
    json_pretty(top, &text);
    json_decref(top);
    *ret = (input_files){.config = arena_strdup(memory, text.data),
                         .paths = keep(memory, all.paths, all.n * sizeof *all.paths, sizeof *all.paths)};
    buf_fini(&text);
}
