#include "job/yaml.h"

#include "common/base/alloc.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>
#include <yaml.h>

typedef struct writing {
    yaml_emitter_t emitter;
    buf *out;
} writing;

static int append(void *user, unsigned char *text, size_t bytes)
{
    buf_add(user, text, bytes);
    return 1;
}

/* Whatever fails is memory, or an event that is out of place. */
static void emit(writing *w, yaml_event_t *e, int is_made)
{
    if (!is_made || !yaml_emitter_emit(&w->emitter, e))
        BUG("libyaml does not write: %s", w->emitter.problem ? w->emitter.problem : "no memory");
}

/* Whether it stays a text for every reader: YAML 1.1 takes many words for truth values. */
static bool is_plain(const char *text)
{
    static const char *const words[] = {"y",   "n",    "yes",   "no",  "on",
                                        "off", "true", "false", "null"};
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (strcasecmp(text, words[i]) == 0)
            return false;
    if (!isalpha((unsigned char)text[0]) && text[0] != '/')
        return false;
    return !text[strspn(text,
                        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-")];
}

static void write_scalar(writing *w, const char *text, bool is_plain, yaml_scalar_style_t style)
{
    yaml_event_t e;
    emit(w, &e,
         yaml_scalar_event_initialize(&e, NULL, NULL, (const yaml_char_t *)text, (int)strlen(text),
                                      is_plain, 1, style));
}

static void write_text(writing *w, const char *text)
{
    bool has_lines = strchr(text, '\n') != NULL;
    write_scalar(w, text, !has_lines && is_plain(text),
                 has_lines ? YAML_LITERAL_SCALAR_STYLE : YAML_ANY_SCALAR_STYLE);
}

static void write_value(writing *w, const json_t *value);

static void write_map(writing *w, const json_t *map)
{
    const char *key;
    json_t *item;
    yaml_event_t e;
    yaml_mapping_style_t style =
        json_object_size(map) ? YAML_BLOCK_MAPPING_STYLE : YAML_FLOW_MAPPING_STYLE;
    emit(w, &e, yaml_mapping_start_event_initialize(&e, NULL, NULL, 1, style));
    json_object_foreach((json_t *)(uintptr_t)map, key, item)
    {
        write_text(w, key);
        write_value(w, item);
    }
    emit(w, &e, yaml_mapping_end_event_initialize(&e));
}

/* Numbers stand in one line. */
static void write_list(writing *w, const json_t *list)
{
    size_t i;
    json_t *item;
    yaml_event_t e;
    yaml_sequence_style_t style = json_is_number(json_array_get(list, 0))
                                      ? YAML_FLOW_SEQUENCE_STYLE
                                      : YAML_BLOCK_SEQUENCE_STYLE;
    emit(w, &e, yaml_sequence_start_event_initialize(&e, NULL, NULL, 1, style));
    json_array_foreach(list, i, item)
        write_value(w, item);
    emit(w, &e, yaml_sequence_end_event_initialize(&e));
}

static void write_value(writing *w, const json_t *value)
{
    if (json_is_object(value)) {
        write_map(w, value);
    } else if (json_is_array(value)) {
        write_list(w, value);
    } else if (json_is_string(value)) {
        write_text(w, json_string_value(value));
    } else {
        char *text = json_dumps(value, JSON_ENCODE_ANY);
        write_scalar(w, text, true, YAML_PLAIN_SCALAR_STYLE);
        free(text);
    }
}

void yaml_add(const json_t *value, buf *ret)
{
    writing w = {.out = ret};
    yaml_event_t e;
    if (!yaml_emitter_initialize(&w.emitter))
        BUG("libyaml does not begin");
    yaml_emitter_set_output(&w.emitter, append, ret);
    yaml_emitter_set_unicode(&w.emitter, 1);
    yaml_emitter_set_width(&w.emitter, -1);
    bool is_first = !ret->size;
    emit(&w, &e, yaml_stream_start_event_initialize(&e, YAML_UTF8_ENCODING));
    emit(&w, &e, yaml_document_start_event_initialize(&e, NULL, NULL, NULL, is_first));
    write_value(&w, value);
    emit(&w, &e, yaml_document_end_event_initialize(&e, 1));
    emit(&w, &e, yaml_stream_end_event_initialize(&e));
    yaml_emitter_delete(&w.emitter);
}
