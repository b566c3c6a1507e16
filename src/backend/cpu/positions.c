#include "backend/cpu/positions.h"

#include "backend/cpu/team.h"

#include <inttypes.h>
#include <stdatomic.h>

enum { FIND_GRAIN = 8192 }; /* positions */

typedef struct find_task {
    const index_positions *p;
    const void *indices;
    int64_t *rows;
    _Atomic int64_t wrong; /* the first index, or INT64_MAX */
} find_task;

static int64_t index_at(const index_positions *p, const void *indices, int64_t i)
{
    return p->wide ? ((const int64_t *)indices)[i] : ((const int32_t *)indices)[i];
}

static void note_wrong(find_task *t, int64_t i)
{
    int64_t first = atomic_load(&t->wrong);
    while (i < first && !atomic_compare_exchange_weak(&t->wrong, &first, i))
        ;
}

/* The row that the indices of a position name, 0 if one of them is wrong. */
static int64_t named_row(find_task *t, int64_t position)
{
    const index_positions *p = t->p;
    int64_t row = 0;
    for (int64_t k = 0; k < p->depth; k++) {
        int64_t at = index_at(p, t->indices, position * p->depth + k);
        at = at < 0 ? at + p->size[k] : at;
        if (at < 0 || at >= p->size[k]) {
            note_wrong(t, position * p->depth + k);
            return 0;
        }
        row += at * p->stride[k];
    }
    return row;
}

static int64_t last_dim(const index_positions *p)
{
    return p->rank ? p->dim[p->rank - 1] : 1;
}

/* Positions that lie along the last axis, for lines begin .. end of the others. */
static void find_lines(int64_t begin, int64_t end, void *arg)
{
    find_task *t = arg;
    const index_positions *p = t->p;
    int64_t n = last_dim(p), step = p->rank ? p->base[p->rank - 1] : 0;
    for (int64_t line = begin; line < end; line++) {
        int64_t base = 0, rest = line;
        for (int i = p->rank - 2; i >= 0; i--) {
            base += rest % p->dim[i] * p->base[i];
            rest /= p->dim[i];
        }
        for (int64_t i = 0; i < n; i++, base += step)
            t->rows[line * n + i] = base + named_row(t, line * n + i);
    }
}

status positions_find(const index_positions *p, const void *indices, int64_t *ret, error *err)
{
    find_task t = {.p = p, .indices = indices, .rows = ret, .wrong = INT64_MAX};
    int64_t n = last_dim(p);
    if (p->count > 0)
        team_for(p->count / n, FIND_GRAIN / n + 1, find_lines, &t);
    int64_t wrong = atomic_load(&t.wrong);
    if (wrong == INT64_MAX)
        return OK;
    int64_t size = p->size[wrong % p->depth];
    return FAIL(err, E_DATA,
                "index %" PRId64 " at position %" PRId64 " is outside %" PRId64 "..%" PRId64,
                index_at(p, indices, wrong), wrong, -size, size - 1);
}
