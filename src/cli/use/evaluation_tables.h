/*
 * An evaluation with its details, as tables for people: what `tequio evaluate` prints with --per-class, --errors or
 * --temperature where nobody asks for JSON.
 *
 * Threads: main thread only.
 */
#ifndef TEQUIO_CLI_USE_EVALUATION_TABLES_H
#define TEQUIO_CLI_USE_EVALUATION_TABLES_H

#include <jansson.h>

/* Of the object that is printed as JSON otherwise: figures a line each, then what details.h has. */
void evaluation_tables_print(const json_t *evaluation);

#endif
