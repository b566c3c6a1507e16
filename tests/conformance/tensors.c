#include "tensors.h"

#include "common/base/fs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_MAX = 1 << 28 };

status tensors_read(arena *a, const char *data_set, const char *kind, size_t i, host_tensor **ret,
                    error *err)
{
    char *path = xasprintf("%s/%s_%zu.pb", data_set, kind, i);
    buf bytes = BUF_INIT;
    Onnx__TensorProto *t = NULL;
    onnx_model nowhere = {.path = path};
    status st;
    TRY_OUT(st, fs_read(path, FILE_MAX, &bytes, err));
    t = onnx__tensor_proto__unpack(NULL, bytes.size, (const uint8_t *)bytes.data);
    st = t ? host_read(&nowhere, t, a, ret, err) : FAIL(err, E_DATA, "'%s' is no tensor", path);
out:
    if (t)
        onnx__tensor_proto__free_unpacked(t, NULL);
    buf_fini(&bytes);
    free(path);
    return st;
}

static bool is_near(double is, double expected)
{
    if (isnan(expected) || isinf(expected))
        return (isnan(is) && isnan(expected)) || is == expected;
    return fabs(is - expected) <= 1e-7 + 1e-3 * fabs(expected);
}

static double largest_of(const host_tensor *t)
{
    double largest = 0;
    for (int64_t i = 0; i < t->n; i++)
        largest = fmax(largest, fabs(host_get(t, i)));
    return largest;
}

status tensors_compare(const char *name, const host_tensor *is, const host_tensor *expected,
                       double noise, error *err)
{
    double room = noise > 0 ? noise * largest_of(expected) : 0;
    char ours[SHAPE_TEXT], theirs[SHAPE_TEXT];
    if (expected->dtype == DT_F64 && is->dtype == DT_F32)
        return FAIL(err, E_UNSUPPORTED, "'%s' is computed in float32", name);
    if (is->dtype != expected->dtype || !graph_shape_equal(&is->shape, &expected->shape))
        return FAIL(err, E_FAIL, "'%s' is %s %s, not %s %s", name, dtype_name(is->dtype),
                    graph_shape_text(&is->shape, ours, sizeof ours), dtype_name(expected->dtype),
                    graph_shape_text(&expected->shape, theirs, sizeof theirs));
    for (int64_t i = 0; i < expected->n; i++) {
        bool same = host_is_float(is) ? is_near(host_get(is, i), host_get(expected, i)) ||
                                              fabs(host_get(is, i) - host_get(expected, i)) <= room
                                      : host_get_int(is, i) == host_get_int(expected, i);
        if (!same)
            return FAIL(err, E_FAIL, "'%s' element %lld of %lld is %.9g, not %.9g", name,
                        (long long)i, (long long)expected->n, host_get(is, i),
                        host_get(expected, i));
    }
    return OK;
}

bool tensors_is_ours(int32_t onnx_type)
{
    static const int32_t ours[] = {1, 2, 6, 7, 9, 11}; /* float64 only where it is known */
    for (size_t i = 0; i < COUNT_OF(ours); i++)
        if (ours[i] == onnx_type)
            return true;
    return false;
}
