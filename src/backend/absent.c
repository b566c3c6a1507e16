/* The CUDA backend of a program that was built without it. */
#include "backend/cuda/cuda.h"

#include <stddef.h>

const char *cuda_build(void)
{
    return NULL;
}
