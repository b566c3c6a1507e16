/* Three operands that broadcast: Where, and the gradients that follow one of two operands. */
#include "backend/cuda/kernels/formulas.cuh"
#include "backend/cuda/kernels/ternary.h"
#include "backend/cuda/kernels/walk.cuh"

enum { THREADS = 256, GROUP = 4, GROUP_BYTES = 16 };

/* --- gradients --- */

/* EACH elements a thread, in one access but for the last thread; n in all. y may be a of its type.
 */
template <typename F, int EACH>
static KERNEL(THREADS, choice, launch_types type, void *y, const void *a, const void *b,
              const void *c, walk<3> w, uint32_t n)
{
    float r[EACH], s[EACH], t[EACH];
    uint32_t i = blockIdx.x * THREADS + threadIdx.x;
    int64_t at[3];
    walk_to(at, w, i);
    i *= EACH;
    if (IN(i + EACH <= n)) {
        load_group<EACH>(r, a, type.a, at[0], w.moves[0]);
        load_group<EACH>(s, b, type.b, at[1], w.moves[1]);
        load_group<EACH>(t, c, type.c, at[2], w.moves[2]);
        for (int j = 0; j < EACH; j++)
            r[j] = F::of(r[j], s[j], t[j]);
        store_typed<EACH>(y, type.y, i, r);
        return;
    }
    for (uint32_t j = 0; i + j < n; j++) {
        load_typed<1>(r, a, type.a, at[0] + w.moves[0] * j);
        load_typed<1>(s, b, type.b, at[1] + w.moves[1] * j);
        load_typed<1>(t, c, type.c, at[2] + w.moves[2] * j);
        r[0] = F::of(r[0], s[0], t[0]);
        store_typed<1>(y, type.y, i + j, r);
    }
}

template <typename F, int EACH>
static void start(cuda_stream stream, launch_types t, void *y, const void *a, const void *b,
                  const void *c, const axes &over)
{
    walk<3> w = walk_of<3>(over, EACH);
    LAUNCH((choice<F, EACH>), blocks_of(w.n, THREADS), dim3(THREADS), 0, stream, t, y, a, b, c, w,
           (uint32_t)axes_elements(&over));
}

template <typename F>
static void start(cuda_stream stream, launch_types t, void *y, const void *a, const void *b,
                  const void *c, const axes &over)
{
    bool fits = has_groups(over, y, type_bytes(t.y), GROUP) &&
                has_groups(over, 0, a, type_bytes(t.a), GROUP) &&
                has_groups(over, 1, b, type_bytes(t.b), GROUP) &&
                has_groups(over, 2, c, type_bytes(t.c), GROUP);
    if (fits)
        start<F, GROUP>(stream, t, y, a, b, c, over);
    else
        start<F, 1>(stream, t, y, a, b, c, over);
}

static void start_of(choice_function f, cuda_stream stream, launch_types t, void *y, const void *a,
                     const void *b, const void *c, const axes &over)
{
    switch (f) {
#define CHOICE(name, expression)                                                                   \
    case CHOICE_##name:                                                                            \
        start<name##_at>(stream, t, y, a, b, c, over);                                             \
        break;
#include "backend/binary_math.def"
    }
}

void launch_choice(cuda_stream stream, choice_function f, launch_types t, void *y, const void *a,
                   const void *b, const void *c, const axes *over)
{
    each_piece({*over, {0}, 0}, PIECE, [&](const piece &p) {
        start_of(f, stream, t, type_at(y, t.y, p.element), type_at(a, t.a, p.first[0]),
                 type_at(b, t.b, p.first[1]), type_at(c, t.c, p.first[2]), p.over);
    });
}

/* --- Where, of elements of any type --- */

template <typename T, int EACH>
static KERNEL(THREADS, where, T *y, const uint8_t *a, const T *b, const T *c, walk<3> w, uint32_t n)
{
    uint32_t i = blockIdx.x * THREADS + threadIdx.x;
    int64_t at[3];
    walk_to(at, w, i);
    i *= EACH;
    if (IN(i + EACH <= n)) {
        uint8_t r[EACH];
        T s[EACH], t[EACH];
        load_group<EACH>(r, a + at[0], w.moves[0]);
        load_group<EACH>(s, b + at[1], w.moves[1]);
        load_group<EACH>(t, c + at[2], w.moves[2]);
        for (int j = 0; j < EACH; j++)
            s[j] = r[j] ? s[j] : t[j];
        store_group<EACH>(y + i, s);
        return;
    }
    for (uint32_t j = 0; i + j < n; j++)
        y[i + j] =
            a[at[0] + w.moves[0] * j] ? b[at[1] + w.moves[1] * j] : c[at[2] + w.moves[2] * j];
}

template <typename T, int EACH>
static void start_where(cuda_stream stream, T *y, const uint8_t *a, const T *b, const T *c,
                        const axes &over)
{
    walk<3> w = walk_of<3>(over, EACH);
    LAUNCH((where<T, EACH>), blocks_of(w.n, THREADS), dim3(THREADS), 0, stream, y, a, b, c, w,
           (uint32_t)axes_elements(&over));
}

template <typename T>
static void where_of(cuda_stream stream, void *y, const uint8_t *a, const void *b, const void *c,
                     const axes *over)
{
    constexpr int EACH = sizeof(T) == 1 ? 4 : GROUP_BYTES / (int)sizeof(T);
    each_piece({*over, {0}, 0}, PIECE, [&](const piece &p) {
        T *to = (T *)y + p.element;
        const uint8_t *from = a + p.first[0];
        const T *pb = (const T *)b + p.first[1], *pc = (const T *)c + p.first[2];
        bool fits = has_groups(p.over, to, sizeof *to, EACH) &&
                    has_groups(p.over, 0, from, sizeof *from, EACH) &&
                    has_groups(p.over, 1, pb, sizeof *pb, EACH) &&
                    has_groups(p.over, 2, pc, sizeof *pc, EACH);
        if (fits)
            start_where<T, EACH>(stream, to, from, pb, pc, p.over);
        else
            start_where<T, 1>(stream, to, from, pb, pc, p.over);
    });
}

void launch_where(cuda_stream stream, size_t element, void *y, const uint8_t *a, const void *b,
                  const void *c, const axes *over)
{
    if (element == 1)
        where_of<uint8_t>(stream, y, a, b, c, over);
    else if (element == 2)
        where_of<uint16_t>(stream, y, a, b, c, over);
    else if (element == 4)
        where_of<uint32_t>(stream, y, a, b, c, over);
    else
        where_of<uint64_t>(stream, y, a, b, c, over);
}
