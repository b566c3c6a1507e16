/*
 * The libraries the backend opens at run time, played: the table of backend/cuda/library/api.h is
 * filled with functions that compute on the host, behind what the stream has to do, and that are
 * strict where the real ones are. Who breaks a rule that the vendor wrote down causes a fault
 * (machine.h), whose text begins with the library's name.
 *
 * cuBLASLt (lt.c) has matmuls of float32, and of halves in float32, with nothing, a row or a relu
 * at their end. Its heuristics offer what does not work, then, where a long sum may be cut, what
 * loses the end of it, then what works. cuDNN (dnn.c) has attention and convolutions. Of its
 * engines one gives other bits every time, one rounds its sums, one refuses, one wants too much
 * memory, and one multiplies float32 on tensor cores. NCCL (nccl.c) sends between GPUs of one
 * process, and waits in vain for nobody.
 *
 * TEQUIO_CUDA_LIBRARIES=none hides them, as it does the real ones; cuDNN is as old as EMU_DNN says
 * (90701: 9.7.1); EMU_NCCL=0 hides NCCL alone, and with EMU_NCCL=broken the first GPU's sends fail;
 * EMU_NO_NVRTC hides NVRTC.
 * Threads: any; what tests choose, before other threads begin.
 */
#ifndef TEQUIO_TESTS_CUDA_EMU_FAKES_FAKES_H
#define TEQUIO_TESTS_CUDA_EMU_FAKES_FAKES_H

#include "backend/cuda/library/api.h"

#include <stdbool.h>
#include <stdint.h>

/* No library is found any more, or again. */
void fakes_hide(bool hidden);

/* What the heuristics of cuBLASLt answer from now on, to matmuls that keep the rules; API_SUCCESS:
 * algorithms. */
void fake_lt_refuse(unsigned result);
/* ... or none that ends with Gelu. */
void fake_lt_refuse_gelu(bool refuses);
/* Whether it cannot be opened from now on, as without a driver that it knows. */
void fake_lt_fail(bool fails);
/* Matmuls that were put on streams so far. */
uint64_t fake_lt_matmuls(void);

/* The same of cuDNN: whether it has no engine for any graph, cannot be opened, and graphs that were
 * put on streams. */
void fake_dnn_refuse(bool refuses);
void fake_dnn_fail(bool fails);
uint64_t fake_dnn_runs(void);
/* ... that were planned, each engine that was tried counts. */
uint64_t fake_dnn_plans(void);

/* For how long NCCL waits for whoever is to receive or send; 20 s at first. */
void fake_nccl_timeout(int ms);
/* Its sends from now on fail on that GPU; -1: on none. */
void fake_nccl_fail(int device);
/* From now on GPUs that have not met have no memory for it. */
void fake_nccl_impoverish(void);
/* Sends so far that were received. */
uint64_t fake_nccl_sends(void);

/* For api.c. */
void fake_lt_fill(api_table *t);
void fake_dnn_fill(api_table *t);
void fake_nccl_fill(api_table *t);

#endif
