/* Folds of operators that make tensors: constants, shapes, ranges, masks, windows. */
#include "common/base/detmath.h"
#include "onnx/fold/fold.h"

#include <inttypes.h>

/* A TensorProto in an attribute. */
static status take_tensor(call *c, const Onnx__AttributeProto *a, host_tensor **ret, error *err)
{
    if (!a->t)
        return FAIL(err, E_DATA, "its attribute '%s' holds no tensor", a->name);
    return host_read(c->im->m, a->t, c->im->a, ret, err);
}

static status constant_number(call *c, const Onnx__AttributeProto *a, dtype t, int64_t n,
                              bool scalar, host_tensor **ret, error *err)
{
    graph_shape shape = {.rank = scalar ? 0 : 1, .dim = {n}};
    TRY(host_create(c->im->a, t, &shape, ret, err));
    for (int64_t i = 0; i < n; i++) {
        if (t == DT_I64)
            host_set_int(*ret, i, scalar ? a->i : a->ints[i]);
        else
            host_set(*ret, i, (double)(scalar ? a->f : a->floats[i]));
    }
    return OK;
}

status onnx_op_constant(call *c, error *err)
{
    const Onnx__AttributeProto *a;
    host_tensor *h = NULL;
    if ((a = call_attribute(c, "value")))
        TRY(take_tensor(c, a, &h, err));
    else if ((a = call_attribute(c, "value_int")))
        TRY(constant_number(c, a, DT_I64, 1, true, &h, err));
    else if ((a = call_attribute(c, "value_ints")))
        TRY(constant_number(c, a, DT_I64, (int64_t)a->n_ints, false, &h, err));
    else if ((a = call_attribute(c, "value_float")))
        TRY(constant_number(c, a, DT_F32, 1, true, &h, err));
    else if ((a = call_attribute(c, "value_floats")))
        TRY(constant_number(c, a, DT_F32, (int64_t)a->n_floats, false, &h, err));
    else
        return call_refuse(err, "its value is of a kind that is not supported");
    call_return_host(c, 0, h);
    return OK;
}

/* Shapes are static: Shape and Size are known whatever they read. */
status onnx_op_shape(call *c, error *err)
{
    graph_shape shape;
    dtype t;
    TRY(call_describe(c, 0, &shape, &t, err));
    int64_t begin = call_int(c, "start"), end = call_int_or(c, "end", shape.rank);
    begin = begin < 0 ? begin + shape.rank : begin;
    end = end < 0 ? end + shape.rank : end;
    begin = begin < 0 ? 0 : begin > shape.rank ? shape.rank : begin;
    end = end > shape.rank ? shape.rank : end < begin ? begin : end;
    call_return_host(c, 0, host_ints(c->im->a, end - begin, shape.dim + begin));
    return OK;
}

status onnx_op_size(call *c, error *err)
{
    graph_shape shape;
    dtype t;
    TRY(call_describe(c, 0, &shape, &t, err));
    call_return_host(c, 0, host_int(c->im->a, onnx_fold_elements(&shape)));
    return OK;
}

static status known_shape(call *c, int32_t i, graph_shape *ret, error *err)
{
    graph_shape s = {.rank = 0};
    TRY(call_known_ints(c, i, s.dim, GRAPH_RANK, &s.rank, err));
    s.rank = s.rank < 0 ? 0 : s.rank;
    *ret = s;
    return OK;
}

status onnx_fold_constant_of_shape(call *c, error *err)
{
    graph_shape shape;
    host_tensor *value = NULL, *y;
    const Onnx__AttributeProto *a = call_attribute(c, "value");
    TRY(known_shape(c, 0, &shape, err));
    if (a)
        TRY(take_tensor(c, a, &value, err));
    if (value && value->n != 1)
        return FAIL(err, E_DATA, "its value must be one number, not %" PRId64, value->n);
    TRY(onnx_fold_only_result(c, value ? value->dtype : DT_F32, &shape, &y, err));
    for (int64_t i = 0; value && i < y->n; i++)
        host_copy(y, i, value, 0);
    call_type(c, 0, value ? value->element : ONNX_FLOAT32);
    return OK;
}

status onnx_fold_range(call *c, error *err)
{
    const host_tensor *in[3];
    host_tensor *y;
    for (int32_t i = 0; i < 3; i++)
        TRY(onnx_fold_input(c, i, &in[i], err));
    if (in[0]->n != 1 || in[1]->n != 1 || in[2]->n != 1)
        return FAIL(err, E_DATA, "start, limit and step must be one number each");
    double start = host_get(in[0], 0), limit = host_get(in[1], 0), step = host_get(in[2], 0);
    if (step == 0.0)
        return FAIL(err, E_DATA, "its step is 0");
    double places = (limit - start) / step;
    if (!(places < FOLD_LARGEST))
        return call_refuse(err, "it makes more than %d numbers", FOLD_LARGEST);
    int64_t n = places > 0 ? (int64_t)places : 0;
    n += (double)n < places;
    TRY(onnx_fold_only_result(c, in[0]->dtype, &(graph_shape){.rank = 1, .dim = {n}}, &y, err));
    for (int64_t i = 0; i < n; i++) {
        if (host_is_float(y))
            host_set(y, i, start + (double)i * step);
        else
            host_set_int(y, i, host_get_int(in[0], 0) + i * host_get_int(in[2], 0));
    }
    return OK;
}

/* Ones along a diagonal, in the shape of the input and, if nothing else is said, of its type. */
status onnx_op_eye_like(call *c, error *err)
{
    graph_shape shape;
    dtype t;
    host_tensor *y;
    TRY(call_describe(c, 0, &shape, &t, err));
    int64_t k = call_int(c, "k");
    int32_t type = call_int32_or(c, "dtype", 0);
    if (type && !host_dtype_of_onnx(type, &t))
        return call_refuse(err, "it makes %s", host_onnx_type_name(type));
    if (shape.rank != 2)
        return FAIL(err, E_DATA, "its input has %" PRId32 " axes, must have 2", shape.rank);
    TRY(onnx_fold_only_result(c, t, &shape, &y, err));
    int64_t rows = shape.dim[0], columns = shape.dim[1];
    for (int64_t i = 0; i < rows && k > -rows && k < columns; i++)
        if (i + k >= 0 && i + k < columns)
            host_set(y, i * columns + i + k, 1.0);
    call_type(c, 0, type ? type : call_element(c, 0)->onnx);
    return OK;
}

/* share[0] - share[1] cos(2 pi i / n) + share[2] cos(4 pi i / n), where n is the size, or one less
 * for a window that is not to be repeated. */
static status window(call *c, const double share[3], error *err)
{
    double size;
    dtype t = DT_F32;
    host_tensor *y;
    int32_t type = call_int32(c, "output_datatype");
    TRY(call_known_number(c, 0, -1.0, &size, err));
    if (!(size >= 0.0 && size <= FOLD_MOST))
        return FAIL(err, E_DATA, "its size is %g, must be within 0 .. %d", size, FOLD_MOST);
    if (!host_dtype_of_onnx(type, &t))
        return call_refuse(err, "it makes %s", host_onnx_type_name(type));
    double n = call_int(c, "periodic") ? size : size - 1.0;
    TRY(onnx_fold_only_result(c, t, &(graph_shape){.rank = 1, .dim = {(int64_t)size}}, &y, err));
    for (int64_t i = 0; i < y->n; i++) {
        double turn = n > 0.0 ? 2.0 * (double)i / n : 0.0;
        host_set(y, i, share[0] - share[1] * det_cos_pi(turn) + share[2] * det_cos_pi(2.0 * turn));
    }
    call_type(c, 0, type);
    return OK;
}

status onnx_fold_hann_window(call *c, error *err)
{
    return window(c, (const double[]){0.5, 0.5, 0.0}, err);
}

status onnx_fold_hamming_window(call *c, error *err)
{
    return window(c, (const double[]){25.0 / 46.0, 21.0 / 46.0, 0.0}, err);
}

status onnx_fold_blackman_window(call *c, error *err)
{
    return window(c, (const double[]){0.42, 0.5, 0.08}, err);
}

static bool is_zero(const host_tensor *t, int64_t i)
{
    return host_is_float(t) ? host_get(t, i) == 0.0 : host_get_int(t, i) == 0;
}

/* [rank, how many]: the places of what is not zero, in order. */
status onnx_fold_non_zero(call *c, error *err)
{
    const host_tensor *x;
    host_tensor *y;
    int64_t n = 0;
    TRY(onnx_fold_input(c, 0, &x, err));
    for (int64_t i = 0; i < x->n; i++)
        n += !is_zero(x, i);
    graph_shape places = {.rank = 2, .dim = {x->shape.rank, n}};
    TRY(onnx_fold_only_result(c, DT_I64, &places, &y, err));
    for (int64_t i = 0, at = 0; i < x->n; i++) {
        if (is_zero(x, i))
            continue;
        for (int32_t axis = 0; axis < x->shape.rank; axis++)
            host_set_int(y, axis * n + at,
                         i / onnx_fold_stride(&x->shape, axis) % x->shape.dim[axis]);
        at++;
    }
    return OK;
}

status onnx_fold_trilu(call *c, error *err)
{
    const host_tensor *x;
    host_tensor *y;
    double k;
    TRY(onnx_fold_input(c, 0, &x, err));
    TRY(call_known_number(c, 1, 0.0, &k, err));
    if (x->shape.rank < 2)
        return FAIL(err, E_DATA, "its input has fewer than 2 axes");
    bool upper = call_int(c, "upper") != 0;
    int64_t columns = x->shape.dim[x->shape.rank - 1], rows = x->shape.dim[x->shape.rank - 2];
    TRY(onnx_fold_result(c, x->dtype, &x->shape, &y, err));
    for (int64_t i = 0; y && i < y->n; i++) {
        int64_t right = i % columns - i / columns % rows; /* of the diagonal */
        if (upper ? (double)right >= k : (double)right <= k)
            host_copy(y, i, x, i);
    }
    return OK;
}

/* Products along an axis, from one end or the other; the first is 1 if each leaves out its own. */
status onnx_fold_cum_prod(call *c, error *err)
{
    const host_tensor *x, *given;
    host_tensor *y;
    int32_t axis;
    TRY(onnx_fold_input(c, 0, &x, err));
    TRY(onnx_fold_input(c, 1, &given, err));
    if (given->n != 1)
        return FAIL(err, E_DATA, "its axis must be one number");
    TRY(call_axis(host_get_int(given, 0), x->shape.rank, &axis, err));
    bool exclusive = call_int(c, "exclusive") != 0, reverse = call_int(c, "reverse") != 0;
    int64_t stride = onnx_fold_stride(&x->shape, axis), size = x->shape.dim[axis];
    int64_t back = reverse ? stride : -stride;
    TRY(onnx_fold_only_result(c, x->dtype, &x->shape, &y, err));
    for (int64_t k = 0; k < y->n; k++) {
        int64_t i = reverse ? y->n - 1 - k : k, place = i / stride % size;
        bool first = place == (reverse ? size - 1 : 0);
        int64_t factor = exclusive ? i + back : i;
        if (first && exclusive)
            host_set_int(y, i, 1);
        else if (first)
            host_copy(y, i, x, i);
        else if (host_is_float(x))
            host_set(y, i, host_get(y, i + back) * host_get(x, factor));
        else
            host_set_int(y, i, (int64_t)((uint64_t)host_get_int(y, i + back) *
                                         (uint64_t)host_get_int(x, factor)));
    }
    return OK;
}

status onnx_fold_cum_sum(call *c, error *err)
{
    const host_tensor *x;
    host_tensor *y;
    double given;
    int32_t axis;
    TRY(onnx_fold_input(c, 0, &x, err));
    TRY(call_known_number(c, 1, 0.0, &given, err));
    TRY(call_axis((int64_t)given, x->shape.rank, &axis, err));
    if (host_is_float(x) || call_int(c, "exclusive") || call_int(c, "reverse"))
        return OK;
    int64_t stride = onnx_fold_stride(&x->shape, axis), size = x->shape.dim[axis];
    TRY(onnx_fold_result(c, x->dtype, &x->shape, &y, err));
    for (int64_t i = 0; y && i < y->n; i++) {
        bool first = i / stride % size == 0;
        uint64_t before = first ? 0 : (uint64_t)host_get_int(y, i - stride);
        host_set_int(y, i, (int64_t)(before + (uint64_t)host_get_int(x, i)));
    }
    return OK;
}
