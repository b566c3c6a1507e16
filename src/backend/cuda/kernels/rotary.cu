/* RotaryEmbedding: a thread a pair, or a number that stays. The CPU's bits. */
#include "backend/cuda/kernels/attention.h"
#include "backend/cuda/kernels/device.cuh"

enum { THREADS = 256 };

/* Item i of a row: pair i, or beyond the pairs a number that stays. */
template <typename T> static KERNEL(THREADS, turn, launch_rotary t)
{
    int64_t pairs = t.width / 2, items = t.head - pairs;
    int64_t item = (int64_t)blockIdx.x * THREADS + threadIdx.x, row = item / items,
            i = item % items;
    if (!IN(row < t.rows))
        return;
    const T *x = (const T *)t.x + row * LD(t.head);
    T *y = (T *)t.y + row * LD(t.head);
    if (i >= pairs) {
        if (y != x)
            y[i + pairs] = x[i + pairs];
        return;
    }
    int64_t position =
        t.by_head ? row / (t.heads * t.length) * t.length + row % t.length : row / t.heads;
    int64_t one = t.interleaved ? 2 * i : i, other = t.interleaved ? 2 * i + 1 : i + pairs;
    float cosine = t.cosine[position * LD(pairs) + i], sine = t.sine[position * LD(pairs) + i];
    float a = to_float(x[one]), b = to_float(x[other]), by = t.inverse ? -sine : sine;
    y[one] = stored<T>(cosine * a - by * b);
    y[other] = stored<T>(by * a + cosine * b);
}

template <typename T> static void start(cuda_stream stream, const launch_rotary *t)
{
    int64_t items = t->rows * (t->head - t->width / 2);
    launch_rotary with = *t;
    if (items > 0)
        LAUNCH(turn<T>, dim3((unsigned)((items + THREADS - 1) / THREADS)), dim3(THREADS), 0, stream,
               with);
}

void launch_rotary_embedding(cuda_stream stream, const launch_rotary *t)
{
    if (t->type == LAUNCH_F32)
        start<float>(stream, t);
    else if (t->type == LAUNCH_BF16)
        start<bf16>(stream, t);
    else
        start<f16>(stream, t);
}
