/*
 * What we use of the C interfaces of cuBLASLt, cuDNN and NCCL, in our own words, so that building
 * needs none of their headers. The rows are in api.def; tests/cuda/abi_test.c compares all with the
 * vendors' headers where these are. Types and numbers alone.
 */
#ifndef TEQUIO_BACKEND_CUDA_LIBRARY_ABI_H
#define TEQUIO_BACKEND_CUDA_LIBRARY_ABI_H

#include "backend/cuda/kernels/launch.h"    /* cuda_stream */

typedef struct cublasLtContext *lt_handle;
typedef struct lt_desc_opaque *lt_desc;             /* cublasLtMatmulDesc_t: a matmul */
typedef struct lt_layout_opaque *lt_layout;         /* cublasLtMatrixLayout_t: one of its matrices */
typedef struct lt_preference_opaque *lt_preference; /* cublasLtMatmulPreference_t */
typedef struct lt_algo {                            /* cublasLtMatmulAlgo_t; may be copied */
    uint64_t data[8];
} lt_algo;
typedef struct lt_found {                           /* cublasLtMatmulHeuristicResult_t */
    lt_algo algo;
    size_t workspace_bytes;
    unsigned status;                                /* 0: the rest holds */
    float waves;
    int reserved[4];
} lt_found;

typedef struct cudnnContext *dnn_handle;
typedef void *dnn_desc;                             /* cudnnBackendDescriptor_t */

typedef struct ncclComm *nccl_comm;

/* Every call's result where it succeeded. */
enum { API_SUCCESS = 0 };

enum {
#define VALUE(name, vendors, value) name = value,
#include "backend/cuda/library/api.def"
};

#endif
