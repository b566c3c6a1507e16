/*
 * `tequio inspect FILE|DIR`: looks into what jobs leave and take. Every kind of thing gives a
 * report as JSON; the text for people is made from that report, so both always tell the same. Main
 * thread only.
 */
#ifndef TEQUIO_CLI_INSPECT_INSPECT_H
#define TEQUIO_CLI_INSPECT_INSPECT_H

#include "common/base/buf.h"
#include "common/base/error.h"

#include <jansson.h>
#include <stdbool.h>

/* argv[0] is "inspect". The report goes to standard output. */
MUST_USE status inspect_main(int argc, char **argv, error *err);

/* The report on whatever lies at `path`; its "kind" is "checkpoint", "job", "safetensors", "events"
 * or "idx". `verify` also checks a checkpoint's SHA-256 sums. The caller decrefs *ret. */
MUST_USE status inspect_look(const char *path, bool verify, json_t **ret, error *err);

/* The report as text for people. */
void inspect_print(const json_t *report, buf *ret);

/* One of each for every kind, in <kind>.c. */
MUST_USE status inspect_look_checkpoint(const char *dir, bool verify, json_t **ret, error *err);
void inspect_print_checkpoint(const json_t *report, buf *ret);
MUST_USE status inspect_look_job(const char *dir, json_t **ret, error *err);
void inspect_print_job(const json_t *report, buf *ret);
MUST_USE status inspect_look_safetensors(const char *path, json_t **ret, error *err);
void inspect_print_safetensors(const json_t *report, buf *ret);
MUST_USE status inspect_look_events(const char *path, json_t **ret, error *err);
void inspect_print_events(const json_t *report, buf *ret);
MUST_USE status inspect_look_idx(const char *path, json_t **ret, error *err);
void inspect_print_idx(const json_t *report, buf *ret);

/* --- for the reports --- */

/* Numbers of values, gathered one by one and told as "min", "max", "mean", "std". Two rounds over
 * the values: inspect_stats_add for all of them, then inspect_stats_add_again for all of them. */
typedef struct inspect_stats {
    size_t n, n_bad; /* finite ones, others */
    double min, max, sum, squares;
} inspect_stats;

void inspect_stats_add(inspect_stats *s, double x);
void inspect_stats_add_again(inspect_stats *s, double x);
/* Sets the keys in `o`; null where there is no finite value. */
void inspect_stats_tell(const inspect_stats *s, json_t *o);

/* --- for the texts --- */

const char *inspect_str(const json_t *o, const char *key); /* "" when absent */
long long inspect_int(const json_t *o, const char *key);
bool inspect_true(const json_t *o, const char *key);
/* "3.1 MB" */
void inspect_add_bytes(buf *out, double bytes);
/* "-0.0625", "-" for null */
void inspect_add_number(buf *out, const json_t *value);

/* A table: columns as wide as their widest cell, the first one left, the others right. Cells are
 * copied; a row ends after `columns` cells. */
enum { INSPECT_COLUMNS = 8 };
typedef struct inspect_table {
    size_t columns, n, cap;
    char **cells;
} inspect_table;

void inspect_table_cell(inspect_table *t, const char *format, ...) PRINTF_LIKE(2, 3);
void inspect_table_number(inspect_table *t, const json_t *value);
void inspect_table_flush(inspect_table *t, buf *out); /* appends the text and empties the table */

#endif
