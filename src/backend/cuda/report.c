/* What people are told of the CUDA backend. */
#include "backend/cuda/cuda.h"
#include "backend/cuda/device/device.h"
#include "backend/cuda/library/api.h"
#include "backend/cuda/library/dnn.h"
#include "backend/cuda/plan/matmul.h"
#include "common/base/alloc.h"

#include <stdlib.h>
#include <string.h>

const char *cuda_build(void)
{
    return TEQUIO_CUDA_BUILD;
}

size_t cuda_libraries(cuda_library *ret)
{
    static const char *const instead[API_COUNT] = {
        [API_LT] = "products are our kernels'",
        [API_DNN] = "convolutions and attention are our kernels'",
        [API_RTC] = "cuDNN's engines cannot be compiled, so convolutions and attention are our kernels'",
        [API_NCCL] = "GPUs exchange gradients by copies",
    };
    _Static_assert((int)API_COUNT <= (int)CUDA_LIBRARIES_MAX, "a row each");
    for (int l = 0; l < API_COUNT; l++) {
        const api_found *f = api_find((api_library)l);
        ret[l] = (cuda_library){f->name, f->version, f->path, f->why, instead[l],
                                l == API_DNN && f->path ? dnn_limits() : ""};
    }
    return API_COUNT;
}

size_t cuda_habits(cuda_habit *ret)
{
    static const cuda_habit habits[] = {
        {"graphs", "kernels are recorded, and played as one piece",
         "kernels are launched one by one", "TEQUIO_CUDA_GRAPHS", false, NULL},
        {"fusion", "nodes that follow one another element by element are one kernel",
         "every node has its own kernel", "TEQUIO_CUDA_FUSION", false, NULL},
        {"exchange", "GPUs of a process exchange gradients by NCCL, if it is there",
         "GPUs of a process exchange gradients by copies", "TEQUIO_CUDA_NCCL", false, NULL},
        {"augment", "images are moved, erased and mixed where their bytes become numbers",
         "images are moved, erased and mixed on the host", "TEQUIO_CUDA_AUGMENT", false, NULL},
        {"guard", "values between nodes share memory",
         "each value between nodes has memory of its own, not cleared, for checkers of memory", "TEQUIO_CUDA_GUARD",
         true, NULL},
    };
    _Static_assert(COUNT_OF(habits) <= CUDA_HABITS_MAX, "a row each");
    for (size_t i = 0; i < COUNT_OF(habits); i++) {
        ret[i] = habits[i];
        const char *variable = habits[i].variable;
        if (habits[i].is_asked ? device_asks(variable) : !device_wants(variable))
            ret[i].set = getenv(variable);
    }
    return COUNT_OF(habits);
}

const char *cuda_limits(const char *arch)
{
    bool is_old = strncmp(arch, "sm_", 3) == 0 && atoi(arch + 3) < MATMUL_ARCH_OF_TF32;
    return is_old ? "older than sm_80: bf16 is refused, and tf32 is computed as f32" : "";
}
