#include "backend/cpu/picks.h"

#include "backend/cpu/lanes.h"
#include "backend/cpu/pick_segments.h"
#include "backend/cpu/team.h"
#include "backend/pick_order.h"

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
    pick_segments segments;
    char *aside; /* [outer, pick_segments_most(n), inner]: segments of rows with several, but for the last */
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

picks_rule picks_rule_of(scatter_reduction r, dtype t)
{
    static const picks_fn f32[] = {NULL, add_f32, mul_f32, max_f32, min_f32};
    static const picks_fn i32[] = {NULL, add_i32, mul_i32, max_i32, min_i32};
    static const picks_fn i64[] = {NULL, add_i64, mul_i64, max_i64, min_i64};
    picks_fn combine = t == DT_F32 ? f32[r] : t == DT_I32 ? i32[r] : t == DT_I64 ? i64[r] : NULL;
    return (picks_rule){.combine = r == SCATTER_SET ? setter(t) : combine,
                        .is_rounded = t == DT_F32 && (r == SCATTER_ADD || r == SCATTER_MUL)};
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
    size_t bytes = (size_t)r->inner * r->element, skip = (size_t)begin * r->element;
    int64_t segment = o * pick_segments_most(r->n);
    char *to = t->to + (size_t)(o * r->size) * bytes + skip;
    const char *from = t->from + (size_t)(o * r->n) * bytes + skip;
    for (int64_t i = 0; i < r->n; i++) {
        bool is_new = t->at[i] < 0;
        int64_t at = is_new ? ~t->at[i] : t->at[i];
        char *y = to + (size_t)at * bytes;
        if (at >= first && at < end && is_new) {
            memcpy(t->aside + (size_t)segment * bytes + skip, y, (size_t)width * r->element);
            memcpy(y, from + (size_t)i * bytes, (size_t)width * r->element);
        } else if (at >= first && at < end) {
            t->combine(y, from + (size_t)i * bytes, width);
        }
        segment += is_new;
    }
}

static void combine_cells(int64_t begin, int64_t end, void *arg)
{
    const picks_task *t = arg;
    const picks *r = t->r;
    for (int64_t cell = begin; cell < end; cell++)
        combine_cell(t, cell / r->n_cols / r->n_rows, cell / r->n_cols % r->n_rows,
                     cell % r->n_cols);
}

/* Segment i of a hot row: the last one is the row. */
static char *segment_at(const picks_task *t, int64_t o, const hot_row *h, int64_t i)
{
    const picks *r = t->r;
    size_t bytes = (size_t)r->inner * r->element;
    if (i == h->n_aside)
        return t->to + (size_t)(o * r->size + h->row) * bytes;
    int64_t segment = o * pick_segments_most(r->n) + t->segments.aside[h->first + i];
    return t->aside + (size_t)segment * bytes;
}

/* The tree over the segments of hot rows; items are outer x hot rows x ranges of columns. */
static void join_segments(int64_t begin, int64_t end, void *arg)
{
    const picks_task *t = arg;
    const picks *r = t->r;
    for (int64_t item = begin; item < end; item++) {
        int64_t o = item / r->n_cols / t->segments.n_hot, col = item % r->n_cols;
        const hot_row *h = &t->segments.hot[item / r->n_cols % t->segments.n_hot];
        int64_t first = edge(r->inner, r->n_cols, col), n = h->n_aside + 1;
        int64_t width = edge(r->inner, r->n_cols, col + 1) - first;
        size_t skip = (size_t)first * r->element;
        for (int64_t step = 1; step < n; step *= 2)
            for (int64_t i = 0; i + step < n; i += 2 * step)
                t->combine(segment_at(t, o, h, i) + skip, segment_at(t, o, h, i + step) + skip,
                           width);
        memcpy(segment_at(t, o, h, n - 1) + skip, segment_at(t, o, h, 0) + skip,
               (size_t)width * r->element);
    }
}

static size_t aside_bytes(const picks *r)
{
    return (size_t)(r->outer * pick_segments_most(r->n) * r->inner) * r->element;
}

size_t picks_workspace_bytes(const picks *r, const picks_rule *rule)
{
    return rule->is_rounded ? aside_bytes(r) + pick_segments_bytes(r->size, r->n) : 0;
}

void picks_combine(const picks *r, const picks_rule *rule, void *data, const void *from, int64_t *at,
                   void *workspace)
{
    picks_task t = {.r = r, .to = data, .from = from, .at = at, .combine = rule->combine};
    int64_t cells = r->n_rows * r->n_cols;
    if (rule->is_rounded) {
        t.segments = pick_segments_find(at, r->n, r->size, workspace);
        t.aside = (char *)workspace + pick_segments_bytes(r->size, r->n);
    }
    team_for(r->outer * cells, cells * PICK_GRAIN / (r->n * r->inner + 1) + 1, combine_cells, &t);
    team_for(r->outer * t.segments.n_hot * r->n_cols, 1, join_segments, &t);
}
