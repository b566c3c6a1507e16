/* Spoils all places a program's tests pass (place.h), one at a time, and sees whether a test fails.
 */
#ifndef TEQUIO_TESTS_CUDA_EMU_SPOIL_H
#define TEQUIO_TESTS_CUDA_EMU_SPOIL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Runs the tests, then spoils the places in `files` (names with spaces between; none: all) and
 * writes a line of each to the file `ledger`, with tabs: file, line, function, what stands there,
 * "noticed" or "missed". Returns how many tests failed with nothing spoilt. */
int spoil_places(const struct CMUnitTest *tests, size_t n, const char *files, const char *ledger);
/* To be called as each test begins. */
void spoil_test_begins(void);
/* Whether `names`, with spaces between, has this one; none: all. */
bool spoil_names(const char *names, const char *name);

#endif
