/*
 * Matrix products by cuBLASLt. Its matrices are columns one after another, ours rows: what it is
 * asked for is y' = b' a'. The algorithm is the first one its heuristics name for the shapes, with
 * a fixed workspace and never by measured time; sums that are cut into pieces are added up in
 * float32, by workspace, and only where the pieces come out even. So the bits depend on the shapes,
 * the library's version and the model of chip.
 *
 * Of functions behind a matmul it is asked for Gelu by tanh and its gradient where results are
 * halves: that is the form it computes (pytorch/pytorch#104061), as exactly as halves show; and on
 * chips where that is one kernel. No NaN survives its Relu, so that is ours, and nobody says how
 * gradients of biases are added up (docs/NUMERICS.md).
 *
 * Threads: as backend.h says; a backend has a handle of its own.
 */
#ifndef TEQUIO_BACKEND_CUDA_LIBRARY_LT_H
#define TEQUIO_BACKEND_CUDA_LIBRARY_LT_H

#include "backend/cuda/kernels/tile.h"
#include "backend/cuda/program.h"

/* Where it is at a run; c and side as gemm_task.end tells. */
typedef struct matmul_operands {
    const void *a, *b, *c;
    void *y, *side;
} matmul_operands;

typedef struct lt_matmul lt_matmul; /* the program's */

/* Whether lt_plan would make one; false too if the library fails, which lt_plan then tells. */
bool lt_has(backend_program *p, const gemm_task *t, size_t align);

/* *ret is NULL if the library is not there or does not take this matmul, for the reason *ret_why,
 * a constant. `align` is cuda_matmul_plan's. */
MUST_USE status lt_plan(backend_program *p, const gemm_task *t, size_t align, lt_matmul **ret,
                        const char **ret_why, error *err);
size_t lt_scratch_bytes(const lt_matmul *p);
MUST_USE status lt_run(const lt_matmul *p, cuda_stream stream, const matmul_operands *o,
                       void *scratch, error *err);

/* At the end of a program, and of a backend. */
void lt_matmuls_destroy(backend_program *p);
void lt_close(backend *b);

#endif
