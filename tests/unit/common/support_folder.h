/* A temporary folder for the tests of one program: cmocka fixtures and paths inside. */
#ifndef TEQUIO_TESTS_UNIT_COMMON_SUPPORT_FOLDER_H
#define TEQUIO_TESTS_UNIT_COMMON_SUPPORT_FOLDER_H

#include "common/base/error.h"

int folder_make(void **state);
int folder_remove(void **state);
const char *folder_path(void);
char *folder_file(const char *format, ...) PRINTF_LIKE(1, 2); /* the caller frees it */

#endif
