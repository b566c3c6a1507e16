/* Cast and CastLike. What is known is cast at once; a graph has one float type, so casts between
 * float types are nothing there. */
#include "onnx/fold/fold.h"

#include <string.h>

/* Floats of 8 bits and less are the largest one where a number is beyond, unless `saturate` is off.
 */
static status cast_known(call *c, const host_tensor *x, const onnx_element *to, error *err)
{
    host_tensor *y;
    bool is_small = to->kind == ELEMENT_FLOAT && to->bits <= 8;
    bool saturates = is_small && (call_flag(c, "saturate") || to->bits < 8);
    TRY(host_create(c->im->a, to->ours, &x->shape, &y, err));
    for (int64_t i = 0; i < y->n; i++) {
        if (host_is_float(x))
            host_set(y, i, element_round(to, host_get(x, i), saturates));
        else if (is_small)
            host_set(y, i, element_round(to, host_get(x, i), saturates));
        else
            host_set_int(y, i, host_get_int(x, i));
    }
    call_return_host(c, 0, y);
    return OK;
}

static status cast_value(call *c, const onnx_element *to, error *err)
{
    graph_val x;
    if (to->kind == ELEMENT_FLOAT && to->bits <= 8)
        return call_refuse(
            err, "it casts data to %s, which only what is known before the run can be; use float32",
            to->name);
    TRY(call_value(c, 0, &x, err));
    dtype from = call_at(c, x)->dtype, held = to->ours == DT_F64 ? DT_F32 : to->ours;
    if (from != held)
        return call_finish(c, OP_CAST, &x, 1, &(cast_attr){.to = held}, err);
    call_return(c, 0, x);
    return OK;
}

static status cast_to(call *c, const onnx_element *to, error *err)
{
    if (call_knows(c, "saturate"))
        call_ignore(c, "saturate"); /* of the others, which do not */
    if (strcmp(call_str(c, "round_mode"), "up") != 0)
        return call_refuse(err, "its round_mode is '%s'; only 'up', the default, is supported",
                           call_str(c, "round_mode"));
    TRY(call_is_host(c, 0) ? cast_known(c, c->in[0]->host, to, err) : cast_value(c, to, err));
    call_type(c, 0, to->onnx);
    return OK;
}

status onnx_op_cast(call *c, error *err)
{
    int32_t number = call_int32(c, "to");
    const onnx_element *to = element_of(number);
    if (!to || to->kind == ELEMENT_NONE)
        return call_refuse(err, "it casts to %s; docs/MODELS.md lists the element types",
                           host_onnx_type_name(number));
    return cast_to(c, to, err);
}

status onnx_op_cast_like(call *c, error *err)
{
    graph_shape shape;
    dtype t;
    TRY(call_describe(c, 1, &shape, &t, err));
    return cast_to(c, call_element(c, 1), err);
}
