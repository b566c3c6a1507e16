/* See picture_classes.h. Kept as JSON: {"label": {"label": ["cats", "dogs"]}}. */
#include "data/pictures/picture_classes.h"

#include "common/base/json.h"

#include <stdlib.h>

static status add_words(const json_t *list, words *to, const char *origin, error *err)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *word = json_string_value(json_array_get(list, i));
        if (!word || words_find(to, word) >= 0)
            return FAIL(err, E_DATA, "%s: class %zu is no word, or stands there twice", origin, i);
        words_add(to, word);
    }
    return words_count(to) > 0 ? OK : FAIL(err, E_DATA, "%s: names no classes", origin);
}

status picture_classes_known(const reader_request *request, words **ret, error *err)
{
    json_t *given = NULL;
    const json_t *list = config_json(request->reader, "class_names");
    const char *origin = "class_names";
    *ret = NULL;
    if (request->vocabulary) {
        TRY(reader_vocabulary_parse(request->vocabulary, &given, err));
        list = json_object_get(json_object_get(given, "label"), "label");
        origin = request->vocabulary->origin;
    }
    status st = OK;
    if (list || given) {
        *ret = words_create();
        st = add_words(list, *ret, origin, err);
    }
    if (st != OK)
        words_destroy(ret);
    json_decref(given);
    return st;
}

char *picture_classes_vocabulary(const words *classes)
{
    json_t *list = json_array();
    for (int32_t i = 0; i < words_count(classes); i++)
        json_array_append_new(list, json_string(words_at(classes, i)));
    json_t *whole = json_pack("{s:{s:o}}", "label", "label", list);
    char *text = json_text(whole);
    json_decref(whole);
    return text;
}

status picture_classes_check(const picture_set *s, error *err)
{
    int32_t n = words_count(s->classes), empty = 0;
    int64_t *counts = xcalloc((size_t)n, sizeof *counts);
    for (size_t i = 0; i < s->n; i++)
        for (int32_t k = 0; k < (s->at[i].labels ? s->at[i].n_labels : 1); k++)
            counts[s->at[i].labels ? s->at[i].labels[k] : s->at[i].label]++;
    while (empty < n && counts[empty] > 0)
        empty++;
    free(counts);
    return empty == n ? OK : FAIL(err, E_DATA, "'%s': there is no picture of the class '%s'", s->root,
                                  words_at(s->classes, empty));
}
