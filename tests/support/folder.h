/* Folders for tests, below $TMPDIR. */
#ifndef TEQUIO_TESTS_SUPPORT_FOLDER_H
#define TEQUIO_TESTS_SUPPORT_FOLDER_H

#include "common/base/error.h"

/* A fresh one; folder_destroy removes it with everything in it. */
char *folder_create(void);
void folder_destroy(char **folder);

/* One for all tests of a program: cmocka's fixtures, and paths inside. */
int folder_set_up(void **state);
int folder_tear_down(void **state);
const char *folder_path(void);
char *folder_file(const char *format, ...) PRINTF_LIKE(1, 2); /* the caller frees it */

#endif
