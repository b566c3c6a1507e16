/*
 * Where the sums of a tiled matmul go (tile_matmul.cuh), and what becomes of them on the way: a result
 * has put(batch, row, column, sum).
 */
#ifndef TEQUIO_BACKEND_CUDA_KERNELS_TILE_RESULT_CUH
#define TEQUIO_BACKEND_CUDA_KERNELS_TILE_RESULT_CUH

#include "backend/cuda/kernels/formulas.cuh"
#include "backend/cuda/kernels/tile_source.cuh"

__device__ __forceinline__ float tile_float(const void *data, int type, int64_t at)
{
    if (type == DT_F32)
        return ((const float *)data)[at];
    if (type == DT_BF16)
        return to_float(((const bf16 *)data)[at]);
    return to_float(((const f16 *)data)[at]);
}

__device__ __forceinline__ void tile_store(void *data, int type, int64_t at, float x)
{
    if (type == DT_F32)
        ((float *)data)[at] = x;
    else if (type == DT_BF16)
        ((bf16 *)data)[at] = bf16_of(x);
    else
        ((f16 *)data)[at] = f16_of(x);
}

/* Where results go, and what is added on the way. */
struct tile_result {
    void *data;
    int type;
    int64_t batch_step;
    tile_axis row_axis, column_axis;
    tile_end end;

    __device__ __forceinline__ int64_t place(int64_t batch, int row, int column) const
    {
        return batch * LD(batch_step) + row_axis.at(row) + column_axis.at(column);
    }
    __device__ __forceinline__ float added(int64_t batch, int row, int column, float sum) const
    {
        float v = end.alpha * sum;
        if (end.c) {
            int64_t at = batch * LD(end.c_batch) + row * LD(end.c_row) + column * LD(end.c_column);
            v += end.beta * tile_float(end.c, end.c_type, at);
        }
        return v;
    }
    __device__ __forceinline__ void put(int64_t batch, int row, int column, float sum) const
    {
        tile_store(data, type, place(batch, row, column), added(batch, row, column, sum));
    }
};

/* ... and put through a function. */
struct tile_result_of_function : tile_result {
    __device__ __forceinline__ float applied(float v, float side) const
    {
        switch (end.function) {
        case TILE_AS_IT_IS:
            break;
        case TILE_RELU:
            return relu_at::of(v, 0.0f, 0.0f, 0.0f);
        case TILE_GELU:
            return gelu_at::of(v, 0.0f, 0.0f, 0.0f);
        case TILE_GELU_BY_TANH:
            return gelu_by_tanh_at::of(v, 0.0f, 0.0f, 0.0f);
        case TILE_RELU_BWD:
            return relu_bwd_at::of(v, side, 0.0f, 0.0f);
        case TILE_GELU_BWD:
            return gelu_bwd_at::of(v, side, 0.0f, 0.0f);
        case TILE_GELU_BY_TANH_BWD:
            return gelu_by_tanh_bwd_at::of(v, side, 0.0f, 0.0f);
        }
        return v;
    }
    __device__ __forceinline__ void put(int64_t batch, int row, int column, float sum) const
    {
        int64_t at = place(batch, row, column);
        float v = added(batch, row, column, sum), side = 0.0f;
        if (tile_is_gradient(end.function))
            side = tile_float(end.side, end.side_type, at);
        else if (end.side)
            tile_store(end.side, end.side_type, at, v);
        tile_store(data, type, at, applied(v, side));
    }
};

#endif
