#include "backend/cpu/dnnl/state.h"

status shim_check(dnnl_status_t st, const char *what, error *err)
{
    switch (st) {
    case dnnl_success:
        return OK;
    case dnnl_out_of_memory:
        return FAIL(err, E_NOMEM, "oneDNN: %s: out of memory", what);
    case dnnl_unimplemented:
        return FAIL(err, E_UNSUPPORTED, "oneDNN has no %s for these shapes", what);
    case dnnl_invalid_arguments:
        return FAIL(err, E_UNSUPPORTED, "oneDNN refuses the shapes of this %s", what);
    default:
        return FAIL(err, E_DEVICE, "oneDNN: %s failed with status %d", what, (int)st);
    }
}
