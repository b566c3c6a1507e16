/* One element at a time: the formulas of unary_math.def. */
#include "backend/cuda/kernels/half_math.cuh"
#include "backend/cuda/kernels/typed.cuh"
#include "backend/cuda/kernels/unary.h"

enum { THREADS = 256, EACH = 8 };

/* a is x or dy, and b v, which only gradients read; y may be a or b of its type. EACH elements a
 * thread, by accesses of 16 bytes but for the last thread. */
template <typename F>
static KERNEL(THREADS, unary, launch_types type, void *y, const void *a, const void *b, int64_t n,
              float p, float q)
{
    float s[EACH], t[EACH] = {0};
    bool is_half = type.y != LAUNCH_F32;
    int64_t i = ((int64_t)blockIdx.x * THREADS + threadIdx.x) * EACH;
    if (IN(i + EACH <= n)) {
        load_typed<EACH>(s, a, type.a, i);
        if (F::BACKWARD)
            load_typed<EACH>(t, b, type.b, i);
        for (int j = 0; j < EACH; j++)
            s[j] = formula<F>(is_half, s[j], t[j], p, q);
        store_typed<EACH>(y, type.y, i, s);
        return;
    }
    for (; i < n; i++) {
        load_typed<1>(s, a, type.a, i);
        if (F::BACKWARD)
            load_typed<1>(t, b, type.b, i);
        s[0] = formula<F>(is_half, s[0], t[0], p, q);
        store_typed<1>(y, type.y, i, s);
    }
}

void launch_unary(cuda_stream stream, unary_function f, launch_types t, void *y, const void *a,
                  const void *b, int64_t n, float p, float q)
{
    if (n == 0)
        return;
    dim3 grid((unsigned)((n + THREADS * EACH - 1) / (THREADS * EACH)));
    switch (f) {
#define CASE(name)                                                                                 \
    case UNARY_##name:                                                                             \
        LAUNCH(unary<name##_at>, grid, dim3(THREADS), 0, stream, t, y, a, b, n, p, q);             \
        break;
#define FORWARD(name, expression)  CASE(name)
#define BACKWARD(name, expression) CASE(name##_bwd)
#include "backend/unary_math.def"
    }
}
