#include "onnx/types.h"

#include <inttypes.h>
#include <string.h>

/* --- which type --- */

static bool is_tensor(const slot *s)
{
    return s->kind == SLOT_HOST || s->kind == SLOT_WEIGHT || s->kind == SLOT_VALUE;
}

/* The type of the first input that the schema writes with the same variable; NULL if there is none.
 */
static const onnx_element *type_of_variable(const call *c, const char *variable)
{
    onnx_port p;
    for (int32_t i = 0; i < c->n_in; i++)
        if (onnx_schema_port(c->schema->inputs, (size_t)i, &p) && !p.is_mixed &&
            strcmp(p.type, variable) == 0 && is_tensor(c->in[i]))
            return slot_element(c->im, c->in[i]);
    return NULL;
}

static const onnx_element *inferred(const call *c, int32_t k)
{
    onnx_port p;
    if (!onnx_schema_port(c->schema->outputs, (size_t)k, &p) || p.is_mixed)
        return NULL;
    const onnx_element *e = element_named(p.type);
    return e ? e : type_of_variable(c, p.type);
}

static dtype held_as(const call *c, const slot *s)
{
    return s->kind == SLOT_HOST ? s->host->dtype : graph_value_at(c->im->g, s->value)->dtype;
}

/* float64 is float32 in a graph. */
static bool can_hold(dtype t, const onnx_element *e)
{
    return t == e->ours || (t == DT_F32 && e->ours == DT_F64);
}

/* --- its range --- */

static status constant(importer *im, dtype t, int64_t value, graph_val *ret, error *err)
{
    host_tensor *h;
    TRY(host_create(im->a, t, &(graph_shape){.rank = 0}, &h, err));
    host_set_int(h, 0, value);
    return graph_const(im->g, NULL, t, h->shape, h->data, ret, err);
}

static status apply(importer *im, graph_op op, graph_val *v, int64_t number, error *err)
{
    graph_val in[2] = {*v, GRAPH_NONE};
    const mod_attr sign_of_divisor = {.fmod = false};
    TRY(constant(im, graph_value_at(im->g, *v)->dtype, number, &in[1], err));
    return graph_add(im->g, op, NULL, in, 2, op == OP_MOD ? &sign_of_divisor : NULL, v, err);
}

/* (x + half) mod whole - half */
status types_wrap(importer *im, const onnx_element *e, graph_val *v, error *err)
{
    int64_t whole = (int64_t)1 << e->bits, half = e->is_signed ? whole / 2 : 0;
    if (half)
        TRY(apply(im, OP_ADD, v, half, err));
    TRY(apply(im, OP_MOD, v, whole, err));
    return half ? apply(im, OP_SUB, v, half, err) : OK;
}

static status settle_known(const onnx_element *e, host_tensor *h, error *err)
{
    bool rounds = e->kind == ELEMENT_FLOAT && e->bits < 32;
    for (int64_t i = 0; i < h->n; i++) {
        if (element_is_narrow_integer(e))
            host_set_int(h, i, element_wrap(e, host_get_int(h, i)));
        else if (rounds)
            host_set(h, i, element_round(e, host_get(h, i), false));
        else if (e->onnx == ONNX_UINT64 && host_get_int(h, i) < 0)
            return call_refuse(err, "it makes a number of uint64 below 0 or from 2^63 on");
    }
    h->element = e->onnx;
    return OK;
}

static status settle_value(call *c, const onnx_element *e, slot *s, error *err)
{
    if (e->onnx == ONNX_UINT64)
        return call_refuse(err, "it makes uint64 of data, which is not supported; int64 is");
    if (element_is_narrow_integer(e))
        TRY(types_wrap(c->im, e, &s->value, err));
    s->element = e->onnx;
    return OK;
}

/* What an operator hands on as it is, is what it was. */
static bool is_passed_on(const call *c, const slot *s, const onnx_element *e)
{
    for (int32_t i = 0; i < c->n_in; i++)
        if (is_tensor(c->in[i]) && slot_element(c->im, c->in[i]) == e &&
            c->in[i]->kind == s->kind &&
            (s->kind == SLOT_HOST    ? c->in[i]->host == s->host
             : s->kind == SLOT_VALUE ? c->in[i]->value == s->value
                                     : true))
            return true;
    return false;
}

status types_settle(call *c, error *err)
{
    for (int32_t k = 0; k < c->n_out; k++) {
        slot *s = &c->out[k];
        if (!is_tensor(s) || s->kind == SLOT_WEIGHT)
            continue;
        int32_t said = s->kind == SLOT_HOST && !s->element ? s->host->element : s->element;
        const onnx_element *e = said ? element_of(said) : inferred(c, k);
        if (!e || !can_hold(held_as(c, s), e))
            e = element_of_dtype(held_as(c, s));
        if (is_passed_on(c, s, e)) {
            s->element = e->onnx;
            continue;
        }
        TRY(s->kind == SLOT_HOST ? settle_known(e, s->host, err) : settle_value(c, e, s, err));
    }
    return OK;
}
