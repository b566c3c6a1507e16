#include "onnx/host.h"

#include <string.h>

#define LARGEST_HOST ((int64_t)1 << 40)

status host_create(arena *a, dtype t, const graph_shape *shape, host_tensor **ret, error *err)
{
    int64_t n = 1;
    char text[SHAPE_TEXT];
    bool fits = shape->rank >= 0 && shape->rank <= GRAPH_RANK, empty = false;
    for (int32_t i = 0; fits && i < shape->rank; i++) {
        empty |= shape->dim[i] == 0;
        fits = shape->dim[i] >= 0 &&
               !__builtin_mul_overflow(n, shape->dim[i] ? shape->dim[i] : 1, &n) &&
               n <= LARGEST_HOST;
    }
    if (!fits)
        return FAIL(err, E_DATA, "%s is no shape of a tensor",
                    graph_shape_text(shape, text, sizeof text));
    n = empty ? 0 : n;
    host_tensor *h = arena_alloc(a, sizeof *h);
    *h = (host_tensor){.dtype = t, .shape = *shape, .n = n};
    h->data = arena_alloc(a, (size_t)(n ? n : 1) * dtype_bytes(t));
    *ret = h;
    return OK;
}

host_tensor *host_ints(arena *a, int64_t n, const int64_t *values)
{
    host_tensor *h = arena_alloc(a, sizeof *h);
    *h = (host_tensor){.dtype = DT_I64, .shape = {.rank = 1, .dim = {n}}, .n = n};
    h->data = arena_alloc(a, (size_t)(n ? n : 1) * sizeof(int64_t));
    for (int64_t i = 0; i < n; i++)
        ((int64_t *)h->data)[i] = values[i];
    return h;
}

host_tensor *host_int(arena *a, int64_t value)
{
    host_tensor *h = host_ints(a, 1, &value);
    h->shape.rank = 0;
    return h;
}

bool host_is_float(const host_tensor *t)
{
    return t->dtype == DT_F32 || t->dtype == DT_F64;
}

/* 2^63 and beyond, and what is no number, have no integer: they become the smallest one. */
static int64_t cut(double x)
{
    return x > -9223372036854775808.0 && x < 9223372036854775808.0 ? (int64_t)x : INT64_MIN;
}

int64_t host_get_int(const host_tensor *t, int64_t i)
{
    switch (t->dtype) {
    case DT_I64:
        return ((const int64_t *)t->data)[i];
    case DT_I32:
        return ((const int32_t *)t->data)[i];
    case DT_U8:
    case DT_BOOL:
        return ((const uint8_t *)t->data)[i];
    default:
        return cut(host_get(t, i));
    }
}

double host_get(const host_tensor *t, int64_t i)
{
    switch (t->dtype) {
    case DT_F32:
        return ((const float *)t->data)[i];
    case DT_F64:
        return ((const double *)t->data)[i];
    default:
        return (double)host_get_int(t, i);
    }
}

void host_set_int(host_tensor *t, int64_t i, int64_t value)
{
    switch (t->dtype) {
    case DT_I64:
        ((int64_t *)t->data)[i] = value;
        break;
    case DT_I32:
        ((int32_t *)t->data)[i] = (int32_t)value;
        break;
    case DT_U8:
        ((uint8_t *)t->data)[i] = (uint8_t)value;
        break;
    case DT_BOOL:
        ((uint8_t *)t->data)[i] = value != 0;
        break;
    case DT_F32:
        ((float *)t->data)[i] = (float)value;
        break;
    default:
        ((double *)t->data)[i] = (double)value;
    }
}

void host_set(host_tensor *t, int64_t i, double value)
{
    if (t->dtype == DT_F32)
        ((float *)t->data)[i] = (float)value;
    else if (t->dtype == DT_F64)
        ((double *)t->data)[i] = value;
    else if (t->dtype == DT_BOOL)
        ((uint8_t *)t->data)[i] = value != 0.0;
    else
        host_set_int(t, i, cut(value));
}

void host_copy(host_tensor *to, int64_t i, const host_tensor *from, int64_t k)
{
    size_t bytes = dtype_bytes(to->dtype);
    memcpy((char *)to->data + (size_t)i * bytes, (const char *)from->data + (size_t)k * bytes,
           bytes);
}

int64_t host_broadcast_at(const graph_shape *from, const graph_shape *to, int64_t i)
{
    int64_t at = 0, stride = 1;
    for (int32_t k = 1; k <= to->rank; k++) {
        int64_t size = to->dim[to->rank - k], place = i % size;
        i /= size;
        if (k > from->rank)
            continue;
        int64_t own = from->dim[from->rank - k];
        at += own == 1 ? 0 : place * stride;
        stride *= own;
    }
    return at;
}
