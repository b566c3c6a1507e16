/*
 * What indices name. Gather and its gradient, GatherElements, GatherND, ScatterElements and
 * ScatterND all come down to rows of their data: data are [outer, rows, inner], what is picked from
 * them or put there is [outer, count, inner], and position i of the indices names, for every outer,
 * one of the rows: `depth` indices next to each other a position along as many axes, negative ones
 * from the end. Every backend reads these numbers, a GPU's kernels too.
 *
 * Threads: pure functions.
 */
#ifndef TEQUIO_GRAPH_INDEX_POSITIONS_H
#define TEQUIO_GRAPH_INDEX_POSITIONS_H

#include <stdbool.h>
#include <stdint.h>

enum { INDEX_AXES = 8 };

typedef struct index_positions {
    int64_t outer, rows, inner;
    int64_t count;                                      /* positions */
    bool wide;                                          /* indices are int64, else int32 */
    int32_t depth, rank;
    int64_t size[INDEX_AXES], stride[INDEX_AXES]; /* [depth] of the axes they name; in rows */
    int64_t dim[INDEX_AXES], base[INDEX_AXES];    /* [rank] of the positions; rows a step along
                                                   * each is worth by itself */
} index_positions;

struct graph;
struct graph_node;

/* Of a node of one of these operators, whose shape rule has passed; it makes elements. */
index_positions index_positions_of(const struct graph *g, const struct graph_node *n);

#endif
