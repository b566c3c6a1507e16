/*
 * Discrete Fourier transforms. A transform along an axis is a product with a matrix of cosines and
 * sines, computed in double when the graph is built; real and imaginary parts are neighbours, so a
 * complex transform of N numbers is a real product with [2N, 2N]. Its factors are never rounded,
 * whatever trainer.precision says: bfloat16 would leave two digits of a spectrum. A product costs
 * N^2 where a fast transform costs N log N, but it is one call of a library, and has a gradient; for
 * windows of sound, up to a few thousand samples, that is small beside the layers around it. What
 * would need a matrix of more than FOLD_LARGEST elements is refused.
 */
#include "common/base/detmath.h"
#include "onnx/fold/fold.h"

#include <inttypes.h>
#include <string.h>

/* n_in numbers (with `complex_in`, pairs) along an axis become n_out (with `complex_out`, pairs). */
typedef struct transform {
    int64_t length; /* N; what the input lacks of it is zero */
    int64_t n_in, n_out;
    bool complex_in, complex_out, inverse;
    bool half_in; /* the first N / 2 + 1 of a spectrum whose others are their conjugates */
} transform;

/* cos and sin of 2 pi k / N for every k: [N] and [N]. */
static double *circle(call *c, int64_t n)
{
    double *of = arena_alloc(c->im->a, (size_t)n * 2 * sizeof *of);
    for (int64_t k = 0; k < n; k++) {
        double turns = 2.0 * (double)k / (double)n;
        of[k] = det_cos_pi(turns);
        of[n + k] = det_cos_pi(turns - 0.5);
    }
    return of;
}

/* How often term k of a half spectrum stands in a whole one. */
static double times(const transform *t, int64_t k)
{
    return !t->half_in || k == 0 || 2 * k == t->length ? 1.0 : 2.0;
}

/* The matrix [n_in * parts, n_out * parts]: (re + i im)(cos - i sin), or with + if inverse. */
static void fill(const transform *t, const double *circle, float *ret)
{
    int64_t parts_in = t->complex_in ? 2 : 1, parts_out = t->complex_out ? 2 : 1;
    double scale = t->inverse ? 1.0 / (double)t->length : 1.0;
    for (int64_t i = 0; i < t->n_in; i++)
        for (int64_t k = 0; k < t->n_out; k++) {
            int64_t at = (int64_t)((uint64_t)i * (uint64_t)k % (uint64_t)t->length);
            double by = scale * times(t, i);
            double re = by * circle[at];
            double im = by * circle[t->length + at] * (t->inverse ? 1.0 : -1.0);
            float *cell = ret + i * parts_in * t->n_out * parts_out + k * parts_out;
            cell[0] = (float)re;
            if (t->complex_out)
                cell[1] = (float)im;
            if (!t->complex_in)
                continue;
            cell += t->n_out * parts_out;
            cell[0] = (float)-im;
            if (t->complex_out)
                cell[1] = (float)re;
        }
}

static status matrix(call *c, const transform *t, graph_val *ret, error *err)
{
    graph_shape s = {2, {t->n_in * (t->complex_in ? 2 : 1), t->n_out * (t->complex_out ? 2 : 1)}};
    if (onnx_fold_elements(&s) > FOLD_LARGEST)
        return call_refuse(err,
                           "a transform of length %" PRId64 " is a product with %" PRId64
                           " x %" PRId64 " numbers here, more than %d; make it shorter",
                           t->length, s.dim[0], s.dim[1], FOLD_LARGEST);
    host_tensor *h;
    TRY(host_create(c->im->a, DT_F32, &s, &h, err));
    fill(t, circle(c, t->length), h->data);
    return graph_const(c->im->g, NULL, DT_F32, s, h->data, ret, err);
}

/* x [..., n_in, parts] or [..., n_in * parts] -> [..., n_out, parts]. `shape`: of the result. */
static status multiply(call *c, graph_val x, const transform *t, const graph_shape *shape,
                       graph_val *ret, error *err)
{
    graph_shape all = call_shape_of(c, x);
    int64_t width = t->n_in * (t->complex_in ? 2 : 1);
    graph_shape rows = {2, {width ? graph_shape_elements(&all) / width : 0, width}};
    graph_val in[2];
    TRY(call_emit(c, OP_RESHAPE, &x, 1, &(shape_attr){.shape = rows}, &in[0], err));
    TRY(matrix(c, t, &in[1], err));
    TRY(call_emit(c, OP_MATMUL, in, 2, &(matmul_attr){.exact = true}, &x, err));
    return call_emit(c, OP_RESHAPE, &x, 1, &(shape_attr){.shape = *shape}, ret, err);
}

/* Exchanges two axes. */
static status exchange(call *c, graph_val *v, int32_t a, int32_t b, error *err)
{
    transpose_attr order;
    memset(&order, 0, sizeof order);
    for (int32_t i = 0; i < GRAPH_RANK; i++)
        order.perm[i] = i == a ? b : i == b ? a : i;
    return a == b ? OK : call_emit(c, OP_TRANSPOSE, v, 1, &order, v, err);
}

/* --- DFT --- */

/* Length and axis, which was an attribute before opset 20. */
static status read_axis(call *c, const graph_shape *x, int32_t *ret, error *err)
{
    double axis = c->version < 20 ? (double)call_int(c, "axis") : -2.0;
    if (c->version >= 20)
        TRY(call_known_number(c, 2, axis, &axis, err));
    if (!(axis >= -x->rank && axis < x->rank))
        return FAIL(err, E_DATA, "axis %g is none of the %" PRId32 " of its input", axis, x->rank);
    *ret = (int32_t)axis + (axis < 0 ? x->rank : 0);
    if (*ret == x->rank - 1)
        return FAIL(err, E_DATA, "it transforms the last axis, which holds real and imaginary parts");
    return OK;
}

static status read_transform(call *c, const graph_shape *x, int32_t axis, transform *ret,
                             error *err)
{
    bool one_sided = call_int(c, "onesided") != 0;
    transform t = {.complex_in = x->dim[x->rank - 1] == 2,
                   .inverse = call_int(c, "inverse") != 0};
    double length;
    t.half_in = one_sided && t.inverse;
    t.complex_out = !t.half_in;
    int64_t has = x->dim[axis], whole = t.half_in ? 2 * (has - 1) : has;
    TRY(call_known_number(c, 1, (double)whole, &length, err));
    if (!(length >= 1 && length <= INT32_MAX))
        return FAIL(err, E_DATA, "its length is %g", length);
    t.length = (int64_t)length;
    if (one_sided && t.complex_in != t.inverse)
        return FAIL(err, E_DATA, "a one-sided transform is of %s numbers",
                    t.inverse ? "complex" : "real");
    int64_t wanted = t.half_in ? t.length / 2 + 1 : t.length;
    t.n_in = has < wanted ? has : wanted;
    t.n_out = one_sided && !t.inverse ? t.length / 2 + 1 : t.length;
    *ret = t;
    return OK;
}

status onnx_op_dft(call *c, error *err)
{
    graph_val x;
    int32_t axis = 0;
    transform t = {.length = 0};
    TRY(call_value(c, 0, &x, err));
    graph_shape s = call_shape_of(c, x);
    int32_t last = s.rank - 1;
    if (s.rank < 2 || s.dim[last] < 1 || s.dim[last] > 2)
        return FAIL(err, E_DATA, "the last axis of its input must be 1 or 2 long: real, complex");
    TRY(read_axis(c, &s, &axis, err));
    TRY(read_transform(c, &s, axis, &t, err));
    if (t.n_in < s.dim[axis])
        TRY(call_emit(c, OP_SLICE, &x, 1,
                      &(slice_attr){.n_axes = 1, .axes = {axis}, .end = {t.n_in}, .step = {1}}, &x,
                      err));
    TRY(exchange(c, &x, axis, last - 1, err));
    graph_shape y = call_shape_of(c, x);
    y.dim[last - 1] = t.n_out;
    y.dim[last] = t.complex_out ? 2 : 1;
    TRY(multiply(c, x, &t, &y, &x, err));
    TRY(exchange(c, &x, axis, last - 1, err));
    call_return(c, 0, x);
    return OK;
}

/* --- STFT --- */

typedef struct frames {
    int64_t length, step, n; /* samples of a frame, from one to the next, and frames */
} frames;

static status read_frames(call *c, const graph_shape *signal, frames *ret, error *err)
{
    graph_shape window = {.rank = 0};
    dtype type;
    double step, length;
    TRY(call_known_number(c, 1, 0.0, &step, err));
    if (call_has(c, 2))
        TRY(call_describe(c, 2, &window, &type, err));
    double otherwise = window.rank == 1 ? (double)window.dim[0] : 0.0;
    TRY(call_known_number(c, 3, otherwise, &length, err));
    if (!(step >= 1 && length >= 1 && length <= (double)signal->dim[1]))
        return FAIL(err, E_DATA, "its frames of %g samples, a step of %g apart, do not fit %" PRId64,
                    length, step, signal->dim[1]);
    if (call_has(c, 2) && (window.rank != 1 || window.dim[0] != (int64_t)length))
        return FAIL(err, E_DATA, "its window is not as long as a frame, %g", length);
    *ret = (frames){.length = (int64_t)length, .step = (int64_t)step};
    ret->n = 1 + (signal->dim[1] - ret->length) / ret->step;
    return OK;
}

/* [batch, samples, parts] -> [batch, n, length, parts] */
static status cut_frames(call *c, const frames *f, graph_val *v, error *err)
{
    host_tensor *positions;
    graph_val in[2] = {*v, GRAPH_NONE};
    TRY(host_create(c->im->a, DT_I64, &(graph_shape){2, {f->n, f->length}}, &positions, err));
    for (int64_t i = 0; i < positions->n; i++)
        host_set_int(positions, i, i / f->length * f->step + i % f->length);
    TRY(graph_const(c->im->g, NULL, DT_I64, positions->shape, positions->data, &in[1], err));
    return call_emit(c, OP_GATHER, in, 2, &(gather_attr){.axis = 1}, v, err);
}

static status apply_window(call *c, const frames *f, graph_val *v, error *err)
{
    graph_val in[2] = {*v, GRAPH_NONE};
    graph_shape column = {2, {f->length, 1}};
    if (!call_has(c, 2))
        return OK;
    TRY(call_value(c, 2, &in[1], err));
    TRY(call_emit(c, OP_RESHAPE, &in[1], 1, &(shape_attr){.shape = column}, &in[1], err));
    return call_emit(c, OP_MUL, in, 2, NULL, v, err);
}

/* [batch, samples, 1 or 2], or real [batch, samples] -> [batch, frames, spectrum, 2] */
status onnx_op_stft(call *c, error *err)
{
    graph_val x;
    frames f = {.length = 0};
    TRY(call_value(c, 0, &x, err));
    graph_shape s = call_shape_of(c, x);
    if (s.rank == 2) {
        s.dim[s.rank++] = 1;
        TRY(call_emit(c, OP_RESHAPE, &x, 1, &(shape_attr){.shape = s}, &x, err));
    }
    if (s.rank != 3 || s.dim[2] < 1 || s.dim[2] > 2)
        return FAIL(err, E_DATA, "its signal must be [batch, samples, 1 or 2]");
    TRY(read_frames(c, &s, &f, err));
    bool one_sided = call_int(c, "onesided") != 0;
    transform t = {.length = f.length,
                   .n_in = f.length,
                   .n_out = one_sided ? f.length / 2 + 1 : f.length,
                   .complex_in = s.dim[2] == 2,
                   .complex_out = true};
    if (one_sided && t.complex_in)
        return FAIL(err, E_DATA, "a one-sided transform is of real numbers");
    TRY(cut_frames(c, &f, &x, err));
    TRY(apply_window(c, &f, &x, err));
    graph_shape y = {4, {s.dim[0], f.n, t.n_out, 2}};
    TRY(multiply(c, x, &t, &y, &x, err));
    call_return(c, 0, x);
    return OK;
}
