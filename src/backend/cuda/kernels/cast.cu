/* From one type of element to another, as the CPU casts; and floats to halves and back. */
#include "backend/binary_math.h"
#include "backend/cuda/kernels/cast.h"
#include "backend/cuda/kernels/walk.cuh"

enum { THREADS = 256, GROUP = 8 };

static __device__ __forceinline__ void put(void *y, dtype to, int64_t i, float a)
{
    switch (to) {
    case DT_F32:
        ((float *)y)[i] = a;
        break;
    case DT_I64:
        ((int64_t *)y)[i] = whole_of(a, -0x1p63f, 0x1p63f, INT64_MAX);
        break;
    case DT_I32:
        ((int32_t *)y)[i] = (int32_t)whole_of(a, -0x1p31f, 0x1p31f, INT32_MAX);
        break;
    case DT_BOOL:
        ((uint8_t *)y)[i] = a != 0.0f;
        break;
    default:
        ((uint8_t *)y)[i] = (uint8_t)whole_of(a, 0.0f, 256.0f, UINT8_MAX);
    }
}

static __device__ __forceinline__ void put(void *y, dtype to, int64_t i, int64_t a)
{
    switch (to) {
    case DT_F32:
        ((float *)y)[i] = (float)a;
        break;
    case DT_I64:
        ((int64_t *)y)[i] = a;
        break;
    case DT_I32:
        ((int32_t *)y)[i] = (int32_t)a;
        break;
    case DT_BOOL:
        ((uint8_t *)y)[i] = a != 0;
        break;
    default:
        ((uint8_t *)y)[i] = (uint8_t)a;
    }
}

/* Whole numbers go by way of 64 bits. */
static KERNEL(THREADS, cast, void *y, const void *x, dtype from, dtype to, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (!IN(i < n))
        return;
    switch (from) {
    case DT_F32:
        put(y, to, i, ((const float *)x)[i]);
        break;
    case DT_I64:
        put(y, to, i, ((const int64_t *)x)[i]);
        break;
    case DT_I32:
        put(y, to, i, (int64_t)((const int32_t *)x)[i]);
        break;
    default:
        put(y, to, i, (int64_t)((const uint8_t *)x)[i]);
    }
}

void launch_cast(cuda_stream stream, dtype from, dtype to, void *y, const void *x, int64_t n)
{
    if (n > 0)
        LAUNCH(cast, blocks_of(n, THREADS), dim3(THREADS), 0, stream, y, x, from, to, n);
}

/* GROUP elements a thread, by accesses of 16 bytes but for the last thread. */
static KERNEL(THREADS, round_floats, launch_types t, void *y, const void *x, int64_t n)
{
    float a[GROUP];
    int64_t i = ((int64_t)blockIdx.x * THREADS + threadIdx.x) * GROUP;
    if (IN(i + GROUP <= n)) {
        load_typed<GROUP>(a, x, t.a, i);
        store_typed<GROUP>(y, t.y, i, a);
        return;
    }
    for (; i < n; i++) {
        load_typed<1>(a, x, t.a, i);
        store_typed<1>(y, t.y, i, a);
    }
}

void launch_round(cuda_stream stream, launch_types t, void *y, const void *x, int64_t n)
{
    if (n > 0)
        LAUNCH(round_floats, blocks_of((n + GROUP - 1) / GROUP, THREADS), dim3(THREADS), 0, stream,
               t, y, x, n);
}
