#include "onnx/fold/fold.h"

#include <inttypes.h>

status onnx_fold_input(call *c, int32_t i, const host_tensor **ret, error *err)
{
    TRY(call_known(c, i, ret, err));
    if (!*ret)
        return FAIL(err, E_DATA, "its input %" PRId32 " is missing", i);
    return OK;
}

int64_t onnx_fold_elements(const graph_shape *s)
{
    int64_t n = 1;
    for (int32_t i = 0; i < s->rank; i++) {
        if (s->dim[i] == 0)
            return 0;
        if (s->dim[i] < 0 || __builtin_mul_overflow(n, s->dim[i], &n))
            return INT64_MAX;
    }
    return n;
}

status onnx_fold_result(call *c, dtype t, const graph_shape *shape, host_tensor **ret, error *err)
{
    int64_t n = onnx_fold_elements(shape);
    *ret = NULL;
    if (n > FOLD_MOST || c->im->folded + n > FOLD_ALL)
        return OK;
    c->im->folded += n;
    TRY(host_create(c->im->a, t, shape, ret, err));
    call_return_host(c, 0, *ret);
    return OK;
}

status onnx_fold_only_result(call *c, dtype t, const graph_shape *shape, host_tensor **ret, error *err)
{
    char text[SHAPE_TEXT];
    int64_t n = onnx_fold_elements(shape);
    if (n > FOLD_LARGEST && n < INT64_MAX)
        return call_refuse(err, "its result %s has more than %d elements; make it smaller",
                           graph_shape_text(shape, text, sizeof text), FOLD_LARGEST);
    if (n <= FOLD_LARGEST && (c->im->folded += n) > FOLD_ALL)
        return call_refuse(
            err, "what is computed before the run has more than %d elements; make it smaller",
            FOLD_ALL);
    TRY(host_create(c->im->a, t, shape, ret, err));
    call_return_host(c, 0, *ret);
    return OK;
}

status onnx_fold_broadcast(const graph_shape *a, const graph_shape *b, graph_shape *ret, error *err)
{
    graph_shape y = {.rank = a->rank > b->rank ? a->rank : b->rank};
    char left[SHAPE_TEXT], right[SHAPE_TEXT];
    for (int32_t i = 1; i <= y.rank; i++) {
        int64_t m = i <= a->rank ? a->dim[a->rank - i] : 1;
        int64_t n = i <= b->rank ? b->dim[b->rank - i] : 1;
        if (m != n && m != 1 && n != 1)
            return FAIL(err, E_DATA, "%s and %s do not fit each other",
                        graph_shape_text(a, left, sizeof left),
                        graph_shape_text(b, right, sizeof right));
        y.dim[y.rank - i] = m == 1 ? n : m;
    }
    *ret = y;
    return OK;
}

int64_t onnx_fold_stride(const graph_shape *s, int32_t axis)
{
    int64_t n = 1;
    for (int32_t i = axis + 1; i < s->rank; i++)
        n *= s->dim[i];
    return n;
}
