#include "onnx/call.h"

#include <inttypes.h>

bool call_has(const call *c, int32_t i)
{
    return i < c->n_in && c->in[i]->kind != SLOT_ABSENT;
}

static status missing(int32_t i, error *err)
{
    return FAIL(err, E_DATA, "its input %" PRId32 " is missing", i);
}

static status check_tensor(const call *c, int32_t i, error *err)
{
    if (!call_has(c, i))
        return missing(i, err);
    if (c->in[i]->kind == SLOT_LIST)
        return FAIL(err, E_DATA, "its input %" PRId32 " is a sequence, must be a tensor", i);
    return OK;
}

status call_value(call *c, int32_t i, graph_val *ret, error *err)
{
    TRY(check_tensor(c, i, err));
    return slot_value(c->im, c->in[i], ret, err);
}

const graph_value *call_at(const call *c, graph_val v)
{
    return graph_value_at(c->im->g, v);
}

graph_shape call_shape_of(const call *c, graph_val v)
{
    return graph_value_at(c->im->g, v)->shape;
}

status call_describe(call *c, int32_t i, graph_shape *ret_shape, dtype *ret_dtype, error *err)
{
    TRY(check_tensor(c, i, err));
    return slot_describe(c->im, c->in[i], ret_shape, ret_dtype, err);
}

const onnx_element *call_element(const call *c, int32_t i)
{
    return slot_element(c->im, c->in[i]);
}

bool call_is_host(const call *c, int32_t i)
{
    return call_has(c, i) && c->in[i]->kind == SLOT_HOST;
}

status call_known(call *c, int32_t i, const host_tensor **ret, error *err)
{
    *ret = NULL;
    if (!call_has(c, i))
        return OK;
    TRY(check_tensor(c, i, err));
    TRY(slot_known(c->im, c->in[i], ret, err));
    if (*ret)
        return OK;
    return call_refuse(err,
                       "its input %" PRId32 " ('%s') depends on data, but must be known before "
                       "the run; export it with fixed sizes there",
                       i, c->node->input[i]);
}

status call_known_ints(call *c, int32_t i, int64_t *ret, int32_t most, int32_t *ret_n, error *err)
{
    const host_tensor *h;
    *ret_n = -1;
    TRY(call_known(c, i, &h, err));
    if (!h)
        return OK;
    if (host_is_float(h) || h->n > most)
        return FAIL(err, E_DATA,
                    "its input %" PRId32 " ('%s') must be at most %" PRId32
                    " integers, not %" PRId64 " of %s",
                    i, c->node->input[i], most, h->n, dtype_name(h->dtype));
    for (int64_t k = 0; k < h->n; k++)
        ret[k] = host_get_int(h, k);
    *ret_n = (int32_t)h->n;
    return OK;
}

status call_known_number(call *c, int32_t i, double otherwise, double *ret, error *err)
{
    const host_tensor *h;
    TRY(call_known(c, i, &h, err));
    if (h && h->n != 1)
        return FAIL(err, E_DATA, "its input %" PRId32 " ('%s') must be one number, not %" PRId64, i,
                    c->node->input[i], h->n);
    *ret = h ? host_get(h, 0) : otherwise;
    return OK;
}

status call_ints_moved(call *c, const char *name, int64_t since, int32_t i, int64_t *ret,
                       int32_t most, int32_t *ret_n, error *err)
{
    if (c->version >= since)
        return call_known_ints(c, i, ret, most, ret_n, err);
    *ret_n = call_ints(c, name, ret, most);
    return OK;
}

status call_align(call *c, const graph_shape *a, graph_shape *b, error *err)
{
    int32_t axis = 0;
    if (c->version >= 7 || !call_flag(c, "broadcast") || !call_attribute(c, "axis"))
        return OK;
    TRY(call_axis(call_int_or(c, "axis", 0), a->rank, &axis, err));
    if (axis + b->rank > a->rank)
        return FAIL(err, E_DATA, "its second input has too many axes to begin at axis %" PRId32,
                    axis);
    while (axis + b->rank < a->rank)
        b->dim[b->rank++] = 1;
    return OK;
}

status call_align_operands(call *c, graph_val in[2], error *err)
{
    graph_shape a = call_shape_of(c, in[0]), b = call_shape_of(c, in[1]);
    int32_t rank = b.rank;
    TRY(call_align(c, &a, &b, err));
    if (b.rank == rank)
        return OK;
    return call_emit(c, OP_RESHAPE, &in[1], 1, &(shape_attr){.shape = b}, &in[1], err);
}

status call_emit(call *c, graph_op op, const graph_val *in, int32_t n_in, const void *attr,
                 graph_val *ret_out, error *err)
{
    return graph_add(c->im->g, op, NULL, in, n_in, attr, ret_out, err);
}

status call_finish(call *c, graph_op op, const graph_val *in, int32_t n_in, const void *attr,
                   error *err)
{
    graph_val out[8];
    BUG_ON(graph_op_of(op)->n_out > (int32_t)COUNT_OF(out));
    TRY(graph_add(c->im->g, op, c->name, in, n_in, attr, out, err));
    call_return(c, 0, out[0]);
    return OK;
}

status call_unary(call *c, graph_op op, const void *attr, error *err)
{
    graph_val x;
    TRY(call_value(c, 0, &x, err));
    return call_finish(c, op, &x, 1, attr, err);
}

void call_return(call *c, int32_t k, graph_val v)
{
    if (k < c->n_out)
        c->out[k] = (slot){.kind = SLOT_VALUE, .value = v};
}

void call_return_host(call *c, int32_t k, host_tensor *h)
{
    if (k < c->n_out)
        c->out[k] = (slot){.kind = SLOT_HOST, .host = h, .value = GRAPH_NONE};
}

status call_return_input(call *c, int32_t k, int32_t i, error *err)
{
    if (!call_has(c, i))
        return missing(i, err);
    if (k < c->n_out)
        c->out[k] = *c->in[i];
    return OK;
}

void call_type(call *c, int32_t k, int32_t onnx)
{
    if (k < c->n_out)
        c->out[k].element = onnx;
}

bool call_wants(const call *c, int32_t k)
{
    return k < c->n_out && *c->node->output[k];
}

status call_axis(int64_t axis, int32_t rank, int32_t *ret, error *err)
{
    if (axis < -rank || axis >= rank)
        return FAIL(err, E_DATA, "axis %" PRId64 " is none of the %" PRId32 " of its input", axis,
                    rank);
    *ret = (int32_t)(axis < 0 ? axis + rank : axis);
    return OK;
}
