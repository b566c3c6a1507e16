/*
 * The one header every kernel includes: CUDA, and a few words for what a kernel may not write
 * itself. Tests compile the same kernels for the host with a <cuda_runtime.h> of their own
 * (tests/cuda_emu), which has these words too; so a kernel has one version only.
 *
 *   KERNEL(threads, name, parameters...) { }   never __global__: a kernel for blocks of at most so
 *       many threads, or the compiler may give them more registers than there are
 *   KERNEL_BLOCKS(threads, blocks, name, ...)   ... of which so many find room on a multiprocessor
 *   LAUNCH(kernel, grid, block, shared_bytes, stream, arguments...)   never <<<>>>; a kernel with
 *       commas in its name stands in parentheses: LAUNCH((turn<32, 8>), ...)
 *   ALLOW_SHARED(kernel, bytes)      once before a LAUNCH with more than 48 KB of shared memory
 *   SHARED(float, tile, [32][33])    never __shared__; one array a place and block, 16-byte aligned
 *   SHARED_DYNAMIC(float, room)      what LAUNCH asked for, 16-byte aligned
 *   LD(x)   a stride or leading dimension      IN(x)   an edge check: if (IN(i < n)), not in a loop
 *       mean x; the tests spoil them, one at a time, to see that they notice
 *
 * Barriers are __syncthreads(), __syncwarp() and the shuffles, all with every thread or lane there:
 * none has ended, none stands at another one, a block that shuffles has whole warps. PTX is in this
 * file alone. No atomics on floats anywhere, nor fences, nor anything else in which the order of
 * blocks would show: two runs give the same bits.
 */
#ifndef TEQUIO_BACKEND_CUDA_KERNELS_DEVICE_CUH
#define TEQUIO_BACKEND_CUDA_KERNELS_DEVICE_CUH

#include <math.h>
#include <stdint.h>
#include <string.h>

/* Half-precision numbers in memory. Arithmetic is in float. */
struct bf16 {
    uint16_t bits;
};
struct f16 {
    uint16_t bits;
};

#include <cuda_runtime.h>

/* Whether the code is for a chip before sm_80: a kernel that needs one is empty there. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#define BEFORE_SM_80 true
#else
#define BEFORE_SM_80 false
#endif

#ifndef TEQUIO_CUDA_EMU

#define KERNEL(threads, name, ...) __global__ void __launch_bounds__(threads) name(__VA_ARGS__)
#define KERNEL_BLOCKS(threads, blocks, name, ...)                                                  \
    __global__ void __launch_bounds__(threads, blocks) name(__VA_ARGS__)
#define LAUNCH(kernel, grid, block, shared, stream, ...)                                           \
    kernel<<<(grid), (block), (shared), (stream)>>>(__VA_ARGS__)
#define ALLOW_SHARED(kernel, bytes)                                                                \
    ((void)cudaFuncSetAttribute((const void *)(kernel),                                            \
                                cudaFuncAttributeMaxDynamicSharedMemorySize, (int)(bytes)))
#define SHARED(type, name, dims) __shared__ __align__(16) type name dims
#define SHARED_DYNAMIC(type, name)                                                                 \
    extern __shared__ __align__(16) unsigned char shared_dynamic_[];                               \
    type *name = reinterpret_cast<type *>(shared_dynamic_)
#define LD(x)                   (x)
#define IN(x)                   (x)
#define CHECK_ALIGNED(p, bytes) ((void)0)

__device__ __forceinline__ uint32_t bits_of(float x)
{
    return __float_as_uint(x);
}
__device__ __forceinline__ float float_of(uint32_t bits)
{
    return __uint_as_float(bits);
}

/* Copies `bytes` (0 to 16) from global memory to 16 bytes of shared memory and clears the rest, at
 * some time before async_wait; both aligned to 16. Before sm_80, at once. With 0 bytes `from` is
 * not read. */
__device__ __forceinline__ void async_copy_16(void *to, const void *from, int bytes)
{
#if __CUDA_ARCH__ >= 800
    unsigned at = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(bytes)
                 : "memory");
#else
    unsigned char *y = (unsigned char *)to;
    if (bytes == 16)
        *(uint4 *)to = *(const uint4 *)from;
    else
        for (int i = 0; i < 16; i++)
            y[i] = i < bytes ? ((const unsigned char *)from)[i] : 0;
#endif
}

/* Ends a group of copies; async_wait<N> waits for all of this thread's groups but the last N. Other
 * threads see them after the next barrier. */
__device__ __forceinline__ void async_commit()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
template <int LEFT> __device__ __forceinline__ void async_wait()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory");
#endif
}

/* Rounded to nearest, ties to even; NaN becomes 0x7fff. A pair is a word, the first one low. */
__device__ __forceinline__ bf16 bf16_of(float x)
{
    bf16 y;
#if __CUDA_ARCH__ >= 800
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
#else
    uint32_t u = bits_of(x);
    u = (u & 0x7fffffffu) > 0x7f800000u ? 0x7fffu : (u + 0x7fffu + (u >> 16 & 1)) >> 16;
    y.bits = (uint16_t)u;
#endif
    return y;
}
__device__ __forceinline__ f16 f16_of(float x)
{
    f16 y;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
    return y;
}
__device__ __forceinline__ uint32_t bf16_pair_of(float lo, float hi)
{
    uint32_t pair;
#if __CUDA_ARCH__ >= 800
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(hi), "f"(lo));
#else
    pair = (uint32_t)bf16_of(lo).bits | (uint32_t)bf16_of(hi).bits << 16;
#endif
    return pair;
}
__device__ __forceinline__ uint32_t f16_pair_of(float lo, float hi)
{
    uint32_t pair;
#if __CUDA_ARCH__ >= 800
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(hi), "f"(lo));
#else
    pair = (uint32_t)f16_of(lo).bits | (uint32_t)f16_of(hi).bits << 16;
#endif
    return pair;
}
__device__ __forceinline__ float to_float(f16 x)
{
    float y;
    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
    return y;
}
/* A factor of a TF32 matmul: rounded to 10 bits of fraction, ties away from zero. sm_80. */
__device__ __forceinline__ uint32_t tf32_of(float x)
{
    uint32_t y = 0;
#if __CUDA_ARCH__ >= 800
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(y) : "f"(x));
#endif
    return y;
}

/* Good to about 2^-22; subnormal numbers count as zero. For half precision only. */
__device__ __forceinline__ float exp2_fast(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
__device__ __forceinline__ float rcp_fast(float x)
{
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

/*
 * Matmuls of a warp, d += a b, each lane with its fragments as PTX lays them. With g = lane / 4
 * and t = lane % 4, d[i] is row g + 8 (i / 2), column 2 t + i % 2 of [16, 8].
 *
 * mma_16816      a [16, 16] of halves: a[i] holds columns 2 t + 8 (i / 2) and the next, of row
 *                g + 8 (i % 2); b [16, 8]: b[i] holds rows 2 t + 8 i and the next, of column g.
 *                Of bf16 from sm_80 on; of f16 before that two mma_1688_f16, one after the other
 * mma_1688_f16   a [16, 8]: a[i] columns 2 t and the next of row g + 8 i; b [8, 8]: rows 2 t and
 * the next of column g mma_1688_tf32  a [16, 8] of tf32: a[i] column t + 4 (i / 2) of row g + 8 (i
 * % 2); b [8, 8]: b[i] row t + 4 i of column g. sm_80
 */
template <typename T>
__device__ __forceinline__ void mma_16816(float d[4], const uint32_t a[4], const uint32_t b[2]);

__device__ __forceinline__ void mma_1688_f16(float d[4], const uint32_t a[2], uint32_t b)
{
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, "
                 "{%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(b));
}

#if __CUDA_ARCH__ >= 800
#define MMA_16816(type)                                                                            \
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." type "." type ".f32 {%0,%1,%2,%3}, "     \
                 "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"                                          \
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                  \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
#else
#define MMA_16816(type) __trap()
#endif
template <>
__device__ __forceinline__ void mma_16816<bf16>(float d[4], const uint32_t a[4],
                                                const uint32_t b[2])
{
    MMA_16816("bf16");
}
template <>
__device__ __forceinline__ void mma_16816<f16>(float d[4], const uint32_t a[4], const uint32_t b[2])
{
#if __CUDA_ARCH__ >= 800
    MMA_16816("f16");
#else
    mma_1688_f16(d, a, b[0]);
    mma_1688_f16(d, a + 2, b[1]);
#endif
}
#undef MMA_16816

__device__ __forceinline__ void mma_1688_tf32(float d[4], const uint32_t a[4], const uint32_t b[2])
{
#if __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, "
                 "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
    __trap();
#endif
}

/* Four 8 x 8 matrices of halves from shared memory: lane i gives the address of row i % 8 of matrix
 * i / 8 (16 bytes, aligned), and gets in r[m] of matrix m columns 2 t and the next of row g, or
 * with `transposed` rows 2 t and the next of column g. */
template <bool transposed>
__device__ __forceinline__ void load_matrix_x4(uint32_t r[4], const void *row)
{
    unsigned at = (unsigned)__cvta_generic_to_shared(row);
    if (transposed)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                     : "r"(at)
                     : "memory");
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                     : "r"(at)
                     : "memory");
}

/* *at = min(*at, x), whoever comes first: for the word that tells of the first bad index. */
__device__ __forceinline__ void atomic_min_u64(uint64_t *at, uint64_t x)
{
    atomicMin((unsigned long long *)at, (unsigned long long)x);
}

#endif /* TEQUIO_CUDA_EMU: all of these are in its <cuda_runtime.h> */

__device__ __forceinline__ float to_float(float x)
{
    return x;
}
__device__ __forceinline__ float to_float(bf16 x)
{
    return float_of((uint32_t)x.bits << 16);
}

/* x as it is stored: float, bf16 or f16. */
template <typename T> __device__ __forceinline__ T stored(float x);
template <> __device__ __forceinline__ float stored<float>(float x)
{
    return x;
}
template <> __device__ __forceinline__ bf16 stored<bf16>(float x)
{
    return bf16_of(x);
}
template <> __device__ __forceinline__ f16 stored<f16>(float x)
{
    return f16_of(x);
}

/* Two halves in a word, the first one low: fragments of mma and pairs in memory. */
template <typename T> __device__ __forceinline__ uint32_t pack_half2(float lo, float hi);
template <> __device__ __forceinline__ uint32_t pack_half2<bf16>(float lo, float hi)
{
    return bf16_pair_of(lo, hi);
}
template <> __device__ __forceinline__ uint32_t pack_half2<f16>(float lo, float hi)
{
    return f16_pair_of(lo, hi);
}
template <typename T> __device__ __forceinline__ float half_lo(uint32_t pair)
{
    return to_float(T{(uint16_t)(pair & 0xffffu)});
}
template <typename T> __device__ __forceinline__ float half_hi(uint32_t pair)
{
    return to_float(T{(uint16_t)(pair >> 16)});
}

/* What is moved by one access of memory. */
template <int BYTES> struct access_of;
template <> struct access_of<2> {
    typedef uint16_t type;
};
template <> struct access_of<4> {
    typedef uint32_t type;
};
template <> struct access_of<8> {
    typedef uint2 type;
};
template <> struct access_of<16> {
    typedef uint4 type;
};

/* N numbers, a power of two, by accesses of up to 16 bytes, to which they are aligned. */
template <int N, typename T> __device__ __forceinline__ void load_vec(float ret[N], const T *from)
{
    constexpr int BYTES = N * (int)sizeof(T) < 16 ? N * (int)sizeof(T) : 16;
    constexpr int EACH = BYTES / (int)sizeof(T);
    CHECK_ALIGNED(from, BYTES);
#pragma unroll
    for (int i = 0; i < N; i += EACH) {
        typename access_of<BYTES>::type piece =
            *reinterpret_cast<const typename access_of<BYTES>::type *>(from + i);
        T x[EACH];
        memcpy(x, &piece, BYTES);
#pragma unroll
        for (int j = 0; j < EACH; j++)
            ret[i + j] = to_float(x[j]);
    }
}
template <int N, typename T> __device__ __forceinline__ void store_vec(T *to, const float from[N])
{
    constexpr int BYTES = N * (int)sizeof(T) < 16 ? N * (int)sizeof(T) : 16;
    constexpr int EACH = BYTES / (int)sizeof(T);
    CHECK_ALIGNED(to, BYTES);
#pragma unroll
    for (int i = 0; i < N; i += EACH) {
        typename access_of<BYTES>::type piece;
        if constexpr (sizeof(T) == 2 && EACH > 1) {
            uint32_t pairs[EACH / 2];
#pragma unroll
            for (int j = 0; j < EACH / 2; j++)
                pairs[j] = pack_half2<T>(from[i + 2 * j], from[i + 2 * j + 1]);
            memcpy(&piece, pairs, BYTES);
        } else {
            T x[EACH];
#pragma unroll
            for (int j = 0; j < EACH; j++)
                x[j] = stored<T>(from[i + j]);
            memcpy(&piece, x, BYTES);
        }
        *reinterpret_cast<typename access_of<BYTES>::type *>(to + i) = piece;
    }
}

/* x of the lane whose number differs by these bits; T is of 32-bit words. */
template <typename T> __device__ __forceinline__ T lane_xor(T x, int bits)
{
    uint32_t words[sizeof(T) / 4];
    memcpy(words, &x, sizeof x);
#pragma unroll
    for (int i = 0; i < (int)(sizeof(T) / 4); i++)
        words[i] = __shfl_xor_sync(0xffffffffu, words[i], bits);
    memcpy(&x, words, sizeof x);
    return x;
}

/* x of all lanes by a commutative f, in every lane; always the same tree. */
template <typename T, typename F> __device__ __forceinline__ T warp_fold(T x, F f)
{
#pragma unroll
    for (int half = 16; half > 0; half >>= 1)
        x = f(x, lane_xor(x, half));
    return x;
}
__device__ __forceinline__ float warp_sum(float x)
{
    return warp_fold(x, [](float a, float b) { return a + b; });
}
__device__ __forceinline__ float warp_max(float x)
{
    return warp_fold(x, [](float a, float b) { return fmaxf(a, b); });
}

/* The same over a block of THREADS threads along x, a multiple of 32; `none` changes nothing. */
template <int THREADS, typename T, typename F>
__device__ __forceinline__ T block_fold(T x, T none, F f)
{
    SHARED(T, of_warp, [THREADS / 32]);
    int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    x = warp_fold(x, f);
    if (lane == 0)
        of_warp[warp] = x;
    __syncthreads();
    x = warp_fold(lane < THREADS / 32 ? of_warp[lane] : none, f);
    __syncthreads(); /* of_warp may be written again */
    return x;
}
template <int THREADS> __device__ __forceinline__ float block_sum(float x)
{
    return block_fold<THREADS>(x, 0.0f, [](float a, float b) { return a + b; });
}
template <int THREADS> __device__ __forceinline__ float block_max(float x)
{
    return block_fold<THREADS>(x, -INFINITY, [](float a, float b) { return fmaxf(a, b); });
}

#endif
