/* What people are told of the CUDA backend. */
#include "backend/cuda/api.h"
#include "backend/cuda/cuda.h"

const char *cuda_build(void)
{
    return TEQUIO_CUDA_BUILD;
}

size_t cuda_libraries(cuda_library *ret)
{
    _Static_assert((int)API_COUNT <= (int)CUDA_LIBRARIES_MAX, "a row each");
    for (int l = 0; l < API_COUNT; l++) {
        const api_found *f = api_find((api_library)l);
        ret[l] = (cuda_library){f->name, f->version, f->path, f->why};
    }
    return API_COUNT;
}
