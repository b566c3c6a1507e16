/*
 * Matrix products for the planners: by cuBLASLt where its library is there and takes the product,
 * otherwise by our own tiles (kernels/tile.h). Which, and how the work is cut, follows from the
 * product's sizes alone.
 *
 * Threads: as backend.h says.
 */
#ifndef TEQUIO_BACKEND_CUDA_PLAN_PRODUCT_H
#define TEQUIO_BACKEND_CUDA_PLAN_PRODUCT_H

#include "backend/cuda/kernels/tile.h"
#include "backend/cuda/program.h"

struct lt_product;

enum { PRODUCT_ARCH_OF_TF32 = 80 }; /* and of bfloat16 */

typedef struct product {
    gemm_task task;        /* all but addresses and parts */
    struct lt_product *lt; /* the program's; NULL: by tiles */
    const char *why;       /* ... for that reason */
    size_t scratch_bytes;
} product;

/* Where it is at a run; c and side as product.task.end tells. */
typedef struct product_operands {
    const void *a, *b, *c;
    void *y, *side;
} product_operands;

/* Whether the product can end otherwise without another way to multiply: the library has it so, or
 * our tiles multiply in any case. If not, it is better off as it is, with a kernel behind. Both as
 * product_plan's t. */
bool product_can_end(backend_program *p, const gemm_task *as_it_is, const gemm_task *otherwise,
                     size_t align);

/* Of t all but addresses, alpha and beta as they are, c and side if they are not NULL in t->end
 * (where they point does not matter). Factors lie row by row or column by column; all operands of a
 * run will begin at multiples of `align` bytes, a power of two up to 256. E_UNSUPPORTED if the chip
 * cannot multiply that type, or it is too large. */
MUST_USE status product_plan(backend_program *p, const gemm_task *t, size_t align, product *ret,
                             error *err);

/* Behind what the stream has to do. `scratch` has scratch_bytes, aligned to 256. */
MUST_USE status product_run(const product *p, cuda_stream stream, const product_operands *o,
                            void *scratch, error *err);

/* Into how many pieces a long sum is cut so that there are blocks enough; `each`: factors a piece
 * has at least. */
int64_t product_pieces(int64_t blocks, int64_t k, int64_t each);

/* How factors of this type are multiplied here: floats as TF32 where the graph's precision is that
 * and the chip has it. E_UNSUPPORTED where the chip is too old for the type. */
MUST_USE status product_kind(const backend_program *p, dtype type, tile_kind *ret, error *err);

#endif
