/* Slice of one axis with step 1; bounds count from the end when negative and are cut to the axis.
 */
#include "graph/ops/emit.h"
#include "graph/ops/rule.h"

#include <inttypes.h>

static int64_t bound(int64_t at, int64_t size)
{
    at = at < 0 ? at + size : at;
    return at < 0 ? 0 : at > size ? size : at;
}

static status infer(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                    error *err)
{
    const graph_shape *x = rule_shape(g, n, 0);
    slice_attr *a = (slice_attr *)n->attr;
    TRY(rule_axis(n, x->rank, &a->axis, err));
    int64_t size = x->dim[a->axis], begin = bound(a->begin, size), end = bound(a->end, size);
    if (begin >= end)
        return rule_fail(n, err,
                         "elements %" PRId64 " to %" PRId64 " of axis %" PRId32
                         " of the input %s are none",
                         a->begin, a->end, a->axis, SHAPE(x));
    a->begin = begin;
    a->end = end;
    ret_shape[0] = *x;
    ret_shape[0].dim[a->axis] = end - begin;
    ret_dtype[0] = rule_type(g, n, 0);
    return OK;
}

/* Zeros where nothing was taken from, around the gradient. */
static status grad(graph *g, int32_t node, const graph_val *dout, const bool *want_din,
                   graph_val *ret_din, error *err)
{
    (void)want_din;
    graph_node n = *graph_node_at(g, node);
    const slice_attr *a = n.attr;
    graph_shape x = emit_shape_of(g, n.in[0]), gap = x;
    graph_val in[3];
    int32_t n_in = 0;
    if (a->begin > 0) {
        gap.dim[a->axis] = a->begin;
        TRY(emit_zero(g, &gap, &in[n_in++], err));
    }
    in[n_in++] = dout[0];
    if (a->end < x.dim[a->axis]) {
        gap.dim[a->axis] = x.dim[a->axis] - a->end;
        TRY(emit_zero(g, &gap, &in[n_in++], err));
    }
    if (n_in == 1) {
        ret_din[0] = dout[0];
        return OK;
    }
    return graph_add_1(g, OP_CONCAT, NULL, in, n_in, &(axis_attr){.axis = a->axis}, &ret_din[0],
                       err);
}

const graph_op_info graph_op_slice = {
    OP_ROW(SLICE), .name = "Slice", .attr_bytes = sizeof(slice_attr), .infer = infer, .grad = grad,
};
