/*
 * Starts in job dirs, as masters make them.
 */
#ifndef TEQUIO_TESTS_UNIT_COMMON_SUPPORT_JOBDIR_H
#define TEQUIO_TESTS_UNIT_COMMON_SUPPORT_JOBDIR_H

#include "common/store/jobdir.h"

config *jobdir_config(const char *overrides);

/* A name in the test's folder; free it. */
char *jobdir_place(const char *name);

/* The start must succeed, or be refused with words among which `text` is. */
jobdir *jobdir_start(jobdir_request request);
void jobdir_refused(jobdir_request request, status expected, const char *text);

/* Writes DIR/name. */
void jobdir_put(const char *dir, const char *name, const char *text);

#endif
