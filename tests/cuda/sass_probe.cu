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
PROBE(exp_below, float, exp_below<float>(x, dy))
PROBE(exp_below_for_half, float, exp_below<bf16>(x, dy))
PROBE(sigmoid, float, formula<sigmoid_at>(false, x, 0.0f, 0.0f, 0.0f))
PROBE(sigmoid_for_half, float, formula<sigmoid_at>(true, x, 0.0f, 0.0f, 0.0f))
PROBE(gelu, float, formula<gelu_at>(false, x, 0.0f, 0.0f, 0.0f))
PROBE(gelu_for_half, float, formula<gelu_at>(true, x, 0.0f, 0.0f, 0.0f))
PROBE(gelu_bwd, float, formula<gelu_bwd_at>(false, dy, x, 0.0f, 0.0f))
PROBE(gelu_bwd_for_half, float, formula<gelu_bwd_at>(true, dy, x, 0.0f, 0.0f))
PROBE(gelu_by_tanh, float, formula<gelu_by_tanh_at>(false, x, 0.0f, 0.0f, 0.0f))
PROBE(gelu_by_tanh_for_half, float, formula<gelu_by_tanh_at>(true, x, 0.0f, 0.0f, 0.0f))
PROBE(gelu_by_tanh_bwd, float, formula<gelu_by_tanh_bwd_at>(false, dy, x, 0.0f, 0.0f))
PROBE(gelu_by_tanh_bwd_for_half, float, formula<gelu_by_tanh_bwd_at>(true, dy, x, 0.0f, 0.0f))
