/*
 * A library in the place of cuBLASLt, cuDNN, NVRTC or NCCL: it has all functions that api.def names, and
 * they do nothing; the version is STUB_VERSION. FN_LT, FN_DNN, FN_RTC and FN_NCCL are MAKE for the one it
 * is and LEAVE for the others; a function that is to be missing is renamed by the compiler's -D.
 */
#include <string.h>

static long answer(const char *name, int *ret)
{
    if (strcmp(name, "ncclGetVersion") == 0 || strcmp(name, "nvrtcVersion") == 0) {
        *ret = STUB_VERSION;
        return 0;
    }
    return strstr(name, "GetVersion") ? STUB_VERSION : 0;
}

#define LEAVE(name)
#define MAKE(name)                                                                                 \
    long name(int *ret);                                                                           \
    long name(int *ret)                                                                            \
    {                                                                                              \
        return answer(#name, ret);                                                                 \
    }
#define FN(library, result, name, parameters) FN_##library(name)
#include "backend/cuda/library/api.def"
