#include "cli/submit/task_table.h"

#include "common/base/alloc.h"
#include "job/ports.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- numbers, shortened --- */

/* "0-28"; of many pieces the first and the last: "0,2,4,6,...,58" */
enum { PIECES = 4 };

typedef struct numbers {
    buf text;
    int first, last; /* of the piece that goes on */
    int n;           /* pieces so far, with it */
} numbers;

static void end_piece(numbers *s)
{
    buf_addf(&s->text, "%s%d", s->text.size ? "," : "", s->first);
    if (s->last > s->first)
        buf_addf(&s->text, "-%d", s->last);
}

static void add_number(numbers *s, int number)
{
    if (s->n && (number == s->last || number == s->last + 1)) {
        s->last = number;
        return;
    }
    if (s->n && s->n <= PIECES)
        end_piece(s);
    s->first = s->last = number;
    s->n++;
}

static void end_numbers(numbers *s)
{
    if (s->n > PIECES + 1)
        buf_adds(&s->text, ",...");
    end_piece(s);
}

/* --- which tasks are one row --- */

/* "ps-3" after "ps-2" */
static bool is_numbered_alike(const roster_task *a, const roster_task *b)
{
    char one[16], other[16];
    snprintf(one, sizeof one, "%" PRId32, a->task.index);
    snprintf(other, sizeof other, "%" PRId32, b->task.index);
    for (const char *at = a->host; (at = strstr(at, one)); at++) {
        size_t n = (size_t)(at - a->host);
        if (strncmp(a->host, b->host, n) == 0 && strncmp(b->host + n, other, strlen(other)) == 0 &&
            strcmp(at + strlen(one), b->host + n + strlen(other)) == 0)
            return true;
    }
    return false;
}

static bool goes_on(const roster_task *a, const roster_task *b)
{
    if (a->task.role != b->task.role || !a->host != !b->host || !a->port != !b->port)
        return false;
    return !a->host || strcmp(a->host, b->host) == 0 || is_numbered_alike(a, b);
}

/* --- a row --- */

static void add_ports(const numbers *ports, int n, buf *ret)
{
    bool is_one = ports->n == 1 && ports->first == ports->last;
    if (!ports->last)
        buf_adds(ret, n == 1 ? "a free port\n" : "free ports\n");
    else
        buf_addf(ret, "port%s %s\n", is_one ? "" : "s", ports->text.data);
}

static void task_table_add_row(const roster *tasks, const int *row, int n, buf *ret)
{
    const roster_task *first = &tasks->tasks[row[0]], *last = &tasks->tasks[row[n - 1]];
    numbers indices = {.text = BUF_INIT}, ports = {.text = BUF_INIT};
    for (int i = 0; i < n; i++) {
        add_number(&indices, tasks->tasks[row[i]].task.index);
        add_number(&ports, tasks->tasks[row[i]].port);
    }
    end_numbers(&indices);
    end_numbers(&ports);
    char *name = xasprintf("%s.%s", role_name(first->task.role), indices.text.data);
    const char *from = first->host ? first->host : PORTS_HOST, *to = last->host ? last->host : from;
    bool is_range = strcmp(from, to) != 0;
    buf_addf(ret, "  %-22s  %s%s%s, ", name, from, is_range ? " to " : "", is_range ? to : "");
    add_ports(&ports, n, ret);
    free(name);
    buf_fini(&indices.text);
    buf_fini(&ports.text);
}

void task_table_add(const roster *tasks, buf *ret)
{
    bool *is_told = xcalloc((size_t)tasks->n, sizeof *is_told);
    int *row = xcalloc((size_t)tasks->n, sizeof *row);
    for (int i = 0; i < tasks->n; i++) {
        int n = 0;
        for (int k = i; !is_told[i] && k < tasks->n; k++)
            if (!is_told[k] && (!n || goes_on(&tasks->tasks[row[n - 1]], &tasks->tasks[k])))
                row[n++] = k;
        for (int k = 0; k < n; k++)
            is_told[row[k]] = true;
        if (n)
            task_table_add_row(tasks, row, n, ret);
    }
    free(row);
    free(is_told);
}
