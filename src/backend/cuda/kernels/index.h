/* Numbers of rows from indices, and rows put where they name. */
#ifndef TEQUIO_BACKEND_CUDA_KERNELS_INDEX_H
#define TEQUIO_BACKEND_CUDA_KERNELS_INDEX_H

#include "backend/cuda/kernels/launch.h"
#include "common/base/dtype.h"
#include "graph/index_positions.h"

#ifdef __cplusplus
extern "C" {
#endif

/* rows[count]: what each position of the indices names; a bad index counts as 0. There are at most
 * 2^32 rows. */
void launch_index(cuda_stream stream, const index_positions *at, launch_fault fault, uint32_t *rows,
                  const void *indices);

typedef enum launch_reduction {
    LAUNCH_SET,
    LAUNCH_ADD,
    LAUNCH_MUL,
    LAUNCH_MAX,
    LAUNCH_MIN,
} launch_reduction;

size_t launch_put_workspace_bytes(const index_positions *at, dtype type);

/* y[o][row] = y[o][row] and picks[o][i] combined, for every position i, in the order of
 * backend/pick_order.h. `sorted` are the rows in theirs, and `order` the positions that name them, equal
 * rows by position. Reductions are of F32, I32 and I64; set takes any type. The workspace is of
 * launch_put_workspace_bytes, aligned to 8. */
void launch_put(cuda_stream stream, const index_positions *at, launch_reduction r, dtype type,
                void *y, const void *picks, const uint32_t *sorted, const uint32_t *order,
                void *workspace);

#ifdef __cplusplus
}
#endif

#endif
