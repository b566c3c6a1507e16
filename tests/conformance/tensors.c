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

/* How far off a result may be: as ONNX's own runner has it, and as its float16 and bfloat16,
 * computed in float32 here and rounded at every step there, may part. */
typedef struct tolerance {
    double relative, absolute;
} tolerance;

static const tolerance strict = {1e-3, 1e-7}, bfloat = {0x1p-6, 1e-7}, loose = {3e-2, 3e-2};

static bool is_near(double is, double expected, tolerance t)
{
    if (isnan(expected) || isinf(expected))
        return (isnan(is) && isnan(expected)) || is == expected;
    return fabs(is - expected) <= t.absolute + t.relative * fabs(expected);
}

static double largest_of(const host_tensor *t)
{
    double largest = 0;
    for (int64_t i = 0; i < t->n; i++)
        largest = fmax(largest, fabs(host_get(t, i)));
    return largest;
}

static status compare_elements(const char *name, const host_tensor *is, const host_tensor *expected,
                               tolerance t, error *err)
{
    for (int64_t i = 0; i < expected->n; i++) {
        bool same = host_is_float(is) ? is_near(host_get(is, i), host_get(expected, i), t)
                                      : host_get_int(is, i) == host_get_int(expected, i);
        if (!same)
            return FAIL(err, E_FAIL, "'%s' element %lld of %lld is %.9g, not %.9g", name,
                        (long long)i, (long long)expected->n, host_get(is, i),
                        host_get(expected, i));
    }
    return OK;
}

status tensors_compare(const char *name, const host_tensor *is, const host_tensor *expected,
                       double noise, error *err)
{
    char ours[SHAPE_TEXT], theirs[SHAPE_TEXT];
    error apart = ERROR_INIT;
    const onnx_element *e = element_of(expected->element);
    if (is->element != expected->element || !graph_shape_equal(&is->shape, &expected->shape))
        return FAIL(err, E_FAIL, "'%s' is %s %s, not %s %s", name, element_of(is->element)->name,
                    graph_shape_text(&is->shape, ours, sizeof ours), e->name,
                    graph_shape_text(&expected->shape, theirs, sizeof theirs));
    tolerance t = e->onnx == ONNX_BFLOAT16 ? bfloat : strict;
    t.absolute += noise > 0 ? noise * largest_of(expected) : 0;
    status st = compare_elements(name, is, expected, t, &apart);
    if (st == OK)
        return OK;
    bool is_rounded = e->kind == ELEMENT_FLOAT && e->bits == 16;
    if (is_rounded && compare_elements(name, is, expected, loose, err) == OK)
        return FAIL(err, E_UNSUPPORTED, "%s is computed in float32: %s", e->name, apart.text);
    error_clear(err);
    return FAIL(err, E_FAIL, "%s", apart.text);
}
