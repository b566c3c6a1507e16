#include "numeric/support_values.h"

#include "common/base/error.h"
#include "common/base/half.h"

#include <string.h>

/* Types as C has them. */
#define EACH_TYPE(X)                                                                               \
    X(DT_F32, float)                                                                               \
    X(DT_I64, int64_t)                                                                             \
    X(DT_I32, int32_t)                                                                             \
    X(DT_U8, uint8_t)                                                                              \
    X(DT_BOOL, uint8_t)

void values_store(dtype t, int64_t n, const double *values, void *to)
{
    switch (t) {
#define X(code, type)                                                                              \
    case code:                                                                                     \
        for (int64_t i = 0; i < n; i++)                                                            \
            ((type *)to)[i] = (type)values[i];                                                     \
        return;
        EACH_TYPE(X)
#undef X
    default:
        BUG("cannot store %s", dtype_name(t));
    }
}

void values_load(dtype t, int64_t n, const void *from, double *ret)
{
    switch (t) {
#define X(code, type)                                                                              \
    case code:                                                                                     \
        for (int64_t i = 0; i < n; i++)                                                            \
            ret[i] = (double)((const type *)from)[i];                                              \
        return;
        EACH_TYPE(X)
#undef X
    case DT_BF16:
    case DT_F16:
        for (int64_t i = 0; i < n; i++)
            ret[i] = (double)half_to_float(((const uint16_t *)from)[i], t == DT_BF16);
        return;
    default:
        BUG("cannot load %s", dtype_name(t));
    }
}
