#include "data/csv_rows.h"

#include "common/base/alloc.h"
#include "common/base/read_progress.h"

#include <stdlib.h>
#include <string.h>

/* By its name in the first line or in dataset_reader.columns, or else by its number from 0. */
static status find_column(const csv_reader *r, const csv *c, const char *const *names, const char *name, size_t *ret,
                          error *err)
{
    size_t i = 0;
    while (i < r->n_columns && !(names[i] && strcmp(names[i], name) == 0))
        i++;
    char *end = NULL;
    if (i == r->n_columns && name[0] >= '0' && name[0] <= '9') {
        unsigned long long number = strtoull(name, &end, 10);
        if (!*end && number < r->n_columns)
            i = (size_t)number;
    }
    *ret = i;
    if (i < r->n_columns)
        return OK;
    const char *near = config_did_you_mean(name, names, names[0] ? r->n_columns : 0);
    return FAIL(err, E_DATA, "'%s': has no column '%s' among its %zu%s%s%s", c->origin, name,
                r->n_columns, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

/* Where the label stands among the names that the configuration gives; behind them: nowhere. */
static size_t label_place(const csv_reader_options *o)
{
    size_t i = 0, given = json_array_size(o->columns);
    while (i < given && !(o->label && strcmp(json_string_value(json_array_get(o->columns, i)),
                                             o->label) == 0))
        i++;
    return i;
}

/* A file's first row has been read; `columns` are the names it lacks. */
static status find_columns(csv_reader *r, const csv_reader_options *o, const csv *c, error *err)
{
    size_t given = json_array_size(o->columns), skipped = label_place(o);
    if (r->n_columns && r->n_columns != c->n_cells)
        return FAIL(err, E_DATA, "'%s': has %zu columns, and '%s', which is the same table, %zu", c->origin,
                    c->n_cells, r->files[0].name, r->n_columns);
    r->n_columns = c->n_cells;
    bool lacks_label = o->without_labels && skipped < given && given == r->n_columns + 1;
    if (given && given != r->n_columns && !lacks_label)
        return FAIL(err, E_DATA, "'%s': line %zu has %zu columns, dataset_reader.columns names %zu",
                    c->origin, c->row_line, r->n_columns, given);
    const char **names = xcalloc(r->n_columns + 1, sizeof *names);
    for (size_t i = 0; i < r->n_columns; i++) {
        size_t place = i + (lacks_label && i >= skipped);
        names[i] = given       ? json_string_value(json_array_get(o->columns, place))
                   : o->header ? csv_cell(c, i)
                               : NULL;
    }
    status st = OK;
    for (size_t i = 0; i < r->n && st == OK; i++)
        st = find_column(r, c, names, r->columns[i].name, &r->columns[i].place, err);
    for (size_t i = 0; i < CSV_TEXTS && r->texts.columns[i].name && st == OK; i++)
        st = find_column(r, c, names, r->texts.columns[i].name, &r->texts.columns[i].place, err);
    free(names);
    return st;
}

static status each_row(csv_reader *r, const csv_reader_options *o, csv *c, csv_row_use *use, void *user, error *err)
{
    bool more;
    uint64_t told = 0;
    TRY(csv_next(c, &more, err));
    if (more)
        TRY(find_columns(r, o, c, err));
    if (more && o->header)
        TRY(csv_next(c, &more, err));
    while (more) {
        TRY(use(user, c, err));
        TRY(csv_next(c, &more, err));
        read_progress_reach(&told, c->at);
    }
    return OK;
}

status csv_rows_each(csv_reader *r, const csv_reader_options *o, const record_source *file, csv_row_use *use,
                     void *user, error *err)
{
    csv c;
    csv_open(&c, file->data, file->bytes, o->separator, file->name);
    status st = each_row(r, o, &c, use, user, err);
    csv_close(&c);
    return st;
}
