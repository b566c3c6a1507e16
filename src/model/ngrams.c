/* Filters over neighbouring tokens (sequences.h). */
#include "model/sequences.h"

#include "common/base/alloc.h"

#include <float.h>

/* f32 [1, 1, tokens], where all tokens are there. */
static status same_windows(net *n, const char *name, const sequences *s, int64_t within, graph_val *ret, error *err)
{
    float *numbers = arena_alloc(graph_arena(n->g), (size_t)s->tokens * sizeof *numbers);
    for (int64_t i = 0; i < s->tokens; i++)
        numbers[i] = i < within;
    return graph_const(n->g, net_below(n, name, "windows"), DT_F32, (graph_shape){3, {1, 1, s->tokens}}, numbers, ret,
                       err);
}

/* f32 [batch or 1, 1, tokens]: 1 where a filter of so many tokens that begins there sees tokens of the text alone,
 * which is where its last one is such. */
static status whole_windows(net *n, const char *name, const sequences *s, int64_t size, graph_val *ret, error *err)
{
    int64_t over = size - 1 < s->tokens ? size - 1 : s->tokens;
    const slice_attr head = {.n_axes = 1, .axes = {1}, .end = {over}, .step = {1}};
    const slice_attr last = {.n_axes = 1, .axes = {1}, .begin = {over}, .end = {s->tokens}, .step = {1}};
    graph_val in[2], none;
    if (s->mask == GRAPH_NONE || over == s->tokens)
        return same_windows(n, name, s, s->tokens - over, ret, err);
    in[0] = s->mask;
    if (over) {
        TRY(graph_add_1(n->g, OP_SLICE, net_below(n, name, "last"), &s->mask, 1, &last, &in[0], err));
        TRY(graph_add_1(n->g, OP_SLICE, net_below(n, name, "head"), &s->mask, 1, &head, &none, err));
        TRY(graph_add_1(n->g, OP_SUB, net_below(n, name, "none"), (graph_val[]){none, none}, 2, NULL, &in[1], err));
        TRY(graph_add_1(n->g, OP_CONCAT, net_below(n, name, "windows"), in, 2, &(axis_attr){.axis = 1}, &in[0], err));
    }
    return net_reshape(n, in[0], (graph_shape){3, {s->batch, 1, s->tokens}}, ret, err);
}

/* Of each filter the largest number over whole windows: [batch, filters]; 0 where there is none. */
static status largest(net *n, const char *name, const sequences *s, int64_t size, graph_val *ret, error *err)
{
    const reduce_attr along = {.axes = {2}, .n_axes = 1, .drop_dims = true};
    const float lowest = -FLT_MAX, nothing = 0.0f;
    graph_val windows, pick[3], any[3];
    TRY(whole_windows(n, name, s, size, &windows, err));
    TRY(graph_add_1(n->g, OP_CAST, net_below(n, name, "is_whole"), &windows, 1, &(cast_attr){.to = DT_BOOL}, &pick[0],
                    err));
    pick[1] = n->end;
    TRY(graph_const(n->g, net_below(n, name, "lowest"), DT_F32, (graph_shape){.rank = 0}, &lowest, &pick[2], err));
    TRY(graph_add_1(n->g, OP_WHERE, net_below(n, name, "whole"), pick, 3, NULL, &any[1], err));
    TRY(graph_add_1(n->g, OP_REDUCE_MAX, net_below(n, name, "max"), &any[1], 1, &along, &any[1], err));
    TRY(graph_add_1(n->g, OP_REDUCE_MAX, net_below(n, name, "any"), &windows, 1, &along, &any[0], err));
    TRY(graph_add_1(n->g, OP_CAST, net_below(n, name, "has_any"), &any[0], 1, &(cast_attr){.to = DT_BOOL}, &any[0],
                    err));
    TRY(graph_const(n->g, net_below(n, name, "nothing"), DT_F32, (graph_shape){.rank = 0}, &nothing, &any[2], err));
    return graph_add_1(n->g, OP_WHERE, net_below(n, name, "pooled"), any, 3, NULL, ret, err);
}

/* The texts [batch, width, tokens] by filters [filters, width, size]; zeros stand behind the last token. */
static status filtered(net *n, const char *name, const ngram_layer *l, int64_t size, graph_val texts, error *err)
{
    int64_t width = graph_value_at(n->g, texts)->shape.dim[1];
    double fan = (double)(width * size);
    conv_attr attr = {.strides = {1}, .dilations = {1}, .group = 1, .pads = {0, size - 1}};
    graph_val in[3] = {texts};
    TRY(net_weight(n, name, "weight", (graph_shape){3, {l->filters, width, size}}, fan, fan, &in[1], err));
    TRY(net_weight(n, name, "bias", (graph_shape){1, {l->filters}}, fan, fan, &in[2], err));
    TRY(graph_add_1(n->g, OP_CONV, net_node_name(n, name), in, 3, &attr, &n->end, err));
    return l->activation ? net_activation(n, net_below(n, name, "activation"), l->activation, err) : OK;
}

status net_ngrams(net *n, const char *name, const ngram_layer *l, const sequences *s, error *err)
{
    arena *memory = graph_arena(n->g);
    graph_val texts, *each = arena_alloc(memory, l->n_sizes * sizeof *each);
    net_init init = n->init;
    n->init = NET_PYTORCH;
    TRY(net_reshape(n, n->end, (graph_shape){3, {s->batch, s->tokens, net_shape(n)->dim[1]}}, &texts, err));
    TRY(graph_add_1(n->g, OP_TRANSPOSE, net_below(n, name, "columns"), &texts, 1,
                    &(transpose_attr){.perm = {0, 2, 1}}, &texts, err));
    for (size_t i = 0; i < l->n_sizes; i++) {
        const char *layer = arena_printf(memory, "%s.conv_layer_%zu", name, i);
        TRY(filtered(n, layer, l, l->sizes[i], texts, err));
        TRY(largest(n, layer, s, l->sizes[i], &each[i], err));
    }
    n->init = init;
    n->end = each[0];
    if (l->n_sizes == 1)
        return OK;
    return graph_add_1(n->g, OP_CONCAT, net_below(n, name, "all"), each, (int32_t)l->n_sizes,
                       &(axis_attr){.axis = 1}, &n->end, err);
}
