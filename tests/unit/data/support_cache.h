/* The user's cache for tests of what is kept there: a fresh one for each test, its files, and damage to them. */
#ifndef TEQUIO_TESTS_UNIT_DATA_SUPPORT_CACHE_H
#define TEQUIO_TESTS_UNIT_DATA_SUPPORT_CACHE_H

#include <stdbool.h>
#include <stddef.h>

/* cmocka's fixtures: *state is the folder's path. */
int cache_fresh(void **state);
int cache_drop(void **state);

/* The path of the file that ends so, which must be there; the caller frees it. */
char *cache_kept_file(const char *cache, const char *ending);
/* Another bit in the byte `at` of a file, which counts from its end where `from_end`. */
void cache_damage(const char *path, long at, bool from_end);

/* Runs `makes` in processes that begin at once; how many of them said that they made it anew. */
int cache_makers(int processes, bool (*makes)(void *user), void *user);

/* Bytes of this process's heap. */
size_t cache_heap_bytes(void);

#endif
