/*
 * Matrix products for the planners: by cuBLASLt where its library is there and takes the matmul,
 * otherwise by our own tiles (kernels/tile.h). Which, and how the work is cut, follows from the
 * matmul's sizes alone.
 *
 * Threads: as backend.h says.
 */
#ifndef TEQUIO_BACKEND_CUDA_PLAN_MATMUL_H
#define TEQUIO_BACKEND_CUDA_PLAN_MATMUL_H

#include "backend/cuda/library/lt.h"

enum { MATMUL_ARCH_OF_TF32 = 80 }; /* and of bfloat16 */

typedef struct cuda_matmul {
    gemm_task task;        /* all but addresses and parts */
    lt_matmul *lt;  /* the program's; NULL: by tiles */
    const char *why;       /* ... for that reason */
    size_t scratch_bytes;
} cuda_matmul;

/* Whether the matmul can end otherwise without another way to multiply: the library has it so, or
 * our tiles multiply in any case. If not, it is better off as it is, with a kernel behind. Both as
 * cuda_matmul_plan's t. */
bool cuda_matmul_can_end(backend_program *p, const gemm_task *as_it_is, const gemm_task *otherwise,
                         size_t align);

/* Of t all but addresses, alpha and beta as they are, c and side if they are not NULL in t->end
 * (where they point does not matter). Factors lie row by row or column by column; all operands of a
 * run will begin at multiples of `align` bytes, a power of two up to 256. E_UNSUPPORTED if the chip
 * cannot multiply that type, or it is too large. */
MUST_USE status cuda_matmul_plan(backend_program *p, const gemm_task *t, size_t align,
                                 cuda_matmul *ret, error *err);

/* Behind what the stream has to do. `scratch` has scratch_bytes, aligned to 256. */
MUST_USE status cuda_matmul_run(const cuda_matmul *p, cuda_stream stream,
                                const matmul_operands *o, void *scratch, error *err);

/* Into how many pieces a long sum is cut so that there are blocks enough; `each`: factors a piece
 * has at least. */
int64_t cuda_matmul_pieces(int64_t blocks, int64_t k, int64_t each);

/* How factors of this type are multiplied here: floats as TF32 where the graph's precision is that
 * and the chip has it. E_UNSUPPORTED where the chip is too old for the type. */
MUST_USE status cuda_matmul_kind(const backend_program *p, dtype type, tile_kind *ret, error *err);

#endif
