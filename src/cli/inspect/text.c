#include "cli/inspect/text.h"

#include "cli/line/size.h"
#include "common/base/alloc.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const char *inspect_str(const json_t *o, const char *key)
{
    const char *text = json_string_value(json_object_get(o, key));
    return text ? text : "";
}

long long inspect_int(const json_t *o, const char *key)
{
    return json_integer_value(json_object_get(o, key));
}

double inspect_number(const json_t *o, const char *key, double if_absent)
{
    const json_t *value = json_object_get(o, key);
    return json_is_number(value) ? json_number_value(value) : if_absent;
}

bool inspect_true(const json_t *o, const char *key)
{
    return json_is_true(json_object_get(o, key));
}

void inspect_add_bytes(buf *out, double bytes)
{
    char text[SIZE_TEXT];
    buf_adds(out, size_text(bytes, text));
}

void inspect_add_number(buf *out, const json_t *value)
{
    if (json_is_integer(value))
        buf_addf(out, "%lld", (long long)json_integer_value(value));
    else if (json_is_real(value))
        buf_addf(out, "%.5g", json_real_value(value));
    else if (json_is_string(value))
        buf_adds(out, json_string_value(value));
    else
        buf_adds(out, json_is_true(value) ? "true" : json_is_false(value) ? "false" : "-");
}

void inspect_table_cell(inspect_table *t, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    char *text = xvasprintf(format, list);
    va_end(list);
    GROW(t->cells, t->cap, t->n + 1);
    t->cells[t->n++] = text;
}

void inspect_table_number(inspect_table *t, const json_t *value)
{
    buf text = BUF_INIT;
    inspect_add_number(&text, value);
    inspect_table_cell(t, "%s", text.data);
    buf_fini(&text);
}

static void end_row(buf *out)
{
    while (out->size && out->data[out->size - 1] == ' ')
        out->data[--out->size] = '\0';
    buf_adds(out, "\n");
}

void inspect_table_flush(inspect_table *t, buf *out)
{
    int width[INSPECT_COLUMNS] = {0};
    BUG_ON(t->columns < 1 || t->columns > INSPECT_COLUMNS || t->n % t->columns);
    for (size_t i = 0; i < t->n; i++) {
        int n = (int)strlen(t->cells[i]);
        int *widest = &width[i % t->columns];
        *widest = n > *widest ? n : *widest;
    }
    for (size_t i = 0; i < t->n; i++) {
        size_t column = i % t->columns;
        buf_addf(out, "  %*s", column ? width[column] : -width[0], t->cells[i]);
        free(t->cells[i]);
        if (column + 1 == t->columns)
            end_row(out);
    }
    free(t->cells);
    *t = (inspect_table){.columns = t->columns};
}
