/* Cast and CastLike. What is known is cast at once; a graph has one float type, so casts between
 * float types are nothing there. */
#include "onnx/fold/fold.h"

static status cast_known(call *c, const host_tensor *x, dtype to, error *err)
{
    host_tensor *y;
    TRY(host_create(c->im->a, to, &x->shape, &y, err));
    for (int64_t i = 0; i < y->n; i++) {
        if (host_is_float(x))
            host_set(y, i, host_get(x, i));
        else
            host_set_int(y, i, host_get_int(x, i));
    }
    call_return_host(c, 0, y);
    return OK;
}

static status cast_to(call *c, dtype to, error *err)
{
    graph_val x;
    if (call_is_host(c, 0))
        return cast_known(c, c->in[0]->host, to, err);
    TRY(call_value(c, 0, &x, err));
    dtype from = call_at(c, x)->dtype;
    to = to == DT_F64 ? DT_F32 : to;
    if (from != to)
        return call_finish(c, OP_CAST, &x, 1, &(cast_attr){.to = to}, err);
    call_return(c, 0, x);
    return OK;
}

status onnx_op_cast(call *c, error *err)
{
    dtype to;
    int32_t number = call_int32(c, "to");
    if (!host_dtype_of_onnx(number, &to))
        return call_refuse(err, "it casts to %s", host_onnx_type_name(number));
    return cast_to(c, to, err);
}

status onnx_op_cast_like(call *c, error *err)
{
    graph_shape shape;
    dtype to;
    TRY(call_describe(c, 1, &shape, &to, err));
    return cast_to(c, to, err);
}
