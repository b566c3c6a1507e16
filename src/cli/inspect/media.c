#include "cli/inspect/media.h"

#include "cli/inspect/text.h"
#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/json.h"
#include "data/pictures/picture_list.h"

#include <stdlib.h>
#include <string.h>

enum { BROKEN_SHOWN = 20 };

/* --- files --- */

bool media_find_listed(const char *path, const picture_kind *kind, picture_set *ret)
{
    static const char separators[] = {'\0', ','};
    for (size_t i = 0; i < COUNT_OF(separators); i++) {
        const picture_list_options o = {.kind = kind,
                                        .separator = separators[i],
                                        .header = true,
                                        .between = ','};
        if (picture_set_of_list(path, &o, NULL, ret, NULL) != OK)
            continue;
        char *first = picture_set_path(ret, 0);
        bool is_there = fs_exists(first);
        free(first);
        if (is_there)
            return true;
        picture_set_fini(ret);
    }
    return false;
}

/* The folder that it lies in, right below the root; "": none. */
static json_t *class_of(const picture_set *s, size_t i)
{
    buf name = BUF_INIT;
    picture_set_name(s, i, &name);
    char *slash = strchr(name.data, '/');
    json_t *class = json_stringn(name.data, slash ? (size_t)(slash - name.data) : 0);
    buf_fini(&name);
    return class;
}

static json_t *class_row(json_t *class, const char *what, json_int_t n, json_int_t broken)
{
    json_t *row = json_pack("{s:o}", "class", class);
    json_object_set_new(row, what, json_integer(n));
    json_object_set_new(row, "broken", json_integer(broken));
    return row;
}

/* Classes follow each other in the order of paths. */
static json_t *count_folders(const picture_set *s, char *const *broken, const char *what)
{
    json_t *classes = json_array(), *last = NULL;
    for (size_t i = 0; i < s->n; i++) {
        json_t *class = class_of(s, i);
        if (!last || !json_equal(json_object_get(last, "class"), class)) {
            last = class_row(json_incref(class), what, 0, 0);
            json_array_append_new(classes, last);
        }
        const char *key = broken[i] ? "broken" : what;
        json_object_set_new(last, key, json_integer(json_integer_value(json_object_get(last, key)) + 1));
        json_decref(class);
    }
    return classes;
}

static json_t *count_labels(const picture_set *s, char *const *broken, const char *what)
{
    json_t *classes = json_array();
    for (int32_t c = 0; c < words_count(s->classes); c++) {
        json_int_t n = 0, n_broken = 0;
        for (size_t i = 0; i < s->n; i++)
            for (int32_t k = 0; k < s->at[i].n_labels; k++)
                *(broken[i] ? &n_broken : &n) += s->at[i].labels[k] == c;
        json_array_append_new(classes, class_row(json_string(words_at(s->classes, c)), what, n, n_broken));
    }
    return classes;
}

json_t *media_classes(const picture_set *s, char *const *broken, const char *what)
{
    return s->classes ? count_labels(s, broken, what) : count_folders(s, broken, what);
}

json_t *media_broken(const picture_set *s, char *const *broken)
{
    json_t *list = json_array();
    for (size_t i = 0; i < s->n; i++) {
        if (!broken[i])
            continue;
        buf name = BUF_INIT;
        picture_set_name(s, i, &name);
        json_array_append_new(list, json_pack("{s:s, s:o}", "file", name.data, "why", json_words(broken[i])));
        buf_fini(&name);
    }
    return list;
}

/* --- numbers --- */

void extremes_add(extremes *e, int64_t x)
{
    e->least = !e->n || x < e->least ? x : e->least;
    e->most = x > e->most ? x : e->most;
    e->sum += x;
    e->n++;
}

json_t *extremes_report(const extremes *e)
{
    return json_pack("{s:I, s:I, s:f}", "least", (json_int_t)e->least, "most", (json_int_t)e->most, "mean",
                     e->n ? (double)e->sum / (double)e->n : 0.0);
}

/* --- printing --- */

void media_print_extremes(const json_t *report, const char *key, buf *ret)
{
    const json_t *e = json_object_get(report, key);
    buf_addf(ret, "  %-7s %lld to %lld, mean %.0f\n", key, inspect_int(e, "least"), inspect_int(e, "most"),
             json_real_value(json_object_get(e, "mean")));
}

void media_print_classes(const json_t *classes, const char *what, buf *ret)
{
    inspect_table t = {.columns = 3};
    if (json_array_size(classes) == 1 && !*inspect_str(json_array_get(classes, 0), "class"))
        return;
    inspect_table_cell(&t, "  class");
    inspect_table_cell(&t, "%s", what);
    inspect_table_cell(&t, "broken");
    for (size_t i = 0; i < json_array_size(classes); i++) {
        const json_t *one = json_array_get(classes, i);
        const char *name = inspect_str(one, "class");
        inspect_table_cell(&t, "  %s", *name ? name : "(none)");
        inspect_table_cell(&t, "%lld", inspect_int(one, what));
        inspect_table_cell(&t, "%lld", inspect_int(one, "broken"));
    }
    inspect_table_flush(&t, ret);
}

void media_print_broken(const json_t *broken, buf *ret)
{
    for (size_t i = 0; i < json_array_size(broken) && i < BROKEN_SHOWN; i++)
        buf_addf(ret, "  '%s': %s\n", inspect_str(json_array_get(broken, i), "file"),
                 inspect_str(json_array_get(broken, i), "why"));
    if (json_array_size(broken) > BROKEN_SHOWN)
        buf_addf(ret, "  and %zu more that are broken\n", json_array_size(broken) - BROKEN_SHOWN);
}
