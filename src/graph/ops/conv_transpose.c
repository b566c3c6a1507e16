/*
 * ConvTranspose: what CONV_BWD_DATA computes, with a bias. So its own gradient is a Conv of dy (for
 * x) and CONV_BWD_WEIGHTS with the roles of x and dy exchanged.
 */
#include "graph/ops/conv_shape.h"
#include "graph/ops/emit.h"

#include <inttypes.h>
#include <string.h>

static const attr_field fields[] = {
    CONV_FIELDS,
    ATTR_FIELD(conv_attr, output_padding, "output_padding", ATTR_SIZES, 0),
    ATTR_FIELD(conv_attr, output_shape, "output_shape", ATTR_SIZES, 0),
    {0},
};

/* Size and pads of one axis of y, from those of x. */
static status stretch(const graph_node *n, int32_t i, int32_t spatial, int64_t size, int64_t kernel,
                      int64_t *ret, error *err)
{
    conv_attr *a = (conv_attr *)n->attr;
    const int64_t limit = INT32_MAX;
    int64_t stride = a->strides[i], dilation = a->dilations[i], extra = a->output_padding[i];
    if (stride < 1 || stride > limit || dilation < 1 || dilation > limit || kernel < 1 ||
        kernel > limit || size < 1 || size > limit)
        return rule_fail(n, err,
                         "size %" PRId64 ", kernel size %" PRId64 ", stride %" PRId64
                         " and dilation %" PRId64 " of spatial axis %" PRId32 " must be positive",
                         size, kernel, stride, dilation, i);
    if (extra < 0 || (extra >= stride && extra >= dilation))
        return rule_fail(n, err,
                         "output_padding %" PRId64 " of spatial axis %" PRId32
                         " must be smaller than its stride or dilation",
                         extra, i);
    int64_t reach = stride * (size - 1) + dilation * (kernel - 1) + 1 + extra;
    int64_t wanted = a->output_shape[i];
    if (wanted == 0 && (a->auto_pad == PAD_SAME_UPPER || a->auto_pad == PAD_SAME_LOWER)) {
        wanted = size * stride;
        if (reach < wanted) /* ONNX does not say where the zeros go that lack */
            return rule_fail(n, err,
                             "windows of spatial axis %" PRId32 " reach %" PRId64
                             " positions, too few for the size %" PRId64
                             " that auto_pad asks for; use pads and output_padding",
                             i, reach, wanted);
    }
    if (wanted) {
        int64_t total = reach > wanted ? reach - wanted : 0;
        int64_t half = total / 2;
        a->pads[i] = a->auto_pad == PAD_SAME_UPPER ? half : total - half;
        a->pads[spatial + i] = total - a->pads[i];
    } else {
        if (a->auto_pad == PAD_VALID)
            a->pads[i] = a->pads[spatial + i] = 0;
        wanted = reach - a->pads[i] - a->pads[spatial + i];
    }
    if (a->pads[i] < 0 || a->pads[spatial + i] < 0 || wanted < 1)
        return rule_fail(n, err,
                         "spatial axis %" PRId32 " would have the size %" PRId64
                         " with pads %" PRId64 " and %" PRId64,
                         i, wanted, a->pads[i], a->pads[spatial + i]);
    *ret = wanted;
    return OK;
}

/* The pads say what auto_pad and output_shape do, unless an axis is longer than windows reach. */
static void say_by_pads(conv_attr *a, const graph_shape *x, const graph_shape *w,
                        const graph_shape *y)
{
    for (int32_t i = 0; i < x->rank - 2; i++) {
        int64_t reach = a->strides[i] * (x->dim[2 + i] - 1) +
                        a->dilations[i] * (w->dim[2 + i] - 1) + 1 + a->output_padding[i];
        if (reach < y->dim[2 + i])
            return;
    }
    memset(a->output_shape, 0, sizeof a->output_shape);
    a->auto_pad = PAD_GIVEN;
}

static status infer(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                    error *err)
{
    const graph_shape *x = rule_shape(g, n, 0), *w = rule_shape(g, n, 1);
    conv_attr *a = (conv_attr *)n->attr;
    TRY(conv_type(g, n, &ret_dtype[0], err));
    TRY(conv_check_weights(n, x, w, err));
    if (w->dim[0] != x->dim[1])
        return rule_fail(n, err,
                         "the input %s has %" PRId64 " channels but the weights %s expect %" PRId64,
                         SHAPE(x), x->dim[1], SHAPE(w), w->dim[0]);
    graph_shape y = {.rank = x->rank, .dim = {x->dim[0]}};
    if (__builtin_mul_overflow(w->dim[1], a->group, &y.dim[1]))
        return rule_fail(n, err, "the weights %s have too many maps", SHAPE(w));
    for (int32_t i = 0; i < x->rank - 2; i++)
        TRY(stretch(n, i, x->rank - 2, x->dim[2 + i], w->dim[2 + i], &y.dim[2 + i], err));
    say_by_pads(a, x, w, &y);
    if (rule_has(n, 2)) {
        TRY(rule_type_is(g, n, 2, ret_dtype[0], err));
        TRY(rule_expect(g, n, 2, "the bias", &(graph_shape){.rank = 1, .dim = {y.dim[1]}}, err));
    }
    ret_shape[0] = y;
    return OK;
}

static status grad(const graph_gradient *d, error *err)
{
    conv_attr a = *(const conv_attr *)d->n.attr;
    a.w = emit_shape_of(d->g, d->n.in[1]);
    a.auto_pad = PAD_GIVEN;
    graph_shape x = emit_shape_of(d->g, d->n.in[0]), y = emit_shape_of(d->g, d->dy[0]);
    for (int32_t i = 0; i < x.rank - 2; i++) {
        int64_t reach = a.dilations[i] * (a.w.dim[2 + i] - 1) + 1;
        int64_t span = y.dim[2 + i] + a.pads[i] + a.pads[x.rank - 2 + i] - reach;
        if (span / a.strides[i] + 1 != x.dim[2 + i])
            return FAIL(err, E_UNSUPPORTED,
                        "no gradient where the output reaches a stride or more behind the last "
                        "window");
    }
    graph_val dy;
    TRY(emit_factor(d->g, d->dy[0], d->n.in[0], &dy, err));
    if (d->wants[0])
        TRY(emit_2(d->g, OP_CONV, dy, d->n.in[1], &a, &d->dx[0], err));
    if (d->wants[1])
        TRY(emit_2(d->g, OP_CONV_BWD_WEIGHTS, dy, d->n.in[0], &a, &d->dx[1], err));
    if (d->wants[2])
        TRY(conv_bias_grad(d->g, d->dy[0], &d->dx[2], err));
    return OK;
}

static double flops(const graph *g, const graph_node *n)
{
    return conv_flops(g, n->in[0], rule_shape(g, n, 1));
}

GRAPH_OP(CONV_TRANSPOSE, conv_transpose, "ConvTranspose", ATTRIBUTES(conv_attr, fields),
         .infer = infer, .grad = grad, .flops = flops);
