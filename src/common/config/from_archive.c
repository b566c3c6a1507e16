#include "common/config/from_archive.h"

#include "common/base/json.h"

#include <string.h>

static status check_keys(const json_t *section, error *err)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)section, key, value)
    {
        if (strcmp(key, "type") != 0 && strcmp(key, "archive_file") != 0)
            return FAIL(err, E_CONFIG, "model.%s: unknown key; from_archive has archive_file alone", key);
    }
    value = json_object_get(section, "archive_file");
    if (!json_is_string(value))
        return FAIL(err, E_CONFIG, "model.archive_file: %s; expected the path of a model.tar.gz",
                    value ? json_kind(value) : "missing");
    return OK;
}

/* As an object, which may be written as its type alone. */
static status model_of(const json_t *from, const char *path, json_t **ret, error *err)
{
    const json_t *model = json_object_get(from, "model");
    if (json_is_string(model))
        *ret = json_pack("{s:O}", "type", model);
    else if (json_is_object(model))
        *ret = json_deep_copy(model);
    else
        return FAIL(err, E_DATA, "'%s': its config.json has no model", path);
    return OK;
}

status from_archive_take(json_t *written, config_archive_reader *read, error *err)
{
    const json_t *section = json_object_get(written, "model");
    const char *type = json_string_value(json_object_get(section, "type"));
    if (!type || strcmp(type, "from_archive") != 0 || !read)
        return OK;
    TRY(check_keys(section, err));
    const char *path = json_string_value(json_object_get(section, "archive_file"));
    json_t *from = NULL, *model = NULL;
    TRYF(read(path, &from, err), err, "model.archive_file");
    status st = model_of(from, path, &model, err);
    json_decref(from);
    TRY(st);
    json_object_set_new(model, "pretrained", json_pack("{s:s}", "path", path));
    json_object_set_new(written, "model", model);
    return OK;
}
