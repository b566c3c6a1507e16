/*
 * A GPU that was opened: its streams and memory, and what backend_async does with them.
 *
 * Threads: as backend.h says.
 */
#ifndef TEQUIO_BACKEND_CUDA_DEVICE_GPU_H
#define TEQUIO_BACKEND_CUDA_DEVICE_GPU_H

#include "backend/backend.h"
#include "backend/cuda/kernels/launch.h"

struct backend {
    int device;
    int arch;               /* 10 times its compute capability: 75, 80, 120 */
    size_t shared_limit;    /* bytes of shared memory a block may ask for */
    struct cublasLtContext *lt; /* library/lt.h; NULL: not opened */
    struct cudnnContext *dnn;   /* library/dnn.h; NULL: not opened */
    void *dnn_device;           /* what cuDNN's heuristics know of the GPU */
    cuda_stream queues[QUEUE_COUNT];
    uint64_t *fault;        /* on the device; all ones: none */
    bool records;           /* segments, as graphs */
    bool is_recording;      /* one of them, now */
    bool fuses;             /* nodes */
};

/* Streams and the word about bad data, of a backend whose device is chosen; closing takes half-opened
 * ones too. */
MUST_USE status queues_open(backend *b, error *err);
void queues_close(backend *b);

/* Zeros. `what` it is for, in messages. E_NOMEM, which tells how much there was, or E_DEVICE. */
MUST_USE status cuda_alloc(backend *b, backend_space space, size_t bytes, const char *what,
                           void **ret, error *err);
void cuda_release(backend *b, backend_space space, void *p);

extern const backend_async cuda_async;

/* What it names, by file: update.c, segment.c, stopwatch.c, library/nccl.c. */
MUST_USE status update_begin(backend *b, backend_queue q, const struct update_part *u,
                             const float *grad, float *weight, float *const *state, error *err);
MUST_USE status square_sums_begin(backend *b, backend_queue q, double *sums, const float *x,
                                  const struct update_span *spans, size_t n_spans, error *err);
MUST_USE status segment_begin(backend *b, error *err);
MUST_USE status segment_end(backend *b, backend_segment **ret, error *err);
MUST_USE status segment_play(backend *b, backend_segment *s, error *err);
void segment_destroy(backend *b, backend_segment **s);
MUST_USE status stopwatch_create(backend *b, backend_stopwatch **ret, error *err);
void stopwatch_destroy(backend *b, backend_stopwatch **w);
MUST_USE status stopwatch_start(backend *b, backend_stopwatch *w, error *err);
MUST_USE status stopwatch_stop(backend *b, backend_stopwatch *w, error *err);
MUST_USE status stopwatch_read(const backend_stopwatch *w, double *ret_ms, error *err);
MUST_USE status group_create(backend *const *members, int32_t n, backend_group **ret, error *err);
void group_destroy(backend_group **g);
MUST_USE status group_exchange(backend_group *g, int32_t member, const backend_exchange *exchanges, int32_t n,
                               error *err);
void group_abort(backend_group *g);

#endif
