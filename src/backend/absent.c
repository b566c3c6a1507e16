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

size_t cuda_habits(cuda_habit *ret)
{
    (void)ret;
    return 0;
}

const char *cuda_limits(const char *arch)
{
    (void)arch;
    return "";
}

bool cuda_has_driver(void)
{
    return false;
}

status cuda_look(cuda_gpus *ret, error *err)
{
    (void)err;
    *ret = (cuda_gpus){.n = 0};
    return OK;
}

status cuda_find(int device, error *err)
{
    return FAIL(err, E_UNSUPPORTED,
                "GPU %d: this program was built without the CUDA backend; build it where nvcc is, with "
                "-DTEQUIO_CUDA=ON, or use the CPU",
                device);
}

static status absent_open(const backend_options *options, backend **ret, error *err)
{
    (void)ret;
    return cuda_find(options->device, err);
}

static status absent_describe(int device, backend_device *ret, error *err)
{
    (void)ret;
    return cuda_find(device, err);
}

/* Nothing is ever opened, so the rest is never called. */
const backend_ops backend_cuda = {
    .name = "cuda", .open = absent_open, .describe = absent_describe};
