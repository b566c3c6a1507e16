/* See picture_list.h. */
#include "data/pictures/picture_list.h"

#include "common/base/fs.h"
#include "common/base/utf8.h"
#include "data/csv.h"
#include "data/source.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct list {
    const char *path;
    const picture_list_options *options;
    source file;
    picture_set set;
    bool is_known;
} list;

static status number_of(list *l, const char *label, size_t line, int32_t *ret, error *err)
{
    picture_set *s = &l->set;
    if (!*label || !utf8_valid(label))
        return FAIL(err, E_DATA, "'%s': line %zu: expected a path and a label in UTF-8, neither of them empty", l->path,
                    line);
    *ret = l->is_known ? words_find(s->classes, label) : words_add(s->classes, label);
    if (*ret >= 0)
        return OK;
    return FAIL(err, E_DATA, "'%s': line %zu: '%.100s' is none of the %d classes that are known ('%s' and so on)",
                l->path, line, label, words_count(s->classes), words_at(s->classes, 0));
}

/* "cat,outdoors", or nothing. */
static status take_labels(list *l, const char *text, size_t line, picture_entry *e, error *err)
{
    char between = l->options->between;
    size_t n = *text != '\0';
    for (const char *c = text; *c; c++)
        n += *c == between;
    int32_t *numbers = arena_alloc(l->set.names, (n + 1) * sizeof *numbers);
    char *copy = xstrdup(text), *at = copy, *end;
    status st = OK;
    for (size_t i = 0; i < n && st == OK; i++, at = end + 1) {
        end = at + strcspn(at, (char[]){between, '\0'});
        *end = '\0';
        st = number_of(l, at, line, &numbers[i], err);
    }
    free(copy);
    e->labels = numbers;
    e->n_labels = (int32_t)n;
    return st;
}

/* `label` is NULL without labels. */
static status add_picture(list *l, const char *path, const char *label, size_t line, error *err)
{
    picture_set *s = &l->set;
    picture_entry e = {.label = 0};
    if (!*path)
        return FAIL(err, E_DATA, "'%s': line %zu: expected a path and a label in UTF-8, neither of them empty", l->path,
                    line);
    if (label)
        TRY(l->options->between ? take_labels(l, label, line, &e, err) : number_of(l, label, line, &e.label, err));
    e.path = arena_strdup(s->names, path);
    GROW(s->at, s->cap, s->n + 1);
    s->at[s->n++] = e;
    return OK;
}

/* --- lines --- */

static bool is_there(const picture_set *s, const char *path)
{
    struct stat info;
    char *whole = picture_path(s->root, path);
    bool is = stat(whole, &info) == 0;
    free(whole);
    return is;
}

static char *last_blank(char *line)
{
    char *space = strrchr(line, ' '), *tab = strrchr(line, '\t');
    return !space || (tab && tab > space) ? tab : space;
}

static status take_line(list *l, char *line, size_t number, error *err)
{
    bool has_labels = !l->options->without_labels;
    char *blank = last_blank(line);
    if ((!has_labels || l->options->between) && (!blank || is_there(&l->set, line)))
        return add_picture(l, line, has_labels ? "" : NULL, number, err);
    if (!blank)
        return FAIL(err, E_DATA, "'%s': line %zu: '%.100s' has no label; expected a path, a blank and a label", l->path,
                    number, line);
    char *end = blank;
    while (end > line && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    *end = '\0';
    return add_picture(l, line, has_labels ? blank + 1 : NULL, number, err);
}

static status read_lines(list *l, error *err)
{
    if (memchr(l->file.data, 0, l->file.bytes))
        return FAIL(err, E_DATA, "'%s': has a zero byte: it is no list of paths and labels", l->path);
    char *text = xstrndup((const char *)l->file.data, l->file.bytes), *next;
    status st = OK;
    size_t number = 1;
    for (char *line = text; line && st == OK; line = next, number++) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        size_t n = strlen(line);
        while (n > 0 && strchr(" \t\r", line[n - 1]))
            line[--n] = '\0';
        if (n > 0)
            st = take_line(l, line, number, err);
    }
    free(text);
    return st;
}

/* --- cells --- */

static status find_column(const list *l, const csv *c, const char *name, size_t if_absent, size_t *ret, error *err)
{
    char *end = NULL;
    *ret = if_absent;
    for (size_t i = 0; name && l->options->header && i < c->n_cells; i++)
        if (strcmp(csv_cell(c, i), name) == 0) {
            *ret = i;
            return OK;
        }
    if (name) {
        unsigned long number = strtoul(name, &end, 10);
        *ret = *name && !*end ? number : c->n_cells;
    }
    return *ret < c->n_cells ? OK
                             : FAIL(err, E_CONFIG, "'%s': has no column %s; its first row has %zu", l->path,
                                    name ? name : "of labels", c->n_cells);
}

static status take_rows(list *l, csv *c, error *err)
{
    size_t path = 0, label = 0, n = c->n_cells;
    bool has_labels = !l->options->without_labels, more = true;
    TRY(find_column(l, c, l->options->path_column, 0, &path, err));
    if (has_labels)
        TRY(find_column(l, c, l->options->label_column, 1, &label, err));
    if (l->options->header)
        TRY(csv_next(c, &more, err));
    while (more) {
        if (c->n_cells != n)
            return FAIL(err, E_DATA, "'%s': line %zu has %zu columns, the first row %zu", l->path, c->row_line,
                        c->n_cells, n);
        TRY(add_picture(l, csv_cell(c, path), has_labels ? csv_cell(c, label) : NULL, c->row_line, err));
        TRY(csv_next(c, &more, err));
    }
    return OK;
}

static status read_cells(list *l, error *err)
{
    csv c;
    bool more = false;
    csv_open(&c, l->file.data, l->file.bytes, l->options->separator, l->path);
    status st = csv_next(&c, &more, err);
    if (st == OK && more)
        st = take_rows(l, &c, err);
    csv_close(&c);
    return st;
}

/* --- both --- */

static void renumber(picture_entry *e, const int32_t *numbers)
{
    int32_t *labels = (int32_t *)(uintptr_t)e->labels; /* the list's own */
    e->label = numbers[e->label];
    for (int32_t i = 0; i < e->n_labels; i++)
        labels[i] = numbers[labels[i]];
}

static void sort_classes(picture_set *s)
{
    int32_t *numbers = xcalloc((size_t)words_count(s->classes) + 1, sizeof *numbers);
    words_sort(s->classes, numbers);
    for (size_t i = 0; i < s->n; i++)
        renumber(&s->at[i], numbers);
    free(numbers);
}

static status read_list(list *l, error *err)
{
    TRY(source_open(l->path, &l->file, err));
    status st = l->options->separator ? read_cells(l, err) : read_lines(l, err);
    source_close(&l->file);
    if (st == OK && l->set.n == 0)
        st = FAIL(err, E_DATA, "'%s': lists no %s", l->path, l->options->kind->one);
    return st;
}

status picture_set_of_list(const char *path, const picture_list_options *o, words *known, picture_set *ret, error *err)
{
    bool has_labels = !o->without_labels;
    list l = {.path = path, .options = o, .is_known = known != NULL};
    l.set = (picture_set){.kind = o->kind,
                          .root = o->root ? xstrdup(o->root) : fs_parent(path),
                          .names = arena_create()};
    l.set.origin = arena_strdup(l.set.names, path);
    l.set.classes = known || !has_labels ? known : words_create();
    status st = read_list(&l, err);
    if (st != OK) {
        picture_set_fini(&l.set);
        return st;
    }
    if (has_labels && !l.is_known)
        sort_classes(&l.set);
    *ret = l.set;
    return OK;
}
