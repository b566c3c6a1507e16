#include "backend/cpu/box.h"

#include "backend/cpu/lanes.h"
#include "backend/cpu/team.h"

#include <string.h>

enum {
    COPY_GRAIN = 16384, /* elements a thread should find at least */
    NEAR = 2048,        /* strided elements that stay in the nearest cache */
    SHORT_ROW = 8,      /* a shorter last axis is walked outside of a longer one */
    TILE = 8,           /* side of a tile of a transpose */
};

static void swap(int64_t *x, int i, int j)
{
    int64_t t = x[i];
    x[i] = x[j];
    x[j] = t;
}

static void swap_axes(box *b, int i, int j)
{
    swap(b->dim, i, j);
    swap(b->to, i, j);
    swap(b->from, i, j);
}

/* Brings the axis along which the source is contiguous before the last; false if there is none. */
static bool find_matrix(box *b)
{
    int last = b->rank - 1;
    if (b->to[last] != 1 || b->from[last] == 0 || b->dim[last] < TILE)
        return false;
    for (int i = 0; i < last; i++) {
        if (b->from[i] != 1 || b->dim[i] < TILE)
            continue;
        swap_axes(b, i, last - 1);
        return true;
    }
    return false;
}

static void choose_walk(box *b)
{
    int last = b->rank - 1;
    b->inner = 1;
    b->cut = last;
    b->walk = b->to[last] == 1 && b->from[last] == 1 ? BOX_RUNS : BOX_STRIDED;
    if (b->walk == BOX_STRIDED && find_matrix(b)) {
        b->walk = BOX_TRANSPOSE;
        b->inner = 2;
        b->cut = last - 1;
    } else if (last > 0 && b->dim[last] < SHORT_ROW && b->dim[last - 1] > b->dim[last]) {
        b->walk = BOX_STRIDED;
        b->inner = 2;
        swap_axes(b, last - 1, last);
    }
}

void box_of(box *b, const axes *a)
{
    *b = (box){.rank = a->rank};
    for (int i = 0; i < a->rank; i++) {
        b->dim[i] = a->dim[i];
        b->to[i] = a->stride[i][0];
        b->from[i] = a->stride[i][1];
    }
    if (axes_elements(a) == 0)
        return; /* no rows */
    choose_walk(b);
    int64_t beside = b->inner == 2 ? b->dim[b->cut == b->rank - 1 ? b->cut - 1 : b->cut + 1] : 1;
    b->length = b->walk == BOX_STRIDED ? NEAR : COPY_GRAIN;
    if (b->walk == BOX_TRANSPOSE)
        b->length = (COPY_GRAIN / beside / (2 * TILE) + 1) * 2 * TILE;
    b->pieces = (b->dim[b->cut] + b->length - 1) / b->length;
    b->volume = (b->length < b->dim[b->cut] ? b->length : b->dim[b->cut]) * beside;
    b->rows = 1;
    for (int i = 0; i < b->rank - b->inner; i++)
        b->rows *= b->dim[i];
}

/* One row, or the piece begin .. end of it along `cut`. */
typedef void (*box_row)(const box *b, void *to, const void *from, int64_t begin, int64_t end);

typedef struct box_task {
    const box *b;
    char *to;
    const char *from;
    size_t element;
    box_row row;
} box_task;

/* Where a row begins, in elements. */
typedef struct cursor {
    int64_t at[AXES_MOST], to, from;
} cursor;

static cursor cursor_at(const box *b, int64_t row)
{
    cursor c = {.to = 0};
    for (int i = b->rank - b->inner - 1; i >= 0; i--) {
        c.at[i] = row % b->dim[i];
        row /= b->dim[i];
        c.to += c.at[i] * b->to[i];
        c.from += c.at[i] * b->from[i];
    }
    return c;
}

static void cursor_next(const box *b, cursor *c)
{
    for (int i = b->rank - b->inner - 1; i >= 0; i--) {
        c->to += b->to[i];
        c->from += b->from[i];
        if (++c->at[i] < b->dim[i])
            return;
        c->at[i] = 0;
        c->to -= b->dim[i] * b->to[i];
        c->from -= b->dim[i] * b->from[i];
    }
}

static void walk_pieces(int64_t first, int64_t last, void *arg)
{
    const box_task *t = arg;
    const box *b = t->b;
    int64_t piece = first % b->pieces, element = (int64_t)t->element;
    cursor c = cursor_at(b, first / b->pieces);
    for (int64_t i = first; i < last; i++) {
        int64_t begin = piece * b->length, end = begin + b->length;
        t->row(b, t->to + c.to * element, t->from + c.from * element, begin,
               end < b->dim[b->cut] ? end : b->dim[b->cut]);
        if (++piece == b->pieces) {
            piece = 0;
            cursor_next(b, &c);
        }
    }
}

static void walk(const box *b, void *to, const void *from, size_t element, box_row row)
{
    box_task t = {.b = b, .to = to, .from = from, .element = element, .row = row};
    team_for(b->rows * b->pieces, COPY_GRAIN / (b->volume + 1) + 1, walk_pieces, &t);
}

/* y[i * ys] = x[i * xs] */
#define STRIDED_LOOP(type)                                                                         \
    static void strided_##type(type *y, int64_t ys, const type *x, int64_t xs, int64_t n)          \
    {                                                                                              \
        if (ys == 1 && xs == 0)                                                                    \
            for (int64_t i = 0; i < n; i++)                                                        \
                y[i] = x[0];                                                                       \
        else if (ys == 1)                                                                          \
            for (int64_t i = 0; i < n; i++)                                                        \
                y[i] = x[i * xs];                                                                  \
        else                                                                                       \
            for (int64_t i = 0; i < n; i++)                                                        \
                y[i * ys] = x[i * xs];                                                             \
    }

/* A piece of a row of one or of two axes, along the last. */
#define STRIDED_ROW(type)                                                                          \
    STRIDED_LOOP(type)                                                                             \
    static void strided_row_##type(const box *b, void *to, const void *from, int64_t begin,        \
                                   int64_t end)                                                    \
    {                                                                                              \
        int last = b->rank - 1;                                                                    \
        int64_t times = b->inner == 2 ? b->dim[last - 1] : 1;                                      \
        for (int64_t k = 0; k < times; k++) {                                                      \
            int64_t y = begin * b->to[last] + (k ? k * b->to[last - 1] : 0);                       \
            int64_t x = begin * b->from[last] + (k ? k * b->from[last - 1] : 0);                   \
            strided_##type((type *)to + y, b->to[last], (const type *)from + x, b->from[last],     \
                           end - begin);                                                           \
        }                                                                                          \
    }

/* y[j * ys + i] = x[i * xs + j] for i < n, begin <= j < end */
#define TURN_LOOP(type)                                                                            \
    INLINE void turn_##type(type *y, int64_t ys, const type *x, int64_t xs, int64_t n,             \
                            int64_t begin, int64_t end)                                            \
    {                                                                                              \
        for (int64_t j = begin; j < end; j++)                                                      \
            for (int64_t i = 0; i < n; i++)                                                        \
                y[j * ys + i] = x[i * xs + j];                                                     \
    }

/* A piece of a matrix, tile by tile. */
#define TURN_ROW(type)                                                                             \
    TURN_LOOP(type)                                                                                \
    static void turn_row_##type(const box *b, void *to, const void *from, int64_t begin,           \
                                int64_t end)                                                       \
    {                                                                                              \
        int last = b->rank - 1;                                                                    \
        int64_t ys = b->to[last - 1], xs = b->from[last], n = b->dim[last];                        \
        for (int64_t j = begin; j < end; j += TILE)                                                \
            for (int64_t i = 0; i < n; i += TILE)                                                  \
                turn_##type((type *)to + i, ys, (const type *)from + i * xs, xs,                   \
                            n - i < TILE ? n - i : TILE, j, end - j < TILE ? end : j + TILE);      \
    }

STRIDED_ROW(uint8_t)
STRIDED_ROW(uint16_t)
STRIDED_ROW(uint32_t)
STRIDED_ROW(uint64_t)
TURN_ROW(uint8_t)
TURN_ROW(uint16_t)
TURN_LOOP(uint32_t)
TURN_ROW(uint64_t)

typedef uint32_t tile_row __attribute__((vector_size(TILE * sizeof(uint32_t))));

#if __has_builtin(__builtin_shufflevector)
#define PICK(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else /* gcc before 12 */
#define PICK(a, b, ...) __builtin_shuffle(a, b, (tile_row){__VA_ARGS__})
#endif

/* Halves of two rows, in pairs of 1, 2 and 4. */
#define LOW_1(a, b)  PICK(a, b, 0, 8, 1, 9, 4, 12, 5, 13)
#define HIGH_1(a, b) PICK(a, b, 2, 10, 3, 11, 6, 14, 7, 15)
#define LOW_2(a, b)  PICK(a, b, 0, 1, 8, 9, 4, 5, 12, 13)
#define HIGH_2(a, b) PICK(a, b, 2, 3, 10, 11, 6, 7, 14, 15)
#define LOW_4(a, b)  PICK(a, b, 0, 1, 2, 3, 8, 9, 10, 11)
#define HIGH_4(a, b) PICK(a, b, 4, 5, 6, 7, 12, 13, 14, 15)

INLINE void turn_tile(uint32_t *y, int64_t ys, const uint32_t *x, int64_t xs)
{
    tile_row r[TILE], s[TILE];
    for (int i = 0; i < TILE; i++)
        memcpy(&r[i], x + i * xs, sizeof r[i]);
    for (int i = 0; i < TILE; i += 2) {
        s[i] = LOW_1(r[i], r[i + 1]);
        s[i + 1] = HIGH_1(r[i], r[i + 1]);
    }
    for (int i = 0; i < TILE; i += 4)
        for (int k = 0; k < 2; k++) {
            r[i + 2 * k] = LOW_2(s[i + k], s[i + k + 2]);
            r[i + 2 * k + 1] = HIGH_2(s[i + k], s[i + k + 2]);
        }
    for (int i = 0; i < TILE / 2; i++) {
        s[i] = LOW_4(r[i], r[i + 4]);
        s[i + 4] = HIGH_4(r[i], r[i + 4]);
    }
    for (int i = 0; i < TILE; i++)
        memcpy(y + i * ys, &s[i], sizeof s[i]);
}

/* Two tiles side by side read whole cache lines. */
SIMD_CLONES
static void turn_row_uint32_t(const box *b, void *to, const void *from, int64_t begin, int64_t end)
{
    int last = b->rank - 1;
    int64_t ys = b->to[last - 1], xs = b->from[last], n = b->dim[last], whole = n / TILE * TILE;
    uint32_t *y = to;
    const uint32_t *x = from;
    int64_t j = begin;
    for (; j + 2 * TILE <= end; j += 2 * TILE)
        for (int64_t i = 0; i < whole; i += TILE) {
            turn_tile(y + j * ys + i, ys, x + i * xs + j, xs);
            turn_tile(y + (j + TILE) * ys + i, ys, x + i * xs + j + TILE, xs);
        }
    turn_uint32_t(y, ys, x, xs, whole, j, end);
    turn_uint32_t(y + whole, ys, x + whole * xs, xs, n - whole, begin, end);
}

static void run_row(const box *b, void *to, const void *from, int64_t begin, int64_t end)
{
    (void)b;
    memcpy((char *)to + begin, (const char *)from + begin, (size_t)(end - begin));
}

#define RUN_ROW(bits)                                                                              \
    static void run_row_##bits(const box *b, void *to, const void *from, int64_t begin,            \
                               int64_t end)                                                        \
    {                                                                                              \
        run_row(b, to, from, begin *(bits / 8), end *(bits / 8));                                  \
    }
RUN_ROW(16)
RUN_ROW(32)
RUN_ROW(64)

void box_copy(const box *b, void *to, const void *from, size_t element)
{
    static const box_row rows[4][3] = {
        {run_row, strided_row_uint8_t, turn_row_uint8_t},
        {run_row_16, strided_row_uint16_t, turn_row_uint16_t},
        {run_row_32, strided_row_uint32_t, turn_row_uint32_t},
        {run_row_64, strided_row_uint64_t, turn_row_uint64_t},
    };
    int size = element == 1 ? 0 : element == 2 ? 1 : element == 4 ? 2 : 3;
    walk(b, to, from, element, rows[size][b->walk]);
}

SIMD_CLONES
static void add_run(float *y, const float *x, int64_t n)
{
    SIMD_LOOP
    for (int64_t i = 0; i < n; i++)
        y[i] += x[i];
}

static void add_strided(float *y, int64_t ys, const float *x, int64_t xs, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i * ys] += x[i * xs];
}

static void add_row(const box *b, void *to, const void *from, int64_t begin, int64_t end)
{
    int last = b->rank - 1, beside = b->cut == last ? last - 1 : last;
    int64_t times = b->inner == 2 ? b->dim[beside] : 1;
    for (int64_t k = 0; k < times; k++) {
        float *y = (float *)to + begin * b->to[b->cut];
        const float *x = (const float *)from + begin * b->from[b->cut];
        if (k) {
            y += k * b->to[beside];
            x += k * b->from[beside];
        }
        if (b->walk == BOX_RUNS)
            add_run(y, x, end - begin);
        else
            add_strided(y, b->to[b->cut], x, b->from[b->cut], end - begin);
    }
}

void box_add(const box *b, float *to, const float *from)
{
    walk(b, to, from, sizeof *to, add_row);
}
