#include "graph/ops/conv_shape.h"

#include "graph/ops/emit.h"

#include <inttypes.h>

status conv_type(const graph *g, const graph_node *n, dtype *ret, error *err)
{
    if (!dtype_is_half(rule_type(g, n, 0)) || rule_type(g, n, 1) != DT_F32)
        return rule_matmul(g, n, 0, 1, ret, err);
    *ret = DT_F32;
    return OK;
}

status conv_check_weights(const graph_node *n, const graph_shape *x, const graph_shape *w,
                          error *err)
{
    conv_attr *a = (conv_attr *)n->attr;
    int32_t spatial = x->rank - 2;
    if (spatial < 1 || spatial > SPATIAL)
        return rule_fail(n, err, "the input %s must be [batch,channels] and 1 to 3 spatial axes",
                         SHAPE(x));
    if (w->rank != x->rank)
        return rule_fail(n, err, "the weights %s must have as many axes as the input %s", SHAPE(w),
                         SHAPE(x));
    if (graph_shape_elements(w) == 0)
        return rule_fail(n, err, "the weights %s have no elements", SHAPE(w));
    if (a->group < 1 || w->dim[0] % a->group != 0)
        return rule_fail(n, err, "the weights %s cannot be dealt to %" PRId64 " groups", SHAPE(w),
                         a->group);
    for (int32_t i = 0; i < spatial; i++) {
        if (a->kernel[i] != 0 && a->kernel[i] != w->dim[2 + i])
            return rule_fail(n, err,
                             "kernel_shape is %" PRId64 " along spatial axis %" PRId32
                             ", of the weights %s it is %" PRId64,
                             a->kernel[i], i, SHAPE(w), w->dim[2 + i]);
        a->kernel[i] = w->dim[2 + i];
    }
    return OK;
}

status conv_shape(const graph_node *n, const graph_shape *x, const graph_shape *w, conv_attr *a,
                  graph_shape *ret, error *err)
{
    int32_t spatial = x->rank - 2;
    TRY(conv_check_weights(n, x, w, err));
    int64_t expected;
    if (__builtin_mul_overflow(w->dim[1], a->group, &expected) || expected != x->dim[1])
        return rule_fail(n, err,
                         "the input %s has %" PRId64 " channel%s but the weights %s expect "
                         "%" PRId64 "%s",
                         SHAPE(x), x->dim[1], x->dim[1] == 1 ? "" : "s", SHAPE(w), expected,
                         a->group > 1 ? " in all groups" : "");
    graph_shape y = {.rank = x->rank, .dim = {x->dim[0], w->dim[0]}};
    for (int32_t i = 0; i < spatial; i++) {
        rule_window window = {.size = x->dim[2 + i],
                              .kernel = w->dim[2 + i],
                              .stride = a->strides[i],
                              .dilation = a->dilations[i],
                              .begin = a->pads[i],
                              .end = a->pads[spatial + i]};
        rule_auto_pad(a->auto_pad, &window);
        a->pads[i] = window.begin;
        a->pads[spatial + i] = window.end;
        TRY(rule_slide(n, i, &window, &y.dim[2 + i], err));
    }
    a->auto_pad = PAD_GIVEN;
    *ret = y;
    return OK;
}

double conv_flops(const graph *g, graph_val y, const graph_shape *w)
{
    double taps = (double)graph_shape_elements(w) / (double)w->dim[0];
    return 2.0 * (double)graph_shape_elements(&graph_value_at(g, y)->shape) * taps;
}

status conv_bias_grad(graph *g, graph_val dy, graph_val *ret, error *err)
{
    graph_shape s = emit_shape_of(g, dy);
    reduce_attr a = {.drop_dims = true};
    for (int32_t i = 0; i < s.rank; i++) {
        if (i != 1)
            a.axes[a.n_axes++] = i;
    }
    return emit_1(g, OP_REDUCE_SUM, dy, &a, ret, err);
}
