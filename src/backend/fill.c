#include "backend/fill.h"

#include "common/base/error.h"

#include <string.h>

static double within(double x, double low, double high)
{
    return x >= low ? x <= high ? x : high : low; /* NaN is low */
}

void fill_value(dtype t, double value, uint8_t ret[8])
{
    memset(ret, 0, 8);
    switch (t) {
    case DT_F32:
        memcpy(ret, &(float){(float)value}, sizeof(float));
        return;
    case DT_F64:
        memcpy(ret, &value, sizeof value);
        return;
    case DT_I64:
        memcpy(ret,
               &(int64_t){value < 0x1p63 ? (int64_t)within(value, -0x1p63, 0x1p63) : INT64_MAX}, 8);
        return;
    case DT_I32:
        memcpy(ret, &(int32_t){(int32_t)within(value, INT32_MIN, INT32_MAX)}, 4);
        return;
    case DT_U8:
        ret[0] = (uint8_t)within(value, 0, UINT8_MAX);
        return;
    case DT_BOOL:
        ret[0] = value != 0;
        return;
    default:
        BUG("no value of %s is filled in", dtype_name(t));
    }
}

#define FILL(name, type)                                                                           \
    static void name(type *to, int64_t n, const uint8_t *value)                                    \
    {                                                                                              \
        type v;                                                                                    \
        memcpy(&v, value, sizeof v);                                                               \
        for (int64_t i = 0; i < n; i++)                                                            \
            to[i] = v;                                                                             \
    }

FILL(fill_2, uint16_t)
FILL(fill_4, uint32_t)
FILL(fill_8, uint64_t)

void fill_run(void *to, int64_t n, const uint8_t value[8], size_t element)
{
    if (element == 1)
        memset(to, value[0], (size_t)n);
    else if (element == 2)
        fill_2(to, n, value);
    else if (element == 4)
        fill_4(to, n, value);
    else
        fill_8(to, n, value);
}
