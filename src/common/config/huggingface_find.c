/* Where a model of Hugging Face's lies (huggingface.h). */
#include "common/config/huggingface.h"

#include "common/base/fs.h"

#include <stdlib.h>
#include <string.h>

enum { REVISION_BYTES = 256 };

static bool is_folder(arena *a, const char *folder)
{
    return fs_exists(arena_printf(a, "%s/config.json", folder));
}

/* The folder that Hugging Face's own tools keep their downloads in; NULL if there is no home. */
static const char *cache_of(arena *a)
{
    static const struct {
        const char *variable, *below;
    } places[] = {
        {"HF_HUB_CACHE", ""},
        {"HUGGINGFACE_HUB_CACHE", ""},
        {"HF_HOME", "/hub"},
        {"XDG_CACHE_HOME", "/huggingface/hub"},
        {"HOME", "/.cache/huggingface/hub"},
    };
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        const char *folder = getenv(places[i].variable);
        if (folder && *folder)
            return arena_printf(a, "%s%s", folder, places[i].below);
    }
    return NULL;
}

/* "models--org--name" of "org/name" */
static const char *cache_entry(arena *a, const char *cache, const char *name)
{
    const char *entry = arena_printf(a, "%s/models--", cache);
    for (const char *at = name; *at;) {
        size_t n = strcspn(at, "/");
        entry = arena_printf(a, "%s%.*s%s", entry, (int)n, at, at[n] ? "--" : "");
        at += n + (at[n] == '/');
    }
    return entry;
}

/* The snapshot that refs/main names; NULL if there is none. */
static const char *main_snapshot(arena *a, const char *entry)
{
    buf text = BUF_INIT;
    const char *folder = NULL;
    if (fs_read(arena_printf(a, "%s/refs/main", entry), REVISION_BYTES, &text, NULL) == OK) {
        size_t n = strcspn(text.data ? text.data : "", " \r\n\t/");
        if (n && text.data[0] != '.')
            folder = arena_printf(a, "%s/snapshots/%.*s", entry, (int)n, text.data);
    }
    buf_fini(&text);
    return folder && is_folder(a, folder) ? folder : NULL;
}

status huggingface_find(const char *name, const char *file, arena *a, const char **ret, error *err)
{
    const char *slash = file ? strrchr(file, '/') : NULL, *cache = cache_of(a), *found = NULL;
    const char *beside =
        slash ? arena_printf(a, "%.*s/%s", (int)(slash - file), file, name) : name;
    if (is_folder(a, name))
        found = name;
    else if (name[0] != '/' && is_folder(a, beside))
        found = beside;
    else if (cache)
        found = main_snapshot(a, cache_entry(a, cache, name));
    if (!found)
        return FAIL(err, E_CONFIG,
                    "model.transformer_model_name: no config.json in '%s'%s%s%s, and Hugging Face's "
                    "cache '%s' has no snapshot of that name; `hf download %s` makes one",
                    name, beside != name ? ", none in '" : "", beside != name ? beside : "",
                    beside != name ? "'" : "", cache ? cache : "(HF_HOME)", name);
    *ret = arena_strdup(a, found);
    return OK;
}
