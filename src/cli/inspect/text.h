/* A report as text for people: its values, and tables of them. Pure functions. */
#ifndef TEQUIO_CLI_INSPECT_TEXT_H
#define TEQUIO_CLI_INSPECT_TEXT_H

#include "common/base/buf.h"
#include "common/base/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

const char *inspect_str(const json_t *o, const char *key); /* "" when absent */
long long inspect_int(const json_t *o, const char *key);
double inspect_number(const json_t *o, const char *key, double if_absent); /* if_absent too when it is no number */
bool inspect_true(const json_t *o, const char *key);
/* "3.1 MB" */
void inspect_add_bytes(buf *out, double bytes);
/* "-0.0625", "-" for null */
void inspect_add_number(buf *out, const json_t *value);

/* A table: columns as wide as their widest cell, the first one left, the others right. Cells are
 * copied; a row ends after `columns` cells. */
enum { INSPECT_COLUMNS = 9 };
typedef struct inspect_table {
    size_t columns, n, cap;
    char **cells;
} inspect_table;

void inspect_table_cell(inspect_table *t, const char *format, ...) PRINTF_LIKE(2, 3);
void inspect_table_number(inspect_table *t, const json_t *value);
void inspect_table_flush(inspect_table *t, buf *out); /* appends the text and empties the table */

#endif
