/* Three operands that broadcast: Where, and the gradients that follow one of two operands. */
#include "backend/cuda/kernels/formulas.cuh"
#include "backend/cuda/kernels/ternary.h"
#include "backend/cuda/kernels/walk.cuh"

enum { THREADS = 256, GROUP_BYTES = 16 };

template <typename T> struct where_at {
    static __device__ T of(uint8_t a, T b, T c)
    {
        return a ? b : c;
    }
};

/* EACH elements a thread, in one access but for the last thread; n in all. y may be a. */
template <typename F, int EACH, typename A, typename T>
static __global__ void ternary(T *y, const A *a, const T *b, const T *c, walk<3> w, uint32_t n)
{
    uint32_t i = blockIdx.x * THREADS + threadIdx.x;
    int64_t at[3];
    walk_to(at, w, i);
    i *= EACH;
    if (IN(i + EACH <= n)) {
        A r[EACH];
        T s[EACH], t[EACH];
        load_group<EACH>(r, a + at[0], w.moves[0]);
        load_group<EACH>(s, b + at[1], w.moves[1]);
        load_group<EACH>(t, c + at[2], w.moves[2]);
        for (int j = 0; j < EACH; j++)
            s[j] = F::of(r[j], s[j], t[j]);
        store_group<EACH>(y + i, s);
        return;
    }
    for (uint32_t j = 0; i + j < n; j++)
        y[i + j] =
            F::of(a[at[0] + w.moves[0] * j], b[at[1] + w.moves[1] * j], c[at[2] + w.moves[2] * j]);
}

template <typename F, int EACH, typename A, typename T>
static void start(cuda_stream stream, T *y, const A *a, const T *b, const T *c, const axes &over)
{
    walk<3> w = walk_of<3>(over, EACH);
    LAUNCH((ternary<F, EACH, A, T>), blocks_of(w.n, THREADS), dim3(THREADS), 0, stream, y, a, b, c,
           w, (uint32_t)axes_elements(&over));
}

template <typename F, typename A, typename T>
static void launch(cuda_stream stream, T *y, const A *a, const T *b, const T *c, const axes *over)
{
    constexpr int EACH = sizeof(T) == 1 ? 4 : GROUP_BYTES / (int)sizeof(T);
    each_piece({*over, {0}, 0}, PIECE, [&](const piece &p) {
        const A *pa = a + p.first[0];
        const T *pb = b + p.first[1], *pc = c + p.first[2];
        bool fits = has_groups(p.over, y + p.element, sizeof *y, EACH) &&
                    has_groups(p.over, 0, pa, sizeof *a, EACH) &&
                    has_groups(p.over, 1, pb, sizeof *b, EACH) &&
                    has_groups(p.over, 2, pc, sizeof *c, EACH);
        if (fits)
            start<F, EACH>(stream, y + p.element, pa, pb, pc, p.over);
        else
            start<F, 1>(stream, y + p.element, pa, pb, pc, p.over);
    });
}

void launch_choice(cuda_stream stream, choice_function f, float *y, const float *a, const float *b,
                   const float *c, const axes *over)
{
    switch (f) {
#define CHOICE(name, expression)                                                                   \
    case CHOICE_##name:                                                                            \
        launch<name##_at>(stream, y, a, b, c, over);                                               \
        break;
#include "backend/binary_math.def"
    }
}

template <typename T>
static void where(cuda_stream stream, void *y, const uint8_t *a, const void *b, const void *c,
                  const axes *over)
{
    launch<where_at<T>>(stream, (T *)y, a, (const T *)b, (const T *)c, over);
}

void launch_where(cuda_stream stream, size_t element, void *y, const uint8_t *a, const void *b,
                  const void *c, const axes *over)
{
    if (element == 1)
        where<uint8_t>(stream, y, a, b, c, over);
    else if (element == 4)
        where<uint32_t>(stream, y, a, b, c, over);
    else
        where<uint64_t>(stream, y, a, b, c, over);
}
