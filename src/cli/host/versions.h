/* The versions of this program and of the libraries it runs with. Threads: any. */
#ifndef TEQUIO_CLI_HOST_VERSIONS_H
#define TEQUIO_CLI_HOST_VERSIONS_H

#include <stddef.h>

typedef struct versions_row {
    const char *name;
    char version[64];
} versions_row;

enum { VERSIONS_MAX = 10 };

/* Fills at most VERSIONS_MAX rows and returns their number; the first is this program. */
size_t versions_list(versions_row *ret);

#endif
