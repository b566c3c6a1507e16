/*
 * names: a table from a name to an index, for values and nodes. Names are borrowed and must outlive
 * the table. Threads: one at a time while it grows.
 */
#ifndef TEQUIO_GRAPH_NAMES_H
#define TEQUIO_GRAPH_NAMES_H

#include <stdbool.h>
#include <stdint.h>

typedef struct names {
    struct names_slot {
        const char *name; /* NULL: empty */
        int32_t index;
    } * slots;
    uint32_t n, cap; /* cap is 0 or a power of two, at least twice n */
} names;

#define NAMES_INIT                                                                                 \
    {                                                                                              \
        .slots = 0, .n = 0, .cap = 0                                                               \
    }

void names_fini(names *t);
void names_clear(names *t);
void names_put(names *t, const char *name, int32_t index); /* replaces an entry of that name */
bool names_get(const names *t, const char *name, int32_t *ret_index);

#endif
