#include "cli/use/worst_examples.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/json.h"
#include "common/base/log.h"

#include <libgen.h>
#include <stdlib.h>

bool worst_examples_have_place(const trained_model *s)
{
    return s->config_path && !s->unpacked;
}

static status write(const trained_model *s, const json_t *told, error *err)
{
    char *copy = xstrdup(s->config_path), *folder = xasprintf("%s/eval", dirname(copy));
    char *path = xasprintf("%s/worst.json", folder);
    status st = fs_mkdirs(folder, err);
    if (st == OK)
        st = json_write_file(path, told, err);
    free(path);
    free(folder);
    free(copy);
    return st;
}

void worst_examples_keep(const trained_model *s, json_t *details, const char *data)
{
    json_t *list = json_object_get(details, "errors"), *told, *one;
    error why = ERROR_INIT;
    size_t i;
    told = json_pack("{s:i, s:o, s:o, s:O}", "schema", 1, "model", json_words(s->model), "data", json_words(data),
                     "errors", list);
    if (write(s, told, &why) != OK)
        LOG_W("NOT_KEPT", "the worst examples are not kept for the page: %s", why.text);
    json_decref(told);
    json_array_foreach(list, i, one)
        json_object_del(one, "picture");
}
