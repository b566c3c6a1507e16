/* See evaluation_tables.h. */
#include "cli/use/evaluation_tables.h"

#include "common/base/alloc.h"
#include "common/base/buf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As it is said in a cell: a word without quotes, "-" for what there is not. */
static char *cell_of(const json_t *x)
{
    if (json_is_string(x))
        return xstrdup(json_string_value(x));
    if (json_is_real(x))
        return xasprintf("%.5g", json_real_value(x));
    return x && !json_is_null(x) ? json_dumps(x, JSON_ENCODE_ANY | JSON_COMPACT) : xstrdup("-");
}

static void print_figures(const json_t *evaluation)
{
    const char *name;
    json_t *value;
    size_t widest = 0;
    json_object_foreach((json_t *)(uintptr_t)evaluation, name, value)
        widest = strlen(name) > widest ? strlen(name) : widest;
    json_object_foreach((json_t *)(uintptr_t)evaluation, name, value)
    {
        if (strcmp(name, "classes") == 0 || strcmp(name, "errors") == 0 || json_is_object(value))
            continue;
        char *text = cell_of(value);
        printf("%-*s  %s\n", (int)widest, name, text);
        free(text);
    }
}

typedef struct column {
    const char *key;
    bool is_left; /* aligned so; numbers are to the right */
    size_t width;
} column;

/* Is it there in any row? */
static bool has_column(const json_t *rows, const char *key)
{
    size_t i;
    json_t *row;
    json_array_foreach((json_t *)(uintptr_t)rows, i, row)
        if (json_object_get(row, key))
            return true;
    return false;
}

static void measure(column *c, const json_t *rows)
{
    size_t i;
    json_t *row;
    c->width = strlen(c->key);
    json_array_foreach((json_t *)(uintptr_t)rows, i, row)
    {
        char *text = cell_of(json_object_get(row, c->key));
        c->width = strlen(text) > c->width ? strlen(text) : c->width;
        free(text);
    }
}

static void print_cell(const column *c, const char *text, bool is_last)
{
    if (c->is_left)
        printf("  %-*s", is_last ? 0 : (int)c->width, text);
    else
        printf("  %*s", (int)c->width, text);
    if (is_last)
        putchar('\n');
}

static void print_table(const char *title, column *columns, size_t n, const json_t *rows)
{
    size_t i, shown = 0;
    json_t *row;
    for (size_t k = 0; k < n; k++)
        if (has_column(rows, columns[k].key))
            columns[shown++] = columns[k];
    printf("\n%s:\n", title);
    for (size_t k = 0; k < shown; k++) {
        measure(&columns[k], rows);
        print_cell(&columns[k], columns[k].key, k + 1 == shown);
    }
    json_array_foreach((json_t *)(uintptr_t)rows, i, row)
        for (size_t k = 0; k < shown; k++) {
            char *text = cell_of(json_object_get(row, columns[k].key));
            print_cell(&columns[k], text, k + 1 == shown);
            free(text);
        }
}

static void print_change(const json_t *t, const char *what, const char *before, const char *after)
{
    char *from = cell_of(json_object_get(t, before)), *to = cell_of(json_object_get(t, after));
    printf("  %-26s  %s, then %s\n", what, from, to);
    free(from);
    free(to);
}

static void print_temperature(const json_t *t)
{
    char *text = cell_of(json_object_get(t, "temperature"));
    printf("\ntemperature: %s\n", text);
    print_change(t, "loss", "loss_before", "loss_after");
    print_change(t, "expected calibration error", "expected_calibration_error_before",
                 "expected_calibration_error_after");
    free(text);
}

void evaluation_tables_print(const json_t *evaluation)
{
    const json_t *classes = json_object_get(evaluation, "classes"), *errors = json_object_get(evaluation, "errors");
    column of_classes[] = {{.key = "class"}, {.key = "precision"}, {.key = "recall"}, {.key = "f1"},
                           {.key = "support"}, {.key = "word", .is_left = true}};
    column of_errors[] = {{.key = "example"}, {.key = "loss"}, {.key = "label", .is_left = true},
                          {.key = "predicted", .is_left = true}, {.key = "place", .is_left = true}};
    print_figures(evaluation);
    if (classes)
        print_table("classes", of_classes, COUNT_OF(of_classes), classes);
    if (errors)
        print_table("examples with the largest loss", of_errors, COUNT_OF(of_errors), errors);
    if (json_object_get(evaluation, "temperature"))
        print_temperature(json_object_get(evaluation, "temperature"));
}
