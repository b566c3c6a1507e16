#include "model/sequences.h"

#include <string.h>

status sequences_of(net *n, int64_t tokens, sequences *ret, error *err)
{
    const data_field *f = net_find(n, "attention_mask", DT_I64);
    *ret = (sequences){.batch = n->request->batch_size, .tokens = tokens, .mask = GRAPH_NONE};
    if (!f || strcmp(f->name, "attention_mask") != 0)
        return OK;
    TRY(net_field(n, f, &ret->mask, err));
    if (f->dtype != DT_F32)
        TRY(graph_add_1(n->g, OP_CAST, "attention_mask.f32", &ret->mask, 1, &(cast_attr){.to = DT_F32}, &ret->mask,
                        err));
    return net_reshape(n, ret->mask, (graph_shape){3, {ret->batch, tokens, 1}}, &ret->mask, err);
}

/* [batch, width] for [batch, tokens, width] */
static status over_tokens(net *n, graph_op op, const char *name, graph_val v, graph_val *ret, error *err)
{
    const reduce_attr along = {.axes = {1}, .n_axes = 1, .drop_dims = true};
    return graph_add_1(n->g, op, name, &v, 1, &along, ret, err);
}

status net_bag(net *n, const char *name, const sequences *s, bool averaged, error *err)
{
    const float one = 1.0f;
    graph_val in[2] = {GRAPH_NONE, s->mask}, count[2];
    TRY(net_reshape(n, n->end, (graph_shape){3, {s->batch, s->tokens, net_shape(n)->dim[1]}}, &in[0], err));
    if (s->mask == GRAPH_NONE)
        return over_tokens(n, averaged ? OP_REDUCE_MEAN : OP_REDUCE_SUM, name, in[0], &n->end, err);
    TRY(graph_add_1(n->g, OP_MUL, net_below(n, name, "tokens"), in, 2, NULL, &in[0], err));
    TRY(over_tokens(n, OP_REDUCE_SUM, name, in[0], &n->end, err));
    if (!averaged)
        return OK;
    TRY(over_tokens(n, OP_REDUCE_SUM, net_below(n, name, "count"), s->mask, &count[0], err));
    TRY(graph_const(n->g, net_below(n, name, "one"), DT_F32, (graph_shape){.rank = 0}, &one, &count[1], err));
    TRY(graph_add_1(n->g, OP_MAX, net_below(n, name, "divisor"), count, 2, NULL, &count[0], err));
    graph_val mean[2] = {n->end, count[0]};
    return graph_add_1(n->g, OP_DIV, net_below(n, name, "mean"), mean, 2, NULL, &n->end, err);
}

status net_first_token(net *n, const char *name, int64_t tokens, error *err)
{
    const slice_attr first = {.n_axes = 1, .axes = {1}, .end = {1}, .step = {1}};
    int64_t batch = n->request->batch_size, width = net_shape(n)->dim[1];
    TRY(net_reshape(n, n->end, (graph_shape){3, {batch, tokens, width}}, &n->end, err));
    TRY(graph_add_1(n->g, OP_SLICE, name, &n->end, 1, &first, &n->end, err));
    return net_reshape(n, n->end, (graph_shape){2, {batch, width}}, &n->end, err);
}
