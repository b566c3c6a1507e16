/*
 * GridSample: x [N,C,spatial...] read at the positions that the grid [N,places...,D] names, -1 .. 1
 * along each of the D = 2 or 3 spatial axes, the last axis first.
 */
#include "graph/ops/emit.h"
#include "graph/ops/rule.h"

#include <inttypes.h>

static const attr_field fields[] = {
    ATTR_CHOICE(grid_attr, mode, "mode", "linear|bilinear nearest cubic|bicubic", GRID_LINEAR),
    ATTR_CHOICE(grid_attr, padding, "padding_mode", "zeros border reflection", GRID_ZEROS),
    ATTR_FIELD(grid_attr, align_corners, "align_corners", ATTR_BOOL, 0),
    ATTR_MORE,
};

static status sampled(const graph_node *n, const graph_shape *x, const graph_shape *grid,
                      graph_shape *ret, error *err)
{
    int32_t axes = x->rank - 2;
    if (axes < 2 || axes > SPATIAL || grid->rank != x->rank || grid->dim[grid->rank - 1] != axes ||
        grid->dim[0] != x->dim[0])
        return rule_fail(n, err,
                         "the grid %s must name positions of 2 or 3 spatial axes of the input %s, "
                         "example by example",
                         SHAPE(grid), SHAPE(x));
    *ret = *x;
    for (int32_t i = 0; i < axes; i++) {
        ret->dim[2 + i] = grid->dim[1 + i];
        if (x->dim[2 + i] == 0)
            return rule_fail(n, err, "the planes of the input %s have no elements", SHAPE(x));
    }
    return OK;
}

static status infer(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                    error *err)
{
    TRY(rule_float(g, n, 0, err));
    TRY(rule_same_type(g, n, 0, 1, err));
    ret_dtype[0] = rule_type(g, n, 0);
    return sampled(n, rule_shape(g, n, 0), rule_shape(g, n, 1), &ret_shape[0], err);
}

GRAPH_OP(GRID_SAMPLE, grid_sample, "GridSample", ATTRIBUTES(grid_attr, fields), .infer = infer,
         BACKWARD(GRID_SAMPLE_BWD, DY(0), X(0), X(1)));

static status infer_bwd(const graph *g, const graph_node *n, graph_shape *ret_shape,
                        dtype *ret_dtype, error *err)
{
    graph_shape y;
    TRY(rule_float(g, n, 0, err));
    TRY(sampled(n, rule_shape(g, n, 1), rule_shape(g, n, 2), &y, err));
    TRY(rule_expect(g, n, 0, "the gradient", &y, err));
    for (int32_t i = 0; i < 2; i++) {
        ret_shape[i] = *rule_shape(g, n, 1 + i);
        ret_dtype[i] = rule_type(g, n, 1 + i);
    }
    return OK;
}

GRAPH_OP(GRID_SAMPLE_BWD, grid_sample_bwd, "GridSampleBwd", ATTRIBUTES(grid_attr, fields),
         .infer = infer_bwd);
