/*
 * What `tequio top` shows: each job as a line of how far it is, its waits, and a table of its tasks, whose figures per
 * second come of two looks (live.json's `figures`). Text without a terminal's sequences; each line has a style.
 *
 * Threads: one at a time.
 */
#ifndef TEQUIO_CLI_LOOK_TOP_TABLE_H
#define TEQUIO_CLI_LOOK_TOP_TABLE_H

#include "common/base/buf.h"

#include <jansson.h>
#include <stdbool.h>

/* How tasks are in order within their job: by name, else the largest first. */
typedef enum top_order { TOP_BY_NAME, TOP_BY_CPU, TOP_BY_MEMORY, TOP_BY_RATE, TOP_BY_WAITING, TOP_ORDERS } top_order;
const char *top_order_name(top_order o);

typedef enum top_style { TOP_PLAIN, TOP_JOB, TOP_HEAD, TOP_WARN, TOP_BAD } top_style;

typedef struct top_line {
    char *text;
    top_style style;
} top_line;

typedef struct top_lines {
    top_line *at;
    size_t n, cap;
} top_lines;

void top_lines_add(top_lines *l, top_style style, const char *text);
void top_lines_fini(top_lines *l);

typedef struct top_table top_table;

top_table *top_table_new(void);
void top_table_free(top_table **t);

/* Lines of one place: `jobs` is a list of documents as job_view_json has them; NULL: `trouble` says why there is none.
 * `now`: seconds since 1970. */
void top_table_lines(top_table *t, const char *place, const json_t *jobs, const char *trouble, top_order order,
                     double now, top_lines *ret);

#endif
