#include "data/sorting_keys.h"

#include <string.h>

/* What AllenNLP's readers call the field that is read as input_ids. */
static const struct {
    const char *reader, *name;
} theirs[] = {
    {"text_classification_json", "tokens"},
    {"snli", "tokens"},
    {"conll2003", "tokens"},
    {"universal_dependencies", "words"},
    {"transformer_squad", "question_with_context"},
};

/* The names of fields with a length, each behind a blank. */
static void list_names(const config *reader, const dataset *d, buf *ret)
{
    size_t n;
    const data_field *fields = dataset_fields(d, &n);
    const config *base = config_section(reader, "base_reader");
    const char *type = config_str(base ? base : reader, "type");
    for (size_t i = 0; i < n; i++)
        if (fields[i].varies)
            buf_addf(ret, " %s", fields[i].name);
    for (size_t i = 0; i < COUNT_OF(theirs); i++)
        if (strcmp(theirs[i].reader, type) == 0)
            buf_addf(ret, " %s", theirs[i].name);
}

static bool is_among(const char *names, const char *key)
{
    size_t n = strcspn(key, ".");
    for (const char *at = names; at && *at == ' '; at = strchr(at + 1, ' '))
        if (n > 0 && strncmp(at + 1, key, n) == 0 && (at[1 + n] == ' ' || at[1 + n] == '\0'))
            return true;
    return false;
}

status sorting_keys_check(const config *reader, const dataset *d, const json_t *keys, const char *option, error *err)
{
    status st = OK;
    buf names = BUF_INIT;
    list_names(reader, d, &names);
    for (size_t i = 0; i < json_array_size(keys) && st == OK; i++) {
        const char *key = json_string_value(json_array_get(keys, i));
        if (!is_among(names.data, key))
            st = FAIL(err, E_CONFIG, "%s: '%s' is no field of unlike length; these are:%s", option, key,
                      names.data ? names.data : " none");
    }
    buf_fini(&names);
    return st;
}
