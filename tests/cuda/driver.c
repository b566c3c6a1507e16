/*
 * CUDA's driver for a test that only plans: it has no GPU, but takes any code it is given, so that
 * engines of cuDNN that make their kernels while they plan come to the end of it. Calls are those
 * that cuDNN 9 looks for when it is opened.
 */
#include <stddef.h>

enum { DONE, NO_DEVICE = 100 };

unsigned cuLibraryLoadData(void **ret, const void *code, const void *names, const void *values,
                           unsigned n, const void *more_names, const void *more_values,
                           unsigned n_more);
unsigned cuLibraryGetKernel(void **ret, const void *library, const char *name);

static char a_library, a_kernel;

unsigned cuLibraryLoadData(void **ret, const void *code, const void *names, const void *values,
                           unsigned n, const void *more_names, const void *more_values,
                           unsigned n_more)
{
    (void)code, (void)names, (void)values, (void)n;
    (void)more_names, (void)more_values, (void)n_more;
    *ret = &a_library;
    return DONE;
}

unsigned cuLibraryGetKernel(void **ret, const void *library, const char *name)
{
    (void)library, (void)name;
    *ret = &a_kernel;
    return DONE;
}

#define REFUSES(name)                                                                              \
    unsigned name(void);                                                                           \
    unsigned name(void)                                                                            \
    {                                                                                              \
        return NO_DEVICE;                                                                          \
    }

REFUSES(cuCtxGetCurrent)
REFUSES(cuCtxGetLimit)
REFUSES(cuCtxPopCurrent)
REFUSES(cuCtxPushCurrent)
REFUSES(cuDeviceGet)
REFUSES(cuDeviceGetCount)
REFUSES(cuDriverGetVersion)
REFUSES(cuGetErrorName)
REFUSES(cuGetErrorString)
REFUSES(cuInit)
REFUSES(cuKernelGetAttribute)
REFUSES(cuKernelSetAttribute)
REFUSES(cuLaunchCooperativeKernel)
REFUSES(cuLaunchKernel)
REFUSES(cuLaunchKernelEx)
REFUSES(cuLibraryLoadFromFile)
REFUSES(cuLibraryUnload)
REFUSES(cuLinkAddData)
REFUSES(cuLinkComplete)
REFUSES(cuLinkCreate)
REFUSES(cuLinkDestroy)
REFUSES(cuOccupancyMaxPotentialClusterSize)
REFUSES(cuStreamGetCtx)
