/*
 * From indices to row numbers. Every operator that picks or puts by index comes down to it: at each
 * position of the indices `depth` of them name a place along as many axes of the data; negative
 * ones count from the end.
 *
 * Threads: read only once it is filled; places_find uses the lane's team.
 */
#ifndef TEQUIO_BACKEND_CPU_PLACES_H
#define TEQUIO_BACKEND_CPU_PLACES_H

#include "graph/graph.h"

typedef struct places {
    dtype type;                                   /* of the indices: int64 or int32 */
    int64_t depth;                                /* indices at a position, next to each other */
    int64_t size[GRAPH_RANK], stride[GRAPH_RANK]; /* of the axes they name; in rows */
    int rank;                                     /* of the positions */
    int64_t dim[GRAPH_RANK], base[GRAPH_RANK];    /* rows a step along each is worth by itself */
} places;

int64_t places_count(const places *p); /* positions */

/* The row of each position. E_DATA names the first index that points nowhere. */
MUST_USE status places_find(const places *p, const void *indices, int64_t *ret, error *err);

#endif
