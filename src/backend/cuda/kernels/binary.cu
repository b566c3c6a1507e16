/* Two operands that broadcast: the formulas of binary_math.def, in the CPU's words, so with its
 * bits. */
#include "backend/cuda/kernels/binary.h"
#include "backend/cuda/kernels/formulas.cuh"
#include "backend/cuda/kernels/walk.cuh"

enum { THREADS = 256, GROUP = 4 };

/* --- floats --- */

/* EACH elements a thread, in one access but for the last thread; n in all. y may be a of its type.
 */
template <typename F, int EACH>
static KERNEL(THREADS, binary, launch_types type, void *y, const void *a, const void *b, walk<2> w,
              uint32_t n)
{
    float s[EACH], t[EACH];
    uint32_t i = blockIdx.x * THREADS + threadIdx.x;
    int64_t at[2];
    walk_to(at, w, i);
    i *= EACH;
    if (IN(i + EACH <= n)) {
        load_group<EACH>(s, a, type.a, at[0], w.moves[0]);
        load_group<EACH>(t, b, type.b, at[1], w.moves[1]);
        for (int j = 0; j < EACH; j++)
            s[j] = F::of(s[j], t[j]);
        store_typed<EACH>(y, type.y, i, s);
        return;
    }
    for (uint32_t j = 0; i + j < n; j++) {
        load_typed<1>(s, a, type.a, at[0] + w.moves[0] * j);
        load_typed<1>(t, b, type.b, at[1] + w.moves[1] * j);
        s[0] = F::of(s[0], t[0]);
        store_typed<1>(y, type.y, i + j, s);
    }
}

template <typename F, int EACH>
static void start(cuda_stream stream, launch_types t, void *y, const void *a, const void *b,
                  const axes &over)
{
    walk<2> w = walk_of<2>(over, EACH);
    LAUNCH((binary<F, EACH>), blocks_of(w.n, THREADS), dim3(THREADS), 0, stream, t, y, a, b, w,
           (uint32_t)axes_elements(&over));
}

template <typename F>
static void start(cuda_stream stream, launch_types t, void *y, const void *a, const void *b,
                  const axes &over)
{
    bool fits = has_groups(over, y, type_bytes(t.y), GROUP) &&
                has_groups(over, 0, a, type_bytes(t.a), GROUP) &&
                has_groups(over, 1, b, type_bytes(t.b), GROUP);
    if (fits)
        start<F, GROUP>(stream, t, y, a, b, over);
    else
        start<F, 1>(stream, t, y, a, b, over);
}

static void start_of(binary_function f, cuda_stream stream, launch_types t, void *y, const void *a,
                     const void *b, const axes &over)
{
    switch (f) {
#define FLOAT(name, expression)                                                                    \
    case BINARY_##name:                                                                            \
        start<name##_at>(stream, t, y, a, b, over);                                                \
        break;
#define POWER(name, exponent, expression) FLOAT(name, expression)
#include "backend/binary_math.def"
    }
}

void launch_binary(cuda_stream stream, binary_function f, launch_types t, void *y, const void *a,
                   const void *b, const axes *over)
{
    each_piece({*over, {0}, 0}, PIECE, [&](const piece &p) {
        start_of(f, stream, t, type_at(y, t.y, p.element), type_at(a, t.a, p.first[0]),
                 type_at(b, t.b, p.first[1]), p.over);
    });
}

/* --- whole numbers and comparisons: rare, so one kernel for all functions and types --- */

static __device__ __forceinline__ int64_t whole_at(const void *x, dtype type, int64_t i)
{
    switch (type) {
    case DT_I64:
        return ((const int64_t *)x)[i];
    case DT_I32:
        return ((const int32_t *)x)[i];
    default:
        return ((const uint8_t *)x)[i];
    }
}

static __device__ __forceinline__ int64_t whole_by(whole_function f, int64_t a, int64_t b)
{
    switch (f) {
#define WHOLE(name, expression)                                                                    \
    case WHOLE_##name:                                                                             \
        return expression;
#include "backend/binary_math.def"
    }
    return 0;
}

/* y may be a. */
static KERNEL(THREADS, wholes, void *y, const void *a, const void *b, walk<2> w, whole_function f,
              dtype type)
{
    uint32_t i = blockIdx.x * THREADS + threadIdx.x;
    if (!IN(i < w.n))
        return;
    int64_t at[2];
    walk_to(at, w, i);
    int64_t x = whole_by(f, whole_at(a, type, at[0]), whole_at(b, type, at[1]));
    if (type == DT_I64)
        ((int64_t *)y)[i] = x;
    else if (type == DT_I32)
        ((int32_t *)y)[i] = (int32_t)x;
    else
        ((uint8_t *)y)[i] = (uint8_t)x;
}

static const char *at_element(const void *x, int64_t i, dtype type)
{
    return (const char *)x + i * (int64_t)dtype_bytes(type);
}

void launch_whole(cuda_stream stream, whole_function f, dtype type, void *y, const void *a,
                  const void *b, const axes *over)
{
    each_piece({*over, {0}, 0}, PIECE, [&](const piece &p) {
        walk<2> w = walk_of<2>(p.over, 1);
        LAUNCH(wholes, blocks_of(w.n, THREADS), dim3(THREADS), 0, stream,
               (void *)at_element(y, p.element, type), at_element(a, p.first[0], type),
               at_element(b, p.first[1], type), w, f, type);
    });
}

static __device__ __forceinline__ bool compared(compare_function f, float a, float b)
{
    switch (f) {
#define COMPARISON(name, expression)                                                               \
    case COMPARE_##name:                                                                           \
        return expression;
#include "backend/binary_math.def"
    default:
        return false;
    }
}

static __device__ __forceinline__ bool compared(compare_function f, int64_t a, int64_t b)
{
    switch (f) {
#define COMPARISON(name, expression)                                                               \
    case COMPARE_##name:                                                                           \
        return expression;
#define LOGIC(name, expression) COMPARISON(name, expression)
#include "backend/binary_math.def"
    }
    return false;
}

/* y may be a. */
static KERNEL(THREADS, compare, uint8_t *y, const void *a, const void *b, walk<2> w,
              compare_function f, dtype type)
{
    uint32_t i = blockIdx.x * THREADS + threadIdx.x;
    if (!IN(i < w.n))
        return;
    int64_t at[2];
    walk_to(at, w, i);
    if (type == DT_F32)
        y[i] = compared(f, ((const float *)a)[at[0]], ((const float *)b)[at[1]]);
    else
        y[i] = compared(f, whole_at(a, type, at[0]), whole_at(b, type, at[1]));
}

void launch_compare(cuda_stream stream, compare_function f, dtype type, uint8_t *y, const void *a,
                    const void *b, const axes *over)
{
    each_piece({*over, {0}, 0}, PIECE, [&](const piece &p) {
        walk<2> w = walk_of<2>(p.over, 1);
        LAUNCH(compare, blocks_of(w.n, THREADS), dim3(THREADS), 0, stream, y + p.element,
               at_element(a, p.first[0], type), at_element(b, p.first[1], type), w, f, type);
    });
}

/* --- questions --- */

#define QUESTION(name, type, expression)                                                           \
    struct name##_asked {                                                                          \
        typedef type T;                                                                            \
        static __device__ bool of(type a)                                                          \
        {                                                                                          \
            return expression;                                                                     \
        }                                                                                          \
    };
#include "backend/binary_math.def"

/* y may be x. */
template <typename F>
static KERNEL(THREADS, question, uint8_t *y, const typename F::T *x, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (IN(i < n))
        y[i] = F::of(x[i]);
}

void launch_question(cuda_stream stream, question_function f, uint8_t *y, const void *x, int64_t n)
{
    if (n == 0)
        return;
    switch (f) {
#define QUESTION(name, type, expression)                                                           \
    case QUESTION_##name:                                                                          \
        LAUNCH(question<name##_asked>, blocks_of(n, THREADS), dim3(THREADS), 0, stream, y,         \
               (const type *)x, n);                                                                \
        break;
#include "backend/binary_math.def"
    }
}
