/* Whether this program has code for a chip: all kernels are compiled for the same ones. */
#include "backend/cuda/kernels/device.cuh"
#include "backend/cuda/kernels/launch.h"

static KERNEL(1, probe, int *y)
{
    *y = 1;
}

int launch_probe(void)
{
    cudaFuncAttributes found;
    return (int)cudaFuncGetAttributes(&found, reinterpret_cast<const void *>(probe));
}
