/* One element again and again. */
#include "backend/cuda/kernels/device.cuh"
#include "backend/cuda/kernels/fill.h"

enum { THREADS = 256 };

template <typename T> static KERNEL(THREADS, fill, T *y, int64_t n, T value)
{
    int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (IN(i < n))
        y[i] = value;
}

template <typename T> static void launch(cuda_stream stream, void *y, int64_t n, uint64_t value)
{
    unsigned blocks = (unsigned)((n + THREADS - 1) / THREADS);
    LAUNCH(fill<T>, dim3(blocks), dim3(THREADS), 0, stream, (T *)y, n, (T)value);
}

void launch_fill(cuda_stream stream, void *y, int64_t n, int bytes, uint64_t value)
{
    if (n == 0)
        return;
    if (bytes == 1)
        launch<uint8_t>(stream, y, n, value);
    else if (bytes == 2)
        launch<uint16_t>(stream, y, n, value);
    else if (bytes == 4)
        launch<uint32_t>(stream, y, n, value);
    else
        launch<uint64_t>(stream, y, n, value);
}
