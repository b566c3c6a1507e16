/*
 * Gradient of the domain ai.onnx.preview.training: of the sum of a value y, that nodes before it
 * made, by values xs. The rules are those of the graph's own backward; here they are asked for any
 * values, where training asks for parameters (graph/backward.c).
 */
#include "onnx/ops.h"

#include <string.h>

typedef struct sweep {
    graph *g;
    arena *a;
    int32_t n_nodes, n_values;
    bool *depends;    /* [n_values] on an x */
    graph_val *total; /* [n_values] what has come back so far */
} sweep;

static void mark(sweep *s)
{
    for (int32_t at = 0; at < s->n_nodes; at++) {
        const graph_node *n = graph_node_at(s->g, at);
        bool any = false;
        for (int32_t i = 0; i < n->n_in; i++)
            any |= n->in[i] != GRAPH_NONE && s->depends[n->in[i]];
        for (int32_t i = 0; i < n->n_out; i++)
            if (n->out[i] != GRAPH_NONE)
                s->depends[n->out[i]] |= any;
    }
}

static status add(sweep *s, graph_val v, graph_val d, error *err)
{
    if (s->total[v] == GRAPH_NONE) {
        s->total[v] = d;
        return OK;
    }
    return graph_add_1(s->g, OP_ADD, NULL, (graph_val[]){s->total[v], d}, 2, NULL, &s->total[v],
                       err);
}

static status pass(sweep *s, int32_t at, error *err)
{
    graph_node n = *graph_node_at(s->g, at);
    int32_t slots = graph_node_slots(&n);
    bool any_out = false, any_in = false;
    graph_val *dout = arena_alloc(s->a, ((size_t)n.n_out + 1) * sizeof *dout);
    graph_val *din = arena_alloc(s->a, ((size_t)slots + 1) * sizeof *din);
    bool *want = arena_alloc(s->a, (size_t)slots + 1);
    for (int32_t i = 0; i < n.n_out; i++) {
        dout[i] = n.out[i] == GRAPH_NONE ? GRAPH_NONE : s->total[n.out[i]];
        any_out |= dout[i] != GRAPH_NONE;
    }
    for (int32_t i = 0; i < slots; i++) {
        din[i] = GRAPH_NONE;
        want[i] = n.in[i] != GRAPH_NONE && s->depends[n.in[i]] &&
                  graph_value_at(s->g, n.in[i])->dtype == DT_F32;
        any_in |= want[i];
    }
    const graph_op_info *info = graph_op_of(n.op);
    if (!any_out || !any_in)
        return OK;
    if (!info->grad)
        return call_refuse(err, "no gradient flows through '%s' (%s); leave it out of xs", n.name,
                           info->name);
    TRY(info->grad(&(graph_gradient){s->g, n, dout, want, din}, err));
    for (int32_t i = 0; i < slots; i++)
        if (want[i] && din[i] != GRAPH_NONE)
            TRY(add(s, n.in[i], din[i], err));
    return OK;
}

/* Ones where y is, as the gradient of its sum. */
static status seed(sweep *s, graph_val y, error *err)
{
    graph_shape shape = graph_value_at(s->g, y)->shape;
    float one = 1.0f;
    graph_val scalar;
    TRY(graph_const(s->g, NULL, DT_F32, (graph_shape){.rank = 0}, &one, &scalar, err));
    return graph_add_1(s->g, OP_EXPAND, NULL, &scalar, 1, &(shape_attr){.shape = shape},
                       &s->total[y], err);
}

static status differentiate(call *c, graph_val y, const graph_val *xs, error *err)
{
    sweep s = {.g = c->im->g, .a = c->im->a};
    s.n_nodes = graph_n_nodes(s.g);
    s.n_values = graph_n_values(s.g);
    s.depends = arena_alloc(s.a, (size_t)s.n_values + 1);
    s.total = arena_alloc(s.a, ((size_t)s.n_values + 1) * sizeof *s.total);
    memset(s.total, 0xff, (size_t)s.n_values * sizeof *s.total); /* GRAPH_NONE */
    for (int32_t i = 0; i < c->n_out; i++)
        s.depends[xs[i]] = true;
    mark(&s);
    TRY(seed(&s, y, err));
    for (int32_t at = s.n_nodes; at-- > 0;)
        TRY(pass(&s, at, err));
    for (int32_t i = 0; i < c->n_out; i++) {
        if (s.total[xs[i]] == GRAPH_NONE)
            return call_refuse(err, "its y does not depend on '%s'; leave that out of xs",
                               c->node->input[i]);
        call_return(c, i, s.total[xs[i]]);
    }
    return OK;
}

/* It is by the values that xs name, which must be those it reads: others would be put in their
 * place. */
static status check_names(call *c, error *err)
{
    const Onnx__AttributeProto *xs = call_attribute(c, "xs"), *zs = call_attribute(c, "zs");
    if (!xs || xs->n_strings != (size_t)c->n_out || (zs && zs->n_strings))
        return call_refuse(err, "it must have an output for each of its xs, and no zs");
    for (size_t i = 0; i < xs->n_strings && i < (size_t)c->n_in; i++) {
        const ProtobufCBinaryData *x = &xs->strings[i];
        const char *name = c->node->input[i];
        if (x->len != strlen(name) || memcmp(x->data, name, x->len) != 0)
            return call_refuse(err, "it reads '%s' in place of '%.*s'", name, (int)x->len,
                               (const char *)x->data);
    }
    return OK;
}

status onnx_op_gradient(call *c, error *err)
{
    const char *name = call_str(c, "y");
    slot *y = scope_find(c->scope, name);
    graph_val of, *xs = arena_alloc(c->im->a, ((size_t)c->n_in + 1) * sizeof *xs);
    if (!y)
        return FAIL(err, E_DATA, "its y is '%s', which nothing makes", name);
    TRY(check_names(c, err));
    if (c->n_out > c->n_in)
        return FAIL(err, E_DATA, "it has more outputs than inputs");
    TRY(slot_value(c->im, y, &of, err));
    for (int32_t i = 0; i < c->n_in; i++)
        TRY(call_value(c, i, &xs[i], err));
    return differentiate(c, of, xs, err);
}
