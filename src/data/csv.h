/*
 * Comma-separated values (RFC 4180), a row at a time: any separator; "quoted" cells may hold
 * separators, line ends and doubled quotes; blanks around a cell that is not quoted do not count;
 * empty lines are skipped.
 *
 * Errors (E_DATA) name file and line. Threads: a csv belongs to one thread at a time.
 */
#ifndef TEQUIO_DATA_CSV_H
#define TEQUIO_DATA_CSV_H

#include "common/base/buf.h"
#include "common/base/error.h"

#include <stdbool.h>

typedef struct csv {
    const char *origin;             /* names the file in messages; kept, like the data */
    const unsigned char *data;
    size_t bytes, at;
    char separator;
    size_t line;                    /* where the next row begins, from 1 */
    size_t row_line;                /* where the last row began */
    buf text;                       /* its cells, each ended by a zero */
    size_t *cells;                  /* [n_cells] where each begins */
    size_t n_cells, cap;
} csv;

void csv_open(csv *c, const void *data, size_t bytes, char separator, const char *origin);
void csv_close(csv *c);

/* The next row; *ret_more is false, and there is none, behind the last one. */
MUST_USE status csv_next(csv *c, bool *ret_more, error *err);
const char *csv_cell(const csv *c, size_t i);   /* until the next row */

#endif
