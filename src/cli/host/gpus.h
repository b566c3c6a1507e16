/*
 * The GPUs of this machine, looked at by a process of its own: nothing of them stays in this one.
 * Threads: as job/process/subprocess.h.
 */
#ifndef TEQUIO_CLI_HOST_GPUS_H
#define TEQUIO_CLI_HOST_GPUS_H

#include "backend/backend.h"

enum { GPUS_MOST = 64 };

typedef struct gpus {
    int n; /* those that CUDA shows */
    backend_device at[GPUS_MOST];
    error why[GPUS_MOST]; /* one cannot be described; of the first: why there is none, if n == 0 */
} gpus;

/* *ret is large. */
void gpus_look(gpus *ret);

#endif
