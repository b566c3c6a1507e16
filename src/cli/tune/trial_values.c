#include "cli/tune/trial_values.h"

#include "common/base/alloc.h"

#include <stdlib.h>

/* A word that is JSON would be read as that. */
static char *text_of(const json_t *value)
{
    json_t *read = json_is_string(value) ? json_loads(json_string_value(value), JSON_DECODE_ANY, NULL) : NULL;
    bool is_plain = json_is_string(value) && !read;
    json_decref(read);
    return is_plain ? xstrdup(json_string_value(value))
                    : json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(SPACE_DIGITS));
}

char **trial_values(const space *s, const double *point, const char *metric, int better)
{
    const char *key;
    json_t *value, *values = space_values(s, point);
    char **words = xcalloc((size_t)s->n + 2, sizeof *words);
    size_t n = 0;
    json_object_foreach(values, key, value) {
        char *text = text_of(value);
        words[n++] = xasprintf("--%s=%s", key, text);
        free(text);
    }
    words[n] = xasprintf("--trainer.validation_metric=%c%s", better > 0 ? '+' : '-', metric);
    json_decref(values);
    return words;
}

void trial_values_free(char **words)
{
    for (char **word = words; word && *word; word++)
        free(*word);
    free(words);
}
