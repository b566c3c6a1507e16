#include "backend/cpu/pick_segments.h"

#include "backend/pick_order.h"
#include "common/base/alloc.h"

#include <string.h>

enum { IS_HOT = 128 };
_Static_assert((int)PICK_SEGMENT < (int)IS_HOT, "they share a byte");

typedef struct finder {
    hot_row *hot;     /* [n / (PICK_SEGMENT + 1)] */
    uint32_t *owner;  /* [pick_segments_most(n)]: the hot row of each segment put aside */
    uint32_t *aside;  /* [pick_segments_most(n)]: the result's */
    uint32_t *number; /* [size]: of hot rows, which */
    uint8_t *filled;  /* [size]: picks of the row's segment, and IS_HOT */
    int64_t n_hot, n_aside;
} finder;

size_t pick_segments_bytes(int64_t size, int64_t n)
{
    size_t bytes = (size_t)(n / (PICK_SEGMENT + 1)) * sizeof(hot_row) +
                   (size_t)(2 * pick_segments_most(n) + size) * sizeof(uint32_t) + (size_t)size;
    return size_round_up(bytes, sizeof(int64_t));
}

/* They share the workspace. */
static finder place(void *workspace, int64_t size, int64_t n)
{
    finder f = {.hot = workspace};
    f.owner = (uint32_t *)(f.hot + n / (PICK_SEGMENT + 1));
    f.aside = f.owner + pick_segments_most(n);
    f.number = f.aside + pick_segments_most(n);
    f.filled = (uint8_t *)(f.number + size);
    memset(f.filled, 0, (size_t)size);
    return f;
}

/* The row's segment is full. */
static void put_aside(finder *f, int64_t row)
{
    if (!(f->filled[row] & IS_HOT)) {
        f->number[row] = (uint32_t)f->n_hot;
        f->hot[f->n_hot++] = (hot_row){.row = row};
    }
    f->hot[f->number[row]].n_aside++;
    f->owner[f->n_aside++] = f->number[row];
    f->filled[row] = IS_HOT;
}

static void sort_by_row(finder *f)
{
    int64_t first = 0;
    for (int64_t h = 0; h < f->n_hot; h++) {
        f->hot[h].first = first;
        first += f->hot[h].n_aside;
        f->hot[h].n_aside = 0;
    }
    for (int64_t i = 0; i < f->n_aside; i++) {
        hot_row *h = &f->hot[f->owner[i]];
        f->aside[h->first + h->n_aside++] = (uint32_t)i;
    }
}

pick_segments pick_segments_find(int64_t *at, int64_t n, int64_t size, void *workspace)
{
    if (n <= PICK_SEGMENT)
        return (pick_segments){0};
    finder f = place(workspace, size, n);
    for (int64_t i = 0; i < n; i++) {
        int64_t row = at[i];
        if ((f.filled[row] & (IS_HOT - 1)) == PICK_SEGMENT) {
            put_aside(&f, row);
            at[i] = ~row;
        }
        f.filled[row]++;
    }
    sort_by_row(&f);
    return (pick_segments){.hot = f.hot, .n_hot = f.n_hot, .aside = f.aside};
}
