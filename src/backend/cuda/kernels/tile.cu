/*
 * Matrix products on our own tiles: with one operand or both transposed, in batches of any kind. A plain
 * fallback where cuBLASLt is missing or refuses, and frozen: no faster way is added without a measurement.
 */
#include "backend/cuda/kernels/tile_matmul.cuh"
#include "backend/cuda/kernels/tile.h"

static tile_dense dense_of(const gemm_task *t, const tile_matrix *m, bool is_left)
{
    tile_dense s = {};
    s.data = m->data;
    s.batch_step = m->batch;
    s.bytes = tile_bytes_of(t->kind);
    s.rows = (int)(is_left ? t->m : t->n);
    s.row_axis = tile_axis_plain(is_left ? m->row : m->column);
    s.k_axis = tile_axis_plain(is_left ? m->column : m->row);
    tile_dense_ways(&s, t->k);
    return s;
}

template <class Y> static void launch_to(cuda_stream stream, const gemm_task *t)
{
    Y y = {};
    y.data = t->y;
    y.type = t->y_type;
    y.batch_step = t->y_batch;
    y.row_axis = tile_axis_plain(t->y_row);
    y.column_axis = tile_axis_plain(1);
    y.end = t->end;
    tile_launch<true>(stream, t->kind, t->cut, dense_of(t, &t->a, true), dense_of(t, &t->b, false),
                      y, t->batches, t->k);
}

void launch_gemm(cuda_stream stream, const gemm_task *t)
{
    if (t->end.function == TILE_AS_IT_IS)
        launch_to<tile_result>(stream, t);
    else
        launch_to<tile_result_of_function>(stream, t);
}
