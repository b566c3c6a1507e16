/*
 * What `tequio evaluate JOB --errors N` leaves for the page: JOB/eval/worst.json, with a picture of each example that
 * has one.
 *
 * Threads: functions without shared state.
 */
#ifndef TEQUIO_CLI_USE_WORST_EXAMPLES_H
#define TEQUIO_CLI_USE_WORST_EXAMPLES_H

#include "cli/use/trained_model.h"

#include <jansson.h>

/* There is a job dir, or a copy of one. */
bool worst_examples_have_place(const trained_model *s);
/* Of details that list errors; takes the pictures out of them. A dir that cannot be written is said. */
void worst_examples_keep(const trained_model *s, json_t *details, const char *data);

#endif
