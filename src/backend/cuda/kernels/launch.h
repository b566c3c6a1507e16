/*
 * What C calls of the kernels: launchers; those of <family>.cu stand in <family>.h. One puts
 * kernels behind what `stream` already has to do, and returns; pointers are to memory of the
 * device. It allocates nothing and decides nothing: the caller has checked shapes and alignments.
 * With nothing to do it launches nothing. Whether a launch was refused is told by
 * cudaGetLastError().
 *
 * Sums over much are cut into pieces, whose number the caller chooses by the shape alone: the bits
 * depend on it. What the pieces come to lies in a `workspace` in between.
 */
#ifndef TEQUIO_BACKEND_CUDA_KERNELS_LAUNCH_H
#define TEQUIO_BACKEND_CUDA_KERNELS_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct CUstream_st *cuda_stream; /* CUDA's cudaStream_t */

/* How a float is stored. */
typedef enum launch_type { LAUNCH_F32, LAUNCH_BF16, LAUNCH_F16 } launch_type;

/* ... of the result and the operands of an element-wise function; those it has not do not count. */
typedef struct launch_types {
    launch_type y, a, b, c;
} launch_types;

/* Where a kernel that checks tells of bad data: *word becomes the least of node | number of the element. */
typedef struct launch_fault {
    uint64_t *word;
    uint64_t node;
} launch_fault;

/*
 * What dropout keeps: bit e of the mask is whether word e of the Philox stream (seed, RNG_DROPOUT,
 * rng_mix(stream, batch id)) is at least the threshold (backend/drop.h). The id is read when the
 * kernel runs.
 */
typedef struct launch_dropout {
    const int64_t *batch; /* NULL: nothing is dropped */
    uint64_t key;         /* rng_mix(seed, RNG_DROPOUT) */
    uint64_t stream;
    uint32_t threshold;
    float scale; /* of what is kept */
} launch_dropout;

#ifdef __cplusplus
extern "C" {
#endif

/* probe.cu: what CUDA says of a kernel of this program on the chosen GPU: 0, or a cudaError_t. */
int launch_probe(void);

#ifdef __cplusplus
}
#endif

#endif
