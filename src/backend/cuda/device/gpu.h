/*
 * A GPU that was opened: its streams and memory, and the tables of backend.h that work on them.
 *
 * Threads: as backend.h says.
 */
#ifndef TEQUIO_BACKEND_CUDA_DEVICE_GPU_H
#define TEQUIO_BACKEND_CUDA_DEVICE_GPU_H

#include "backend/backend.h"
#include "backend/cuda/kernels/launch.h"

/* Threads that make cuDNN's plans, at most. */
enum { DNN_PLANNERS = 4 };

struct backend {
    int device;
    int arch;               /* 10 times its compute capability: 75, 80, 120 */
    size_t shared_limit;    /* bytes of shared memory a block may ask for */
    struct cublasLtContext *lt; /* library/lt.h; NULL: not opened */
    struct cudnnContext *dnn;   /* library/dnn.h; NULL: not opened */
    void *dnn_device[DNN_PLANNERS]; /* what cuDNN's heuristics know of the GPU, for each thread that plans;
                                 * NULL: not asked yet */
    cuda_stream queues[QUEUE_COUNT];    /* NULL: unused */
    uint64_t *fault;        /* on the device; all ones: none */
    bool records;           /* segments, as graphs */
    bool is_recording;      /* one of them, now */
    bool fuses;             /* nodes */
};

/* Streams but for those that are unused (backend_options), and the word about bad data, of a backend whose
 * device is chosen; closing takes half-opened ones too. */
MUST_USE status queues_open(backend *b, unsigned unused, error *err);
void queues_close(backend *b);

/* Zeros, but for SPACE_UNCLEARED. `what` it is for, in messages. E_NOMEM, which tells how much there was, or
 * E_DEVICE. */
MUST_USE status cuda_alloc(backend *b, backend_space space, size_t bytes, const char *what,
                           void **ret, error *err);
void cuda_release(backend *b, backend_space space, void *p);

/* By file: queue.c, segment.c, stopwatch.c, update.c, library/nccl.c. */
extern const backend_queue_ops cuda_queue_ops;
extern const backend_fault_ops cuda_fault_ops;
extern const backend_recorder_ops cuda_recorder_ops;
extern const backend_stopwatch_ops cuda_stopwatch_ops;
extern const backend_optimizer_ops cuda_optimizer_ops;
extern const backend_group_ops cuda_group_ops;

#endif
