/* Rows by their numbers: copied in the widest pieces that divide a row. */
#include "backend/cuda/kernels/gather.h"
#include "backend/cuda/kernels/positions.cuh"

template <typename T>
static KERNEL(strips::THREADS, gather, T *__restrict__ y, const T *__restrict__ x,
              const void *indices, index_positions p, launch_fault fault, int64_t pieces, int shift)
{
    int64_t row = strip_row(shift);
    if (!IN(row < p.outer * p.count))
        return;
    int64_t from = row / p.count * LD(p.rows) + row_named(p, indices, row % p.count, fault);
    y += row * pieces;
    x += from * pieces;
    for (int64_t i = strip_begin(shift); i < pieces; i += strip_step(shift))
        y[i] = x[i];
}

template <typename T>
static void launch(cuda_stream stream, const launch_gather_call *c, void *y, const void *x,
                   const void *indices)
{
    const index_positions *p = &c->at;
    int64_t pieces = p->inner * c->element / (int64_t)sizeof(T);
    strips s = strips_of(p->outer * p->count, pieces);
    LAUNCH(gather<T>, s.grid, dim3(strips::THREADS), 0, stream, (T *)y, (const T *)x, indices, *p,
           c->fault, pieces, s.shift);
}

void launch_gather(cuda_stream stream, const launch_gather_call *c, void *y, const void *x,
                   const void *indices)
{
    int64_t bytes = c->at.inner * c->element;
    if (c->at.outer == 0 || c->at.count == 0 || bytes == 0)
        return;
    if (bytes % 16 == 0)
        launch<uint4>(stream, c, y, x, indices);
    else if (bytes % 8 == 0)
        launch<uint2>(stream, c, y, x, indices);
    else if (bytes % 4 == 0)
        launch<uint32_t>(stream, c, y, x, indices);
    else
        launch<uint8_t>(stream, c, y, x, indices);
}
