#include "onnx/fuse/look.h"

#include "common/base/alloc.h"

const graph_value *fuse_value(const fuser *f, graph_val v)
{
    return graph_value_at(f->g, v);
}

const graph_node *fuse_maker(const fuser *f, graph_val v, graph_op op)
{
    const graph_value *value = graph_value_at(f->g, v);
    if (value->kind != VAL_TEMP)
        return NULL;
    const graph_node *n = graph_node_at(f->g, value->def);
    return n->op == op && n->out[0] == v ? n : NULL;
}

const graph_node *fuse_inner(const fuser *f, graph_val v, graph_op op)
{
    return f->readers[v] == 1 ? fuse_maker(f, v, op) : NULL;
}

bool fuse_number(const fuser *f, graph_val v, double *ret)
{
    const graph_value *value = graph_value_at(f->g, v);
    if (value->kind != VAL_CONST || value->dtype != DT_F32 ||
        graph_shape_elements(&value->shape) != 1)
        return false;
    *ret = *(const float *)value->data;
    return true;
}

bool fuse_constant(const fuser *f, const graph_node *n, double *ret_number, graph_val *ret_other)
{
    for (int32_t k = 0; k < 2; k++)
        if (fuse_number(f, n->in[k], ret_number)) {
            *ret_other = n->in[1 - k];
            return true;
        }
    return false;
}

bool fuse_is_near(double x, double wanted)
{
    double off = (x - wanted) / wanted;
    return off < 4e-6 && off > -4e-6;
}

bool fuse_same_shape(const fuser *f, graph_val a, graph_val b)
{
    return graph_shape_equal(&fuse_value(f, a)->shape, &fuse_value(f, b)->shape);
}

int32_t fuse_factors(const fuser *f, graph_val v, graph_val *ret, int32_t most, double *ret_scale)
{
    graph_val open[16] = {v};
    int32_t n_open = 1, n = 0;
    *ret_scale = 1.0;
    while (n_open > 0) {
        double number;
        graph_val one = open[--n_open];
        bool inner = one == v || f->readers[one] == 1;
        const graph_node *mul = inner ? fuse_maker(f, one, OP_MUL) : NULL;
        const graph_node *div = inner ? fuse_maker(f, one, OP_DIV) : NULL;
        if (fuse_number(f, one, &number)) {
            *ret_scale *= number;
        } else if (mul && n_open + 2 <= (int32_t)COUNT_OF(open)) {
            open[n_open++] = mul->in[0];
            open[n_open++] = mul->in[1];
        } else if (div && fuse_number(f, div->in[1], &number) && number != 0.0) {
            *ret_scale /= number;
            open[n_open++] = div->in[0];
        } else if (n < most) {
            ret[n++] = one;
        } else {
            return -1;
        }
    }
    return n;
}
