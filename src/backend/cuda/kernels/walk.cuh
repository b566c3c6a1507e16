/*
 * Elements in the order of merged axes (backend/axes.h), a thread one or a group of neighbours:
 * where it finds them in each operand. A division is a product and a shift, counted in 32 bits; who
 * has more elements launches piece by piece.
 */
#ifndef TEQUIO_BACKEND_CUDA_KERNELS_WALK_CUH
#define TEQUIO_BACKEND_CUDA_KERNELS_WALK_CUH

#include "backend/axes.h"
#include "backend/cuda/kernels/typed.cuh"

/* n / by is ((n * factor >> 32) + n) >> shift for n < 2^31: Granlund and Montgomery, Division by
 * Invariant Integers using Multiplication, 1994, figure 4.1. */
struct divider {
    uint32_t by, factor, shift;
};

static inline divider divider_of(int64_t by)
{
    divider d = {(uint32_t)by, 0, 0};
    while (((int64_t)1 << d.shift) < by)
        d.shift++;
    uint64_t beyond = ((uint64_t)1 << d.shift) - (uint64_t)by;
    d.factor = (uint32_t)((beyond << 32) / (uint64_t)by + 1);
    return d;
}

static __device__ __forceinline__ uint32_t quotient(divider d, uint32_t n)
{
    return ((uint32_t)((uint64_t)n * d.factor >> 32) + n) >> d.shift;
}

/* N operands; `n` groups of neighbours along the last axis. */
template <int N> struct walk {
    int rank;
    uint32_t n;
    divider by[AXES_MOST];
    int64_t stride[AXES_MOST][N];
    bool moves[N]; /* whether the elements of a group are neighbours in the operand, or one */
};

template <int N> static walk<N> walk_of(const axes &a, int each)
{
    walk<N> w = {};
    w.rank = a.rank;
    w.n = 1;
    for (int i = 0; i < a.rank; i++) {
        bool is_last = i == a.rank - 1;
        int64_t dim = is_last ? (a.dim[i] + each - 1) / each : a.dim[i];
        w.n *= (uint32_t)dim;
        w.by[i] = divider_of(dim);
        for (int k = 0; k < N; k++)
            w.stride[i][k] = is_last ? a.stride[i][k] * each : a.stride[i][k];
    }
    for (int k = 0; k < N; k++)
        w.moves[k] = a.stride[a.rank - 1][k] != 0;
    return w;
}

/* Where group i begins in each operand. */
template <int N>
static __device__ __forceinline__ void walk_to(int64_t ret[N], const walk<N> &w, uint32_t i)
{
#pragma unroll
    for (int k = 0; k < N; k++)
        ret[k] = 0;
    for (int axis = w.rank - 1; axis >= 0; axis--) {
        uint32_t q = axis ? quotient(w.by[axis], i) : 0;
        int64_t rest = i - q * w.by[axis].by;
#pragma unroll
        for (int k = 0; k < N; k++)
            ret[k] += rest * LD(w.stride[axis][k]);
        i = q;
    }
}

/* EACH neighbours from x on, or EACH times the first. */
template <int EACH, typename T>
static __device__ __forceinline__ void load_group(T ret[EACH], const T *x, bool moves)
{
    if constexpr (EACH > 1) {
        if (moves) {
            typedef typename access_of<EACH *(int)sizeof(T)>::type access;
            CHECK_ALIGNED(x, sizeof(access));
            access piece = *reinterpret_cast<const access *>(x);
            memcpy(ret, &piece, sizeof piece);
            return;
        }
    }
#pragma unroll
    for (int j = 0; j < EACH; j++)
        ret[j] = x[0];
}
template <int EACH, typename T>
static __device__ __forceinline__ void store_group(T *y, const T from[EACH])
{
    if constexpr (EACH > 1) {
        typedef typename access_of<EACH *(int)sizeof(T)>::type access;
        CHECK_ALIGNED(y, sizeof(access));
        access piece;
        memcpy(&piece, from, sizeof piece);
        *reinterpret_cast<access *>(y) = piece;
    } else {
        y[0] = from[0];
    }
}

/* Likewise of x of a type, from element i on. */
template <int EACH>
static __device__ __forceinline__ void load_group(float ret[EACH], const void *x, launch_type type,
                                                  int64_t i, bool moves)
{
    if (EACH > 1 && moves) {
        load_typed<EACH>(ret, x, type, i);
        return;
    }
    load_typed<1>(ret, x, type, i);
#pragma unroll
    for (int j = 1; j < EACH; j++)
        ret[j] = ret[0];
}

/* Whether an operand at x, of elements of `size` bytes, can be read by groups of `each`. */
static inline bool has_groups(const axes &a, int k, const void *x, size_t size, int each)
{
    int last = a.rank - 1;
    if (a.stride[last][k] == 0)
        return true;
    bool fits = a.stride[last][k] == 1 && (uintptr_t)x % ((size_t)each * size) == 0;
    for (int i = 0; i < last; i++)
        fits = fits && a.stride[i][k] % each == 0;
    return fits;
}

/* The same of the result, whose elements lie in the order of the walk. The last group may be short
 * where it is the only one that could be. */
static inline bool has_groups(const axes &a, const void *y, size_t size, int each)
{
    return (a.rank == 1 || a.dim[a.rank - 1] % each == 0) &&
           (uintptr_t)y % ((size_t)each * size) == 0;
}

/* --- pieces --- */

enum { PIECE = 1 << 30 }; /* elements */

/* A part of all axes, where it begins in each operand, and as the how many-th element. */
struct piece {
    axes over;
    int64_t first[AXES_OPERANDS], element;
};

/* f of pieces of at most `most` elements; of none without elements. */
template <typename F> static void each_piece(const piece &p, int64_t most, F f)
{
    int64_t n = axes_elements(&p.over);
    if (n <= most) {
        if (n > 0)
            f(p);
        return;
    }
    int axis = 0;
    while (p.over.dim[axis] == 1)
        axis++;
    int64_t half = p.over.dim[axis] / 2;
    half -= half > 16 ? half % 16 : 0; /* what is aligned in front is so behind */
    piece front = p, behind = p;
    front.over.dim[axis] = half;
    behind.over.dim[axis] -= half;
    behind.element += n / p.over.dim[axis] * half;
    for (int k = 0; k < AXES_OPERANDS; k++)
        behind.first[k] += half * p.over.stride[axis][k];
    each_piece(front, most, f);
    each_piece(behind, most, f);
}

static inline dim3 blocks_of(int64_t threads, int in_a_block)
{
    return dim3((unsigned)((threads + in_a_block - 1) / in_a_block));
}

#endif
