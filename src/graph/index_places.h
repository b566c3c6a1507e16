/*
 * What indices name. Gather and its gradient, GatherElements, GatherND, ScatterElements and
 * ScatterND all come down to rows of their data: data are [outer, rows, inner], what is picked from
 * them or put there is [outer, count, inner], and position i of the indices names, for every outer,
 * one of the rows: `depth` indices next to each other a place along as many axes, negative ones
 * from the end. Every backend reads these numbers, a GPU's kernels too.
 *
 * Threads: pure functions.
 */
#ifndef TEQUIO_GRAPH_INDEX_PLACES_H
#define TEQUIO_GRAPH_INDEX_PLACES_H

#include <stdbool.h>
#include <stdint.h>

enum { PLACES_AXES = 8 };

typedef struct index_places {
    int64_t outer, rows, inner;
    int64_t count;                                      /* positions */
    bool wide;                                          /* indices are int64, else int32 */
    int32_t depth, rank;
    int64_t size[PLACES_AXES], stride[PLACES_AXES];     /* [depth] of the axes they name; in rows */
    int64_t dim[PLACES_AXES], base[PLACES_AXES];        /* [rank] of the positions; rows a step along
                                                         * each is worth by itself */
} index_places;

struct graph;
struct graph_node;

/* Of a node of one of these operators, whose shape rule has passed; it makes elements. */
index_places index_places_of(const struct graph *g, const struct graph_node *n);

#endif
