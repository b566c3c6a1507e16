#include "backend/cpu/picks.h"

#include "backend/cpu/lanes.h"
#include "backend/cpu/team.h"

#include <string.h>

enum {
    PICK_GRAIN = 16384, /* elements */
    NARROWEST = 64,     /* columns of a cell: four cache lines of floats */
};

picks picks_make(int64_t outer, int64_t size, int64_t n, int64_t inner, size_t element, int threads)
{
    picks r = {outer, size, n, inner, element, 1, 1};
    if (outer == 0 || size == 0 || n * inner * outer <= PICK_GRAIN)
        return r;
    /* columns are dealt evenly, rows are not when some are picked more often: so columns first */
    int64_t missing = (threads + outer - 1) / outer, widest = inner / NARROWEST + 1;
    r.n_cols = missing < widest ? missing : widest;
    missing = (missing + r.n_cols - 1) / r.n_cols;
    r.n_rows = missing < size ? missing : size;
    return r;
}

typedef struct picks_task {
    const picks *r;
    char *to;
    const char *from;
    const int64_t *at;
    picks_fn combine;
} picks_task;

#define PICK_ELEMENTS(name, type)                                                                  \
    static void name(type *y, const type *x, const int64_t *at, int64_t n)                         \
    {                                                                                              \
        for (int64_t i = 0; i < n; i++)                                                            \
            y[i] = x[at[i]];                                                                       \
    }

PICK_ELEMENTS(pick_1, uint8_t)
PICK_ELEMENTS(pick_4, uint32_t)
PICK_ELEMENTS(pick_8, uint64_t)

/* n picks from the rows at x, each of `bytes`. */
static void pick_some(char *y, const char *x, const int64_t *at, int64_t n, size_t bytes)
{
    if (bytes == 4)
        pick_4((uint32_t *)(void *)y, (const uint32_t *)(const void *)x, at, n);
    else if (bytes == 8)
        pick_8((uint64_t *)(void *)y, (const uint64_t *)(const void *)x, at, n);
    else if (bytes == 1)
        pick_1((uint8_t *)y, (const uint8_t *)x, at, n);
    else
        for (int64_t i = 0; i < n; i++)
            memcpy(y + (size_t)i * bytes, x + (size_t)at[i] * bytes, bytes);
}

/* Picks begin .. end of all outer x n. */
static void pick_span(int64_t begin, int64_t end, void *arg)
{
    const picks_task *t = arg;
    const picks *r = t->r;
    size_t bytes = (size_t)r->inner * r->element;
    while (begin < end) {
        int64_t o = begin / r->n, i = begin % r->n;
        int64_t n = r->n - i < end - begin ? r->n - i : end - begin;
        pick_some(t->to + (size_t)begin * bytes, t->from + (size_t)(o * r->size) * bytes, t->at + i,
                  n, bytes);
        begin += n;
    }
}

void picks_take(const picks *r, void *to, const void *data, const int64_t *at)
{
    picks_task t = {.r = r, .to = to, .from = data, .at = at};
    team_for(r->outer * r->n, PICK_GRAIN / (r->inner + 1) + 1, pick_span, &t);
}

/* y[i] = y[i] and x[i] combined */
#define COMBINE(name, type, combined)                                                              \
    SIMD_CLONES static void name(void *row, const void *pick, int64_t n)                           \
    {                                                                                              \
        type *y = row;                                                                             \
        const type *x = pick;                                                                      \
        SIMD_LOOP                                                                                  \
        for (int64_t i = 0; i < n; i++)                                                            \
            y[i] = combined;                                                                       \
    }

COMBINE(set_1, uint8_t, x[i])
COMBINE(set_2, uint16_t, x[i])
COMBINE(set_4, uint32_t, x[i])
COMBINE(set_8, uint64_t, x[i])
COMBINE(add_f32, float, y[i] + x[i])
COMBINE(mul_f32, float, y[i] * x[i])
COMBINE(max_f32, float, x[i] > y[i] || x[i] != x[i] ? x[i] : y[i])
COMBINE(min_f32, float, x[i] < y[i] || x[i] != x[i] ? x[i] : y[i])
COMBINE(add_i32, uint32_t, y[i] + x[i])
COMBINE(mul_i32, uint32_t, y[i] * x[i])
COMBINE(max_i32, int32_t, x[i] > y[i] ? x[i] : y[i])
COMBINE(min_i32, int32_t, x[i] < y[i] ? x[i] : y[i])
COMBINE(add_i64, uint64_t, y[i] + x[i])
COMBINE(mul_i64, uint64_t, y[i] * x[i])
COMBINE(max_i64, int64_t, x[i] > y[i] ? x[i] : y[i])
COMBINE(min_i64, int64_t, x[i] < y[i] ? x[i] : y[i])

static picks_fn setter(dtype t)
{
    switch (dtype_bytes(t)) {
    case 1:
        return set_1;
    case 2:
        return set_2;
    case 4:
        return set_4;
    default:
        return set_8;
    }
}

picks_fn picks_combiner(scatter_reduction r, dtype t)
{
    static const picks_fn f32[] = {NULL, add_f32, mul_f32, max_f32, min_f32};
    static const picks_fn i32[] = {NULL, add_i32, mul_i32, max_i32, min_i32};
    static const picks_fn i64[] = {NULL, add_i64, mul_i64, max_i64, min_i64};
    if (r == SCATTER_SET)
        return setter(t);
    return t == DT_F32 ? f32[r] : t == DT_I32 ? i32[r] : t == DT_I64 ? i64[r] : NULL;
}

static int64_t edge(int64_t n, int64_t pieces, int64_t i)
{
    return n / pieces * i + (i < n % pieces ? i : n % pieces);
}

static void combine_cell(const picks_task *t, int64_t o, int64_t row, int64_t col)
{
    const picks *r = t->r;
    int64_t first = edge(r->size, r->n_rows, row), end = edge(r->size, r->n_rows, row + 1);
    int64_t begin = edge(r->inner, r->n_cols, col),
            width = edge(r->inner, r->n_cols, col + 1) - begin;
    size_t bytes = (size_t)r->inner * r->element;
    char *to = t->to + (size_t)(o * r->size) * bytes + (size_t)begin * r->element;
    const char *from = t->from + (size_t)(o * r->n) * bytes + (size_t)begin * r->element;
    for (int64_t i = 0; i < r->n; i++)
        if (t->at[i] >= first && t->at[i] < end)
            t->combine(to + (size_t)t->at[i] * bytes, from + (size_t)i * bytes, width);
}

static void combine_cells(int64_t begin, int64_t end, void *arg)
{
    const picks_task *t = arg;
    const picks *r = t->r;
    for (int64_t cell = begin; cell < end; cell++)
        combine_cell(t, cell / r->n_cols / r->n_rows, cell / r->n_cols % r->n_rows,
                     cell % r->n_cols);
}

void picks_combine(const picks *r, void *data, const void *from, const int64_t *at,
                   picks_fn combine)
{
    picks_task t = {.r = r, .to = data, .from = from, .at = at, .combine = combine};
    int64_t cells = r->n_rows * r->n_cols;
    team_for(r->outer * cells, cells * PICK_GRAIN / (r->n * r->inner + 1) + 1, combine_cells, &t);
}
