#include "graph/ops/emit.h"

status emit_1(graph *g, graph_op op, graph_val a, const void *attr, graph_val *ret, error *err)
{
    return graph_add_1(g, op, NULL, &a, 1, attr, ret, err);
}

status emit_2(graph *g, graph_op op, graph_val a, graph_val b, const void *attr, graph_val *ret,
              error *err)
{
    return graph_add_1(g, op, NULL, (const graph_val[]){a, b}, 2, attr, ret, err);
}

status emit_number(graph *g, float number, graph_val *ret, error *err)
{
    return graph_const(g, NULL, DT_F32, (graph_shape){.rank = 0}, &number, ret, err);
}

status emit_zero(graph *g, const graph_shape *shape, graph_val *ret, error *err)
{
    return graph_add_1(g, OP_ZERO, NULL, NULL, 0, &(shape_attr){.shape = *shape}, ret, err);
}

status emit_scale(graph *g, graph_val v, float factor, graph_val *ret, error *err)
{
    if (factor == 1.0f) {
        *ret = v;
        return OK;
    }
    graph_val k;
    TRY(emit_number(g, factor, &k, err));
    return emit_2(g, OP_MUL, v, k, NULL, ret, err);
}

status emit_reshape(graph *g, graph_val v, const graph_shape *shape, graph_val *ret, error *err)
{
    if (graph_shape_equal(&graph_value_at(g, v)->shape, shape)) {
        *ret = v;
        return OK;
    }
    return emit_1(g, OP_RESHAPE, v, &(shape_attr){.shape = *shape}, ret, err);
}

status emit_sum_to(graph *g, graph_val v, const graph_shape *shape, graph_val *ret, error *err)
{
    if (graph_shape_equal(&graph_value_at(g, v)->shape, shape)) {
        *ret = v;
        return OK;
    }
    return emit_1(g, OP_SUM_TO, v, &(shape_attr){.shape = *shape}, ret, err);
}

status emit_factor(graph *g, graph_val v, graph_val factor, graph_val *ret, error *err)
{
    if (graph_value_at(g, factor)->dtype == DT_BF16)
        return emit_1(g, OP_TO_BF16, v, NULL, ret, err);
    *ret = v;
    return OK;
}

status emit_factor_again(graph *g, graph_val factor, graph_val *ret, error *err)
{
    const graph_value *v = graph_value_at(g, factor);
    *ret = factor;
    if (v->dtype != DT_BF16 || v->kind != VAL_TEMP)
        return OK;
    const graph_node *made_by = graph_node_at(g, v->def);
    graph_val from = made_by->n_in > 0 ? made_by->in[0] : GRAPH_NONE;
    if (made_by->op == OP_TO_BF16 && graph_value_at(g, from)->kind == VAL_PARAM)
        return emit_1(g, OP_TO_BF16, from, NULL, ret, err);
    return OK;
}

graph_shape emit_shape_of(const graph *g, graph_val v)
{
    return graph_value_at(g, v)->shape;
}
