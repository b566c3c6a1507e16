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

status emit_3(graph *g, graph_op op, graph_val a, graph_val b, graph_val c, const void *attr,
              graph_val *ret, error *err)
{
    return graph_add_1(g, op, NULL, (const graph_val[]){a, b, c}, 3, attr, ret, err);
}

status emit_gradients(const graph_gradient *d, graph_op op, const graph_val *in, int32_t n_in,
                      error *err)
{
    graph_val out[RECURRENT_IN];
    int32_t n_out = graph_op_of(op)->n_out;
    BUG_ON(n_out > RECURRENT_IN);
    TRY(graph_add(d->g, op, NULL, in, n_in, d->n.attr, out, err));
    for (int32_t i = 0; i < n_out && i < graph_node_slots(&d->n); i++)
        if (d->wants[i])
            d->dx[i] = out[i];
    return OK;
}

static graph_val operand(const graph_gradient *d, uint8_t o)
{
    int32_t i = o & 0x3f;
    if ((o & 0xc0) == X(0))
        return i < graph_node_slots(&d->n) ? d->n.in[i] : GRAPH_NONE;
    return (o & 0xc0) == Y(0) ? d->n.out[i] : d->dy[i];
}

status emit_backward(const graph_gradient *d, error *err)
{
    const graph_op_info *info = graph_op_of(d->n.op);
    graph_val in[GRAPH_BWD_READS];
    uint64_t flows = 0;
    int32_t n = 0;
    for (; info->bwd.reads[n]; n++) {
        in[n] = operand(d, info->bwd.reads[n]);
        flows |= (info->bwd.reads[n] & 0xc0) == DY(0) ? 1u << (info->bwd.reads[n] & 0x3f) : 0;
    }
    for (int32_t i = 0; i < d->n.n_out; i++)
        if (d->dy[i] != GRAPH_NONE && !(flows >> i & 1))
            return FAIL(err, E_UNSUPPORTED, "no gradient through its output '%s'",
                        graph_value_at(d->g, d->n.out[i])->name);
    return emit_gradients(d, info->bwd.op, in, n, err);
}

/* What products read of v, if that is a rounded copy; otherwise v. */
static graph_val rounded_copy(const graph *g, graph_val v)
{
    for (int32_t i = graph_value_at(g, v)->def + 1; i < graph_n_nodes(g); i++) {
        const graph_node *n = graph_node_at(g, i);
        if (n->op == OP_TO_HALF && n->in[0] == v)
            return n->out[0];
    }
    return v;
}

status emit_by_sign(const graph_gradient *d, error *err)
{
    graph_val kept = rounded_copy(d->g, d->n.out[0]);
    return emit_2(d->g, graph_op_of(d->n.op)->bwd.op, d->dy[0], kept, d->n.attr, &d->dx[0], err);
}

status emit_same(const graph_gradient *d, error *err)
{
    (void)err;
    d->dx[0] = d->dy[0];
    return OK;
}

status emit_reshaped(const graph_gradient *d, error *err)
{
    graph_shape x = emit_shape_of(d->g, d->n.in[0]);
    return emit_reshape(d->g, d->dy[0], &x, &d->dx[0], err);
}

status emit_nothing(const graph_gradient *d, error *err)
{
    graph_shape x = emit_shape_of(d->g, d->n.in[0]);
    return emit_zero(d->g, &x, &d->dx[0], err);
}

status emit_to_input(const graph_gradient *d, int32_t i, graph_val v, error *err)
{
    graph_shape own = emit_shape_of(d->g, d->n.in[i]);
    return emit_sum_to(d->g, v, &own, &d->dx[i], err);
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
    dtype type = graph_value_at(g, factor)->dtype;
    if (dtype_is_half(type))
        return emit_1(g, OP_TO_HALF, v, &(cast_attr){.to = type}, ret, err);
    *ret = v;
    return OK;
}

/* The node that makes v, or NULL. */
static const graph_node *maker(const graph *g, graph_val v)
{
    const graph_value *value = graph_value_at(g, v);
    return value->kind == VAL_TEMP ? graph_node_at(g, value->def) : NULL;
}

/* Whether it is a function of one element whose gradient reads what it was given. */
static bool keeps_x(graph_op op)
{
    const graph_op_info *info = graph_op_of(op);
    const uint8_t *reads = info->bwd.reads;
    return info->traits & OP_INPLACE && reads[0] == DY(0) && reads[1] == X(0) && !reads[2];
}

status emit_factor_again(graph *g, graph_val factor, bool is_trained, graph_val *ret, error *err)
{
    const graph_node *by = maker(g, factor);
    *ret = factor;
    if (!by)
        return OK;
    bool rounds_param = by->op == OP_TO_HALF && graph_value_at(g, by->in[0])->kind == VAL_PARAM;
    if (rounds_param || (is_trained && keeps_x(by->op)))
        return emit_1(g, by->op, by->in[0], by->attr, ret, err);
    return OK;
}

graph_shape emit_shape_of(const graph *g, graph_val v)
{
    return graph_value_at(g, v)->shape;
}
