/* The CUDA backend of a program that was built without it. */
#include "backend/cuda/cuda.h"

const char *cuda_build(void)
{
    return NULL;
}

size_t cuda_libraries(cuda_library *ret)
{
    (void)ret;
    return 0;
}
