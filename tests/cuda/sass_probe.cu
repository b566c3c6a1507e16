/* One function a kernel, for sass.test: what is counted is a load, a store, and it. */
#include "backend/cuda/kernels/formulas.cuh"
#include "backend/cuda/kernels/softmax.cuh"

#define PROBE(name, Y, expression)                                                                 \
    static __device__ __forceinline__ Y name##_of(float x, float dy)                               \
    {                                                                                              \
        return expression;                                                                         \
    }                                                                                              \
    KERNEL(32, probe_##name, Y *y, const float *x)                                                 \
    {                                                                                              \
        y[threadIdx.x] = name##_of(x[threadIdx.x], x[32 + threadIdx.x]);                           \
    }

PROBE(nothing, float, x)
PROBE(pair_of_bf16, uint32_t, pack_half2<bf16>(x, dy))
PROBE(exp_below, float, exp_below(x, dy))
PROBE(sigmoid, float, sigmoid_at::of(x, 0, 0, 0))
PROBE(gelu, float, gelu_at::of(x, 0, 0, 0))
PROBE(gelu_bwd, float, gelu_bwd_at::of(dy, x, 0, 0))
PROBE(gelu_by_tanh, float, gelu_by_tanh_at::of(x, 0, 0, 0))
PROBE(gelu_by_tanh_bwd, float, gelu_by_tanh_bwd_at::of(dy, x, 0, 0))
