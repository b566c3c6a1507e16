/* See tokens.h. */
#include "model/tokens.h"

#include "common/base/hash.h"

#include <float.h>
#include <string.h>

status net_token_input(net *n, graph_val *ret, error *err)
{
    const data_field *f = net_find(n, "input_ids", DT_I64);
    if (!f)
        return net_input(n, "input_ids", DT_I64, ret, err);
    if (f->rank != 1 || f->dtype != DT_I64)
        return FAIL(err, E_CONFIG, "%s: field '%s' is not int64 [tokens]",
                    config_path(n->request->model), f->name);
    return net_field(n, f, ret, err);
}

status net_embedding(net *n, const char *name, int64_t rows, int64_t width, graph_val index,
                     graph_val *ret_table, graph_val *ret, error *err)
{
    float deviation = n->init == NET_NORMAL ? (float)n->deviation : 1.0f;
    tensor_decl table = {.rank = 2,
                         .dim = {rows, width},
                         .kind = TENSOR_TRAINABLE,
                         .init = {.kind = INIT_NORMAL, .b = deviation},
                         .decay = true};
    TRY(net_param(n, name, "weight", table, ret_table, err));
    return graph_add_1(n->g, OP_GATHER, name, (graph_val[]){*ret_table, index}, 2,
                       &(gather_attr){.axis = 0}, ret, err);
}

status net_layer_norm(net *n, const char *name, double epsilon, error *err)
{
    graph_shape row = {1, {net_shape(n)->dim[net_shape(n)->rank - 1]}};
    graph_val in[3] = {n->end};
    TRY(net_constant(n, name, "weight", row, 1.0, &in[1], err));
    TRY(net_constant(n, name, "bias", row, 0.0, &in[2], err));
    row_norm_attr attr = {.axis = -1, .epsilon = (float)epsilon};
    return graph_add_1(n->g, OP_LAYER_NORMALIZATION, net_node_name(n, name), in, 3, &attr, &n->end, err);
}

status net_rms_norm(net *n, const char *name, double epsilon, error *err)
{
    graph_shape row = {1, {net_shape(n)->dim[net_shape(n)->rank - 1]}};
    graph_val in[2] = {n->end};
    TRY(net_constant(n, name, "weight", row, 1.0, &in[1], err));
    row_norm_attr attr = {.axis = -1, .epsilon = (float)epsilon};
    return graph_add_1(n->g, OP_RMS_NORMALIZATION, net_node_name(n, name), in, 2, &attr, &n->end, err);
}

status net_conv1d(net *n, const char *name, int64_t features, double deviation, error *err)
{
    int64_t width = net_shape(n)->dim[1];
    graph_shape weight = {2, {width, features}}, row = {1, {features}};
    graph_val in[3] = {n->end};
    net_init init = n->init;
    double common = n->deviation;
    if (deviation > 0.0) {
        n->init = NET_NORMAL;
        n->deviation = deviation;
    }
    TRY(net_weight(n, name, "weight", weight, (double)width, (double)features, &in[1], err));
    n->init = init;
    n->deviation = common;
    TRY(net_constant(n, name, "bias", row, 0.0, &in[2], err));
    return graph_add_1(n->g, OP_GEMM, name, in, 3, NULL, &n->end, err);
}

static status tokens_attend(net *n, const char *name, const attention_layer *l, const graph_val in[5],
                            error *err)
{
    bool drops = n->request->mode == MODEL_TRAIN && l->dropout > 0.0;
    attention_attr attr = {
        .q_heads = l->heads,
        .kv_heads = l->kv_heads,
        .causal = l->causal,
        .ratio = drops ? (float)l->dropout : 0.0f,
        .seed = n->request->seed,
        .stream = fnv1a(name, strlen(name)),
    };
    graph_val all[5] = {in[0], in[1], in[2], l->mask, drops ? n->batch_id : GRAPH_NONE};
    TRY(graph_add_1(n->g, OP_ATTENTION, name, all, 5, &attr, &n->end, err));
    const graph_shape y = *net_shape(n);
    return net_reshape(n, n->end, (graph_shape){2, {y.dim[0] * y.dim[1], y.dim[2]}}, &n->end, err);
}

static status by_example(net *n, graph_val v, int64_t tokens, graph_val *ret, error *err)
{
    const graph_shape rows = graph_value_at(n->g, v)->shape;
    graph_shape s = {3, {rows.dim[0] / tokens, tokens, rows.dim[1]}};
    return net_reshape(n, v, s, ret, err);
}

status net_attention(net *n, const char *name, const attention_layer *l, error *err)
{
    graph_val in[5] = {GRAPH_NONE, GRAPH_NONE, GRAPH_NONE};
    TRY(by_example(n, n->end, l->tokens, &in[0], err));
    return tokens_attend(n, name, l, in, err);
}

status net_close_branch(net *n, const char *name, double dropout, graph_val x, error *err)
{
    TRY(net_dropout(n, net_below(n, name, "drop"), dropout, err));
    return net_add(n, net_below(n, name, "add"), x, err);
}

static status turn(net *n, const char *name, const rotation *by, int64_t heads, graph_val *v, error *err)
{
    graph_val in[3] = {*v, by->cosine, by->sine};
    return graph_add_1(n->g, OP_ROTARY_EMBEDDING, name, in, 3, &(rotary_attr){.heads = heads}, v, err);
}

status net_attention_of(net *n, const char *name, const attention_layer *l, const graph_val qkv[3],
                        error *err)
{
    graph_val in[5];
    for (int i = 0; i < 3; i++)
        TRY(by_example(n, qkv[i], l->tokens, &in[i], err));
    if (l->turn) {
        TRY(turn(n, net_below(n, name, "q"), l->turn, l->heads, &in[0], err));
        TRY(turn(n, net_below(n, name, "k"), l->turn, l->kv_heads ? l->kv_heads : l->heads, &in[1], err));
    }
    return tokens_attend(n, name, l, in, err);
}

status net_mask_positions(net *n, graph_val *scores, error *err)
{
    const data_field *f = net_find(n, "context_mask", DT_I64);
    const graph_shape s = graph_value_at(n->g, *scores)->shape;
    const float lowest = -FLT_MAX;
    graph_val in[3] = {GRAPH_NONE, *scores};
    if (!f || strcmp(f->name, "context_mask") != 0)
        return OK;
    TRY(net_field(n, f, &in[0], err));
    TRY(graph_add_1(n->g, OP_CAST, "context_mask.bool", in, 1, &(cast_attr){.to = DT_BOOL}, &in[0], err));
    TRY(net_reshape(n, in[0], (graph_shape){3, {s.dim[0], s.dim[1], 1}}, &in[0], err));
    TRY(graph_const(n->g, "context_mask.lowest", DT_F32, (graph_shape){.rank = 0}, &lowest, &in[2], err));
    return graph_add_1(n->g, OP_WHERE, "context_mask.scores", in, 3, NULL, scores, err);
}

/* Tables are often made larger than the vocabulary, up to a multiple that is fast; this is the largest in use. */
enum { TABLE_MULTIPLE = 1024 };

static status check_tokens(const net *n, int64_t rows, error *err)
{
    const config *model = n->request->model;
    const data_field *f = net_find(n, "input_ids", DT_I64);
    if (!f || f->tokens == 0)
        return OK;
    int64_t most = (f->tokens + TABLE_MULTIPLE - 1) / TABLE_MULTIPLE * TABLE_MULTIPLE;
    bool is_foreign = config_has(model, "pretrained") && rows > most;
    if (f->tokens <= rows && !is_foreign)
        return OK;
    return FAIL(err, E_CONFIG, "%s.vocabulary: %lld tokens, but the tokenizer of the field '%s' has %lld%s",
                config_path(model), (long long)rows, f->name, (long long)f->tokens,
                is_foreign ? ": the pretrained weights belong to another one" : "");
}

status net_vocabulary(const net *n, int64_t *ret, error *err)
{
    const config *model = n->request->model;
    const data_field *f = net_find(n, "input_ids", DT_I64);
    *ret = net_option_or(model, "vocabulary", f ? f->tokens : 0);
    if (*ret < 1)
        return FAIL(err, E_CONFIG, "%s.vocabulary: null, and the data do not say how many tokens there are",
                    config_path(model));
    return check_tokens(n, *ret, err);
}

status net_check_heads(const net *n, int64_t width, int64_t heads, error *err)
{
    if (width % heads == 0)
        return OK;
    return FAIL(err, E_CONFIG, "%s: num_heads %lld does not divide width %lld",
                config_path(n->request->model), (long long)heads, (long long)width);
}
