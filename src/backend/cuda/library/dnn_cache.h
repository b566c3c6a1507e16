/*
 * Plans of cuDNN on disk. An engine that makes its code for a graph takes seconds, of every shape and at every start;
 * as the library writes a plan down, code and all, it is read in milliseconds. A plan is named by all it depends
 * on: how its graph was described, what the library knows of the GPU, and the versions of cuDNN and NVRTC; so what is
 * read is what would be made. The files lie in the user's cache (common/base/user_cache.h) and may be removed at
 * any time; one that is damaged, or that the library refuses, is made anew.
 *
 * Threads and processes: any; files are whole at every moment.
 */
#ifndef TEQUIO_BACKEND_CUDA_LIBRARY_DNN_CACHE_H
#define TEQUIO_BACKEND_CUDA_LIBRARY_DNN_CACHE_H

#include "backend/cuda/library/abi.h"
#include "common/base/buf.h"
#include "common/base/hash.h"

#include <stdbool.h>

typedef struct dnn_cache_key {
    char name[SHA256_HEX]; /* "": the library does not tell what it knows of the GPU, and nothing is kept */
} dnn_cache_key;

/* Of a graph that was described so, for this device of the library's. */
dnn_cache_key dnn_cache_key_of(dnn_desc device, const buf *told);

/* A finalized plan, the caller's; NULL: there is none. */
dnn_desc dnn_cache_read(const dnn_cache_key *key, dnn_desc device);
void dnn_cache_write(const dnn_cache_key *key, dnn_desc plan);

#endif
