/*
 * What src/backend/cuda says of the vendors' interfaces is what their headers say. All is compared
 * by the compiler; built where the headers are.
 */
#include "backend/cuda/library/abi.h"

#include <cublasLt.h>
#include <cudnn.h>
#include <nccl.h>
#include <nvrtc.h>

#define VALUE(name, vendors, value) _Static_assert((int)(name) == (int)(vendors), #name);
VALUE(API_SUCCESS, CUBLAS_STATUS_SUCCESS, )
VALUE(API_SUCCESS, CUDNN_STATUS_SUCCESS, )
VALUE(API_SUCCESS, ncclSuccess, )
#include "backend/cuda/library/api.def"

#define SAME_SIZE(ours, vendors) _Static_assert(sizeof(ours) == sizeof(vendors), #ours)
#define SAME_PLACE(ours, field, vendors, its)                                                      \
    _Static_assert(offsetof(ours, field) == offsetof(vendors, its), #ours "." #field)
SAME_SIZE(lt_algo, cublasLtMatmulAlgo_t);
SAME_SIZE(lt_found, cublasLtMatmulHeuristicResult_t);
SAME_PLACE(lt_found, algo, cublasLtMatmulHeuristicResult_t, algo);
SAME_PLACE(lt_found, workspace_bytes, cublasLtMatmulHeuristicResult_t, workspaceSize);
SAME_PLACE(lt_found, status, cublasLtMatmulHeuristicResult_t, state);
SAME_PLACE(lt_found, waves, cublasLtMatmulHeuristicResult_t, wavesCount);

/* With our names standing for the vendors' types, each function can be assigned to a pointer of the
 * type that api.def gives it; -Werror=incompatible-pointer-types. Nothing is called or linked. */
#define lt_handle cublasLtHandle_t
#define lt_desc cublasLtMatmulDesc_t
#define lt_layout cublasLtMatrixLayout_t
#define lt_preference cublasLtMatmulPreference_t
#define lt_algo cublasLtMatmulAlgo_t
#define lt_found cublasLtMatmulHeuristicResult_t
#define FN(lib, result, name, parameters)                                                          \
    _Static_assert(sizeof(*(result(**) parameters)0 = name) > 0, #name);
#include "backend/cuda/library/api.def"

int main(void)
{
    return 0;
}
