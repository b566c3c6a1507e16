#include "data/multitask/data_paths.h"

#include "common/base/json.h"

#include <string.h>

bool data_paths_are_named(const char *text)
{
    return text[0] == '{';
}

status data_paths_parse(const char *text, json_t **ret, error *err)
{
    json_t *paths = NULL, *path;
    const char *name;
    TRY(json_parse(text, strlen(text), "the paths of readers", E_CONFIG, &paths, err));
    status st = json_is_object(paths) ? OK : FAIL(err, E_CONFIG, "'%s': expected an object of paths", text);
    json_object_foreach(paths, name, path)
    {
        if (st == OK && !json_is_string(path))
            st = FAIL(err, E_CONFIG, "the path of the reader '%s': got %s; expected a string", name, json_kind(path));
    }
    if (st == OK)
        *ret = paths;
    else
        json_decref(paths);
    return st;
}
