/* What people are told of the CUDA backend. */
#include "backend/cuda/cuda.h"

const char *cuda_build(void)
{
    return TEQUIO_CUDA_BUILD;
}
