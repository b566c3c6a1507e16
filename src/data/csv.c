/* See csv.h. */
#include "data/csv.h"

#include "common/base/alloc.h"

#include <stdlib.h>
#include <string.h>

void csv_open(csv *c, const void *data, size_t bytes, char separator, const char *origin)
{
    *c = (csv){.origin = origin, .data = data, .bytes = bytes, .separator = separator, .line = 1};
}

void csv_close(csv *c)
{
    buf_fini(&c->text);
    free(c->cells);
    *c = (csv){.origin = NULL};
}

const char *csv_cell(const csv *c, size_t i)
{
    return c->text.data + c->cells[i];
}

static int peek(const csv *c)
{
    return c->at < c->bytes ? c->data[c->at] : -1;
}

static bool is_line_end(int x)
{
    return x == '\n' || x == '\r' || x < 0;
}

static bool is_blank(const csv *c, int x)
{
    return (x == ' ' || x == '\t') && x != c->separator;
}

static void skip_blanks(csv *c)
{
    while (is_blank(c, peek(c)))
        c->at++;
}

/* "\n", "\r\n" or a lone "\r". */
static void skip_line_end(csv *c)
{
    if (peek(c) < 0)
        return;
    bool carriage = peek(c) == '\r';
    c->at++;
    if (carriage && peek(c) == '\n')
        c->at++;
    c->line++;
}

static status quoted(csv *c, error *err)
{
    size_t begun = c->line;
    c->at++;
    for (;; c->at++) {
        int x = peek(c);
        if (x < 0)
            return FAIL(err, E_DATA, "'%s': the quotation that line %zu opens is never closed",
                        c->origin, begun);
        if (x == '"') {
            c->at++;
            if (peek(c) != '"')
                return OK;
        }
        c->line += x == '\n';
        buf_add(&c->text, &(char){(char)x}, 1);
    }
}

static void unquoted(csv *c)
{
    size_t from = c->at;
    while (!is_line_end(peek(c)) && peek(c) != (unsigned char)c->separator)
        c->at++;
    size_t end = c->at;
    while (end > from && is_blank(c, c->data[end - 1]))
        end--;
    buf_add(&c->text, c->data + from, end - from);
}

static status cell(csv *c, error *err)
{
    GROW(c->cells, c->cap, c->n_cells + 1);
    size_t begin = c->cells[c->n_cells++] = c->text.size;
    skip_blanks(c);
    if (peek(c) == '"') {
        TRY(quoted(c, err));
        skip_blanks(c);
        if (!is_line_end(peek(c)) && peek(c) != (unsigned char)c->separator)
            return FAIL(err, E_DATA, "'%s': line %zu goes on behind a closing quotation mark",
                        c->origin, c->line);
    } else {
        unquoted(c);
    }
    if (c->text.size > begin && memchr(c->text.data + begin, 0, c->text.size - begin))
        return FAIL(err, E_DATA, "'%s': line %zu holds a zero byte: this is no text", c->origin,
                    c->row_line);
    buf_add(&c->text, "", 1);
    return OK;
}

status csv_next(csv *c, bool *ret_more, error *err)
{
    skip_blanks(c);
    while (peek(c) >= 0 && is_line_end(peek(c))) {
        skip_line_end(c);
        skip_blanks(c);
    }
    buf_clear(&c->text);
    c->n_cells = 0;
    c->row_line = c->line;
    *ret_more = peek(c) >= 0;
    if (!*ret_more)
        return OK;
    TRY(cell(c, err));
    while (!is_line_end(peek(c))) {
        c->at++; /* the separator */
        TRY(cell(c, err));
    }
    skip_line_end(c);
    return OK;
}
