/* One element at a time: the formulas of unary_math.def. */
#include "backend/cuda/kernels/formulas.cuh"
#include "backend/cuda/kernels/unary.h"

enum { THREADS = 256, EACH = 4 };

/* a is x or dy, and b v, which only gradients read; y may be a or b of its type. EACH elements a
 * thread, in one access but for the last thread. */
template <typename F, typename V>
static __global__ void unary(float *y, const float *a, const V *b, int64_t n, float p, float q)
{
    int64_t i = ((int64_t)blockIdx.x * THREADS + threadIdx.x) * EACH;
    if (IN(i + EACH <= n)) {
        float s[EACH], t[EACH] = {0};
        load_vec<EACH>(s, a + i);
        if (F::BACKWARD)
            load_vec<EACH>(t, b + i);
        for (int j = 0; j < EACH; j++)
            s[j] = F::of(s[j], t[j], p, q);
        store_vec<EACH>(y + i, s);
        return;
    }
    for (; i < n; i++)
        y[i] = F::of(a[i], F::BACKWARD ? to_float(b[i]) : 0.0f, p, q);
}

static dim3 blocks_for(int64_t n)
{
    return dim3((unsigned)((n + THREADS * EACH - 1) / (THREADS * EACH)));
}

void launch_unary(cuda_stream stream, unary_function f, float *y, const float *a, const float *b,
                  int64_t n, float p, float q)
{
    if (n == 0)
        return;
    switch (f) {
#define CASE(name)                                                                                 \
    case UNARY_##name:                                                                             \
        LAUNCH((unary<name##_at, float>), blocks_for(n), dim3(THREADS), 0, stream, y, a, b, n, p,  \
               q);                                                                                 \
        break;
#define FORWARD(name, expression)  CASE(name)
#define BACKWARD(name, expression) CASE(name##_bwd)
#include "backend/unary_math.def"
    }
}

template <typename V>
static void relu_bwd_of(cuda_stream stream, float *dx, const float *dy, const void *y, int64_t n)
{
    if (n > 0)
        LAUNCH((unary<relu_bwd_at, V>), blocks_for(n), dim3(THREADS), 0, stream, dx, dy,
               (const V *)y, n, 0.0f, 0.0f);
}

void launch_relu_bwd_of_rounded(cuda_stream stream, float *dx, const float *dy, const void *y,
                                launch_type type, int64_t n)
{
    if (type == LAUNCH_BF16)
        relu_bwd_of<bf16>(stream, dx, dy, y, n);
    else
        relu_bwd_of<f16>(stream, dx, dy, y, n);
}
