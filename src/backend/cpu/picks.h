/*
 * Rows picked, put or added where row numbers say. `data` is [outer, size, inner], picks are
 * [outer, n, inner]: pick i of each outer goes with row rows[i] of the data; inner is contiguous.
 *
 * Combining has the order of backend/pick_order.h, whoever does it: the data are cut into a grid of outer x ranges of
 * rows x ranges of columns, and whoever has a cell goes through all picks in their order and takes those that fall
 * into it. A row's segment that is full is put aside, and the next one begins in the row; in the end they are joined.
 *
 * Threads: read only once it is made; both verbs use the lane's team.
 */
#ifndef TEQUIO_BACKEND_CPU_PICKS_H
#define TEQUIO_BACKEND_CPU_PICKS_H

#include "common/base/dtype.h"
#include "graph/attrs.h"

#include <stdbool.h>

typedef struct picks {
    int64_t outer, size, n, inner;
    size_t element;         /* bytes */
    int64_t n_rows, n_cols; /* of the grid */
} picks;

picks picks_make(int64_t outer, int64_t size, int64_t n, int64_t inner, size_t element,
                 int threads);

void picks_take(const picks *r, void *to, const void *data, const int64_t *at);

/* Combines n elements of a pick with the row that is there. */
typedef void (*picks_fn)(void *row, const void *pick, int64_t n);

typedef struct picks_rule {
    picks_fn combine;
    bool is_rounded; /* in another order it would have other bits */
} picks_rule;

/* Without `combine` if this type has no such reduction; a copy exists for every type. */
picks_rule picks_rule_of(scatter_reduction r, dtype t);

/* Changes `at`. The workspace is of picks_workspace_bytes, aligned as int64_t is. */
size_t picks_workspace_bytes(const picks *r, const picks_rule *rule);
void picks_combine(const picks *r, const picks_rule *rule, void *data, const void *from, int64_t *at,
                   void *workspace);

#endif
