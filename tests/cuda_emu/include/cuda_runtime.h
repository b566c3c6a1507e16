/*
 * CUDA's language on the host: what src/backend/cuda/kernels/device.cuh finds instead of CUDA's own
 * header when the tests compile kernels by a C++ compiler. The words are explained there; bf16 and
 * f16 stand there already.
 */
#ifndef TEQUIO_TESTS_CUDA_EMU_INCLUDE_CUDA_RUNTIME_H
#define TEQUIO_TESTS_CUDA_EMU_INCLUDE_CUDA_RUNTIME_H

#include "cuda_emu/block.h"
#include "cuda_emu/machine.h"
#include "cuda_emu/place.h"
#include "cuda_runtime_api.h"

#include <math.h>
#include <new>
#include <stdint.h>
#include <string.h>
#include <tuple>
#include <type_traits>

#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __restrict__ __restrict
#define __align__(n) alignas(n)

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_)
    {
    }
};
struct alignas(8) uint2 {
    unsigned x, y;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
struct alignas(16) float4 {
    float x, y, z, w;
};

#define threadIdx (emu_self->index)
#define blockIdx  emu_block_index
#define blockDim  emu_block_dim
#define gridDim   emu_grid_dim

/* The place in the source, as a pointer. */
#define EMU_HERE(what)                                                                             \
    ({                                                                                             \
        static const emu_where here_ = {what, __FILE__, __LINE__};                                 \
        &here_;                                                                                    \
    })

#define __syncthreads()                                                                            \
    (EMU_PLACE("__syncthreads()") ? (void)0 : emu_block_barrier(EMU_HERE("__syncthreads")))
#define __syncwarp()                                                                               \
    (EMU_PLACE("__syncwarp()") ? (void)0 : emu_warp_barrier(0xffffffffu, EMU_HERE("__syncwarp")))
#define LD(...) ((__VA_ARGS__) + (EMU_PLACE("LD(" #__VA_ARGS__ ")") ? 1 : 0))
#define IN(...) ((__VA_ARGS__) || EMU_PLACE("IN(" #__VA_ARGS__ ")"))

#define CHECK_ALIGNED(p, bytes)                                                                    \
    ((uintptr_t)(p) % (bytes) ? emu_check_aligned((p), (bytes)) : (void)0)

#define SHARED(type, name, dims)                                                                   \
    using name##_type_ = type dims;                                                                \
    static emu_site name##_site_;                                                                  \
    name##_type_ &name = *static_cast<name##_type_ *>(                                             \
        emu_shared(&name##_site_, sizeof(name##_type_), alignof(name##_type_), #name))
#define SHARED_DYNAMIC(type, name) type *name = static_cast<type *>(emu_shared_dynamic())

/* --- between the lanes of a warp --- */

template <typename T> static inline T emu_shuffle(uint32_t mask, T x, int from, const emu_where *at)
{
    static_assert(sizeof(T) <= 8 && std::is_trivially_copyable<T>::value, "a register or two");
    const emu_slots *slots = emu_warp_put(mask, &x, sizeof x, at);
    memcpy(&x, slots->of_lane[from & 31], sizeof x);
    return x;
}
static inline uint32_t emu_ballot(uint32_t mask, bool x, const emu_where *at)
{
    const emu_slots *slots = emu_warp_put(mask, &x, sizeof x, at);
    uint32_t all = 0;
    for (int lane = 0; lane < EMU_LANES; lane++)
        all |= (uint32_t) * (const bool *)slots->of_lane[lane] << lane;
    return all;
}
static inline int emu_lane_below(int by)
{
    return emu_self->lane < by ? emu_self->lane : emu_self->lane - by;
}
static inline int emu_lane_above(int by)
{
    return emu_self->lane + by >= EMU_LANES ? emu_self->lane : emu_self->lane + by;
}

#define __shfl_sync(mask, x, lane) emu_shuffle((mask), (x), (lane), EMU_HERE("__shfl_sync"))
#define __shfl_xor_sync(mask, x, by)                                                               \
    emu_shuffle((mask), (x), emu_self->lane ^ (by), EMU_HERE("__shfl_xor_sync"))
#define __shfl_up_sync(mask, x, by)                                                                \
    emu_shuffle((mask), (x), emu_lane_below(by), EMU_HERE("__shfl_up_sync"))
#define __shfl_down_sync(mask, x, by)                                                              \
    emu_shuffle((mask), (x), emu_lane_above(by), EMU_HERE("__shfl_down_sync"))
#define __ballot_sync(mask, x) emu_ballot((mask), (x), EMU_HERE("__ballot_sync"))
#define __any_sync(mask, x)    (emu_ballot((mask), (x), EMU_HERE("__any_sync")) != 0)

static inline int __popc(uint32_t x)
{
    return __builtin_popcount(x);
}

/* --- what device.cuh wraps --- */

static inline uint32_t bits_of(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}
static inline float float_of(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

static inline void async_copy_16(void *to, const void *from, int bytes)
{
    emu_copy_start(to, from, bytes);
}
static inline void async_commit()
{
    emu_copy_commit();
}
struct emu_waiter {
    bool is_spoilt;
    template <int LEFT> void wait() const
    {
        if (!is_spoilt)
            emu_copy_wait(LEFT);
    }
};
#define async_wait                                                                                 \
    emu_waiter                                                                                     \
    {                                                                                              \
        EMU_PLACE("async_wait")                                                                    \
    }                                                                                              \
    .template wait

static inline bf16 bf16_of(float x)
{
    return {emu_bf16_of(x)};
}
static inline f16 f16_of(float x)
{
    return {emu_f16_of(x)};
}
static inline uint32_t bf16_pair_of(float lo, float hi)
{
    return (uint32_t)emu_bf16_of(lo) | (uint32_t)emu_bf16_of(hi) << 16;
}
static inline uint32_t f16_pair_of(float lo, float hi)
{
    return (uint32_t)emu_f16_of(lo) | (uint32_t)emu_f16_of(hi) << 16;
}
static inline float to_float(f16 x)
{
    return emu_f16_to_float(x.bits);
}
static inline uint32_t tf32_of(float x)
{
    return emu_tf32_of(x);
}

static inline float exp2_fast(float x)
{
    return exp2f(x);
}
static inline float rcp_fast(float x)
{
    return 1.0f / x;
}

static inline void mma_1688_f16(float d[4], const uint32_t a[2], uint32_t b)
{
    emu_mma(8, "f16", d, a, &b, EMU_HERE("mma_1688_f16"));
}
template <typename T>
static inline void mma_16816(float d[4], const uint32_t a[4], const uint32_t b[2])
{
    if (std::is_same<T, bf16>::value || emu_arch() >= 80)
        return emu_mma(16, std::is_same<T, bf16>::value ? "bf16" : "f16", d, a, b,
                       EMU_HERE("mma_16816"));
    mma_1688_f16(d, a, b[0]);
    mma_1688_f16(d, a + 2, b[1]);
}
static inline void mma_1688_tf32(float d[4], const uint32_t a[4], const uint32_t b[2])
{
    emu_mma(8, "tf32", d, a, b, EMU_HERE("mma_1688_tf32"));
}
template <bool transposed> static inline void load_matrix_x4(uint32_t r[4], const void *row)
{
    emu_load_matrix_x4(r, row, transposed, EMU_HERE("load_matrix_x4"));
}

static inline void atomic_min_u64(uint64_t *at, uint64_t x)
{
    emu_atomic_min_u64(at, x);
}

/* --- launches: arguments are taken at once, the kernel runs when its stream does --- */

/* What a KERNEL says of itself is in its type. */
template <int THREADS> struct emu_bound {
};
#define KERNEL(threads, name, ...) void name(emu_bound<(threads)>, ##__VA_ARGS__)
#define KERNEL_BLOCKS(threads, blocks, name, ...)                                                  \
    KERNEL(threads, name, ##__VA_ARGS__)

template <int THREADS, typename... P, typename... A>
static inline void emu_enqueue(const char *name, void (*kernel)(emu_bound<THREADS>, P...),
                               dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t s,
                               A... arguments)
{
    typedef std::tuple<P...> packed;
    struct call {
        void (*kernel)(emu_bound<THREADS>, P...);
        packed arguments;
    };
    static_assert(sizeof(packed) <= 4096, "arguments of a kernel take at most 4 KB");
    emu_lock(); /* until the arguments are there, no other thread runs it */
    void *room =
        emu_launch(name, reinterpret_cast<const void *>(kernel), THREADS,
                   uint3{grid.x, grid.y, grid.z}, uint3{block.x, block.y, block.z}, shared_bytes, s,
                   sizeof(call), [](void *p) {
                       call *c = static_cast<call *>(p);
                       std::apply([c](const P &...of) { c->kernel({}, of...); }, c->arguments);
                   });
    if (room)
        new (room) call{kernel, packed(static_cast<P>(arguments)...)};
    emu_unlock();
}

#define LAUNCH(kernel, grid, block, shared, stream, ...)                                           \
    emu_enqueue(#kernel, kernel, (grid), (block), (shared), (stream), ##__VA_ARGS__)
#define ALLOW_SHARED(kernel, bytes)                                                                \
    ((void)cudaFuncSetAttribute(reinterpret_cast<const void *>(kernel),                            \
                                cudaFuncAttributeMaxDynamicSharedMemorySize, (int)(bytes)))

#define __grid_constant__

#endif
