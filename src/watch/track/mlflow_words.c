#include "watch/track/mlflow_words.h"

#include "common/base/alloc.h"
#include "common/base/json.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A path that leads elsewhere than it says is refused: "/a", "a//b", "a/", "a/../b". */
static bool leads_away(const char *name)
{
    for (const char *part = name; part; part = strchr(part, '/') ? strchr(part, '/') + 1 : NULL) {
        size_t n = strcspn(part, "/");
        if (n == 0 || (n == 1 && part[0] == '.') || (n == 2 && part[0] == '.' && part[1] == '.'))
            return true;
    }
    return false;
}

const char *mlflow_name(const char *prefix, const char *name, char ret[MLFLOW_NAME])
{
    snprintf(ret, MLFLOW_NAME, "%s%s", prefix, name);
    for (char *at = ret; *at; at++)
        if (!isalnum((unsigned char)*at) && !strchr("_-./: ", *at))
            *at = '_';
    if (leads_away(ret))
        for (char *at = ret; *at; at++)
            if (*at == '/' || (*at == '.' && at == ret))
                *at = '_';
    return ret;
}

char *mlflow_value(const char *text, size_t most)
{
    static const char rest[] = "...";
    size_t n = strlen(text);
    if (n <= most)
        return xstrdup(text);
    n = most - strlen(rest);
    while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80)
        n--;
    return xasprintf("%.*s%s", (int)n, text, rest);
}

static bool is_list_of_sections(const json_t *value)
{
    return json_is_array(value) && json_is_object(json_array_get(value, 0));
}

static void add_value(const char *path, const json_t *value, json_t *ret)
{
    char key[MLFLOW_NAME], *text = json_is_string(value) ? xstrdup(json_string_value(value)) : json_text(value);
    char *cut = mlflow_value(text, MLFLOW_PARAMETER_MOST);
    json_array_append_new(ret, json_pack("{s:s, s:s}", "key", mlflow_name("", path, key), "value", cut));
    free(cut);
    free(text);
}

static void add_section(const char *path, const json_t *value, const char *but, json_t *ret);

static void add_item(const char *path, const char *key, const json_t *value, json_t *ret)
{
    char *below = *path ? xasprintf("%s.%s", path, key) : xstrdup(key);
    add_section(below, value, NULL, ret);
    free(below);
}

static void add_section(const char *path, const json_t *value, const char *but, json_t *ret)
{
    const char *key;
    json_t *item;
    size_t i;
    if (json_is_object(value)) {
        json_object_foreach((json_t *)(uintptr_t)value, key, item)
            if (!but || strcmp(key, but) != 0)
                add_item(path, key, item, ret);
    } else if (is_list_of_sections(value)) {
        json_array_foreach(value, i, item) {
            char number[24];
            snprintf(number, sizeof number, "%zu", i);
            add_item(path, number, item, ret);
        }
    } else if (!json_is_null(value)) {
        add_value(path, value, ret);
    }
}

json_t *mlflow_parameters(const json_t *config, const char *but)
{
    json_t *list = json_array();
    add_section("", config, but, list);
    return list;
}
