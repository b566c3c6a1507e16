/*
 * Encoders of text with Hugging Face's names and first weights, by a row of encoder_family.c, and
 * one of the heads: qa gives two scores a token, tokens the scores of each token's classes, sequence
 * those of the whole text's, from its first token.
 *
 * Fields: input_ids int64 [tokens]; where there are any, token_type_ids int64 [tokens],
 * attention_mask [tokens], of any type, 0 where nothing is to be looked at, and, for qa, context_mask
 * int64 [tokens], 0 where no answer may be.
 */
#include "model/builders.h"
#include "model/encoder.h"

#include <string.h>

static const double deviation = 0.02;

/* --- layers --- */

/* The tensors' beginning, and a name that no other layer has: that of nodes and random masks. */
typedef struct layer_place {
    const char *tensors, *nodes;
} layer_place;

/* A linear layer over the end, plus x, then the norm. */
static status close_branch(net *n, const encoder *e, const layer_place *at, const char *dense,
                           const char *drop, const char *norm, graph_val x, error *err)
{
    TRY(net_linear(n, net_below(n, at->tensors, dense), e->width, true, err));
    if (drop)
        TRY(net_dropout(n, net_below(n, at->nodes, drop), e->dropout, err));
    TRY(net_add(n, net_below(n, net_below(n, at->nodes, norm), "add"), x, err));
    return net_layer_norm(n, net_below(n, at->tensors, norm), e->epsilon, err);
}

static status encoder_layer(net *n, const encoder *e, const layer_place *at, error *err)
{
    const encoder_layer_names *is = e->family->layer;
    const char *const parts[3] = {is->query, is->key, is->value};
    graph_val x = n->end, qkv[3];
    for (int i = 0; i < 3; i++) {
        n->end = x;
        TRY(net_linear(n, net_below(n, at->tensors, parts[i]), e->width, true, err));
        qkv[i] = n->end;
    }
    TRY(net_attention_of(n, net_below(n, at->nodes, is->attention), &e->attention, qkv, err));
    TRY(close_branch(n, e, at, is->mix, is->mix_drop, is->mix_norm, x, err));
    x = n->end;
    TRY(net_linear(n, net_below(n, at->tensors, is->up), e->feedforward, true, err));
    TRY(net_activation(n, net_below(n, at->nodes, is->act), e->activation, err));
    return close_branch(n, e, at, is->down, is->down_drop, is->norm, x, err);
}

static status encoder_layers(net *n, const config *model, const encoder *e, error *err)
{
    const encoder_family *f = e->family;
    status st = OK;
    n->shares = f->shared != NULL;
    for (int64_t i = 0; i < config_int(model, "num_layers") && st == OK; i++) {
        layer_place at = {.nodes = arena_printf(graph_arena(n->g), "%s.%lld", f->layers, (long long)i)};
        at.tensors = f->shared ? f->shared : at.nodes;
        st = encoder_layer(n, e, &at, err);
    }
    n->shares = false;
    return st;
}

/* --- embeddings --- */

static const char *embedding(const net *n, const encoder *e, const char *name)
{
    return arena_printf(graph_arena(n->g), "%s.embeddings.%s", e->family->name, name);
}

/* [batch, tokens, width] + a table's rows for the ids of an optional field, else its first row */
static status add_types(net *n, const config *model, const encoder *e, graph_val sum[2], error *err)
{
    const char *name = embedding(n, e, "token_type_embeddings");
    int64_t types = config_int(model, "token_types"), width = e->embedding_width;
    const data_field *f = net_find(n, "token_type_ids", DT_I64);
    graph_val table, ids;
    if (f && strcmp(f->name, "token_type_ids") == 0) {
        TRY(net_field(n, f, &ids, err));
        TRY(net_embedding(n, name, types, width, ids, &table, &sum[1], err));
    } else {
        const int64_t first = 0;
        TRY(graph_const(n->g, "token_type_ids", DT_I64, (graph_shape){1, {1}}, &first, &ids, err));
        TRY(net_embedding(n, name, types, width, ids, &table, &sum[1], err));
    }
    return graph_add_1(n->g, OP_ADD, embedding(n, e, "types"), sum, 2, NULL, &sum[0], err);
}

/* Rows 0, 1, 2, ... of the table of positions. */
static status first_positions(net *n, const encoder *e, int64_t places, graph_val table,
                              graph_val *ret, error *err)
{
    const slice_attr used = {.n_axes = 1, .axes = {0}, .end = {e->tokens}, .step = {1}};
    *ret = table;
    if (e->tokens == places)
        return OK;
    return graph_add_1(n->g, OP_SLICE, embedding(n, e, "positions"), &table, 1, &used, ret, err);
}

/* Rows padding + 1, padding + 2, ... of the tokens that are not `padding`, row `padding` of others. */
static status counted_positions(net *n, const encoder *e, int64_t padding, graph_val ids, graph_val table,
                                graph_val *ret, error *err)
{
    const cum_sum_attr along = {.axis = 1};
    graph_val pad, is_token, count;
    TRY(graph_const(n->g, "padding", DT_I64, (graph_shape){1, {1}}, &padding, &pad, err));
    TRY(graph_add_1(n->g, OP_EQUAL, NULL, (graph_val[]){ids, pad}, 2, NULL, &is_token, err));
    TRY(graph_add_1(n->g, OP_NOT, NULL, &is_token, 1, NULL, &is_token, err));
    TRY(graph_add_1(n->g, OP_CAST, NULL, &is_token, 1, &(cast_attr){.to = DT_I64}, &is_token, err));
    TRY(graph_add_1(n->g, OP_CUM_SUM, NULL, &is_token, 1, &along, &count, err));
    TRY(graph_add_1(n->g, OP_MUL, NULL, (graph_val[]){count, is_token}, 2, NULL, &count, err));
    TRY(graph_add_1(n->g, OP_ADD, embedding(n, e, "position_ids"), (graph_val[]){count, pad}, 2, NULL, &count, err));
    return graph_add_1(n->g, OP_GATHER, embedding(n, e, "positions"), (graph_val[]){table, count}, 2,
                       &(gather_attr){.axis = 0}, ret, err);
}

static status positions_of(net *n, const config *model, const encoder *e, graph_val ids, graph_val *ret,
                           error *err)
{
    int64_t places = config_int(model, "context"), padding = config_int(model, "padding");
    bool counts = e->family->counts_behind_padding;
    int64_t most = places - (counts ? padding + 1 : 0);
    graph_val table;
    tensor_decl decl = {.rank = 2,
                        .dim = {places, e->embedding_width},
                        .kind = TENSOR_TRAINABLE,
                        .init = {.kind = INIT_NORMAL, .b = (float)deviation},
                        .decay = true};
    if (e->tokens > most)
        return FAIL(err, E_CONFIG, "%s.context: %lld positions are too few for the data's %lld%s",
                    config_path(model), (long long)places, (long long)e->tokens,
                    counts ? " behind the token that fills up" : "");
    TRY(net_param(n, embedding(n, e, "position_embeddings"), "weight", decl, &table, err));
    return counts ? counted_positions(n, e, padding, ids, table, ret, err)
                  : first_positions(n, e, places, table, ret, err);
}

static status encoder_embed(net *n, const config *model, const encoder *e, graph_val ids, error *err)
{
    const encoder_family *f = e->family;
    graph_val table, sum[2];
    TRY(net_embedding(n, embedding(n, e, "word_embeddings"), e->vocabulary, e->embedding_width, ids, &table, &sum[0],
                      err));
    if (f->has_types)
        TRY(add_types(n, model, e, sum, err));
    TRY(positions_of(n, model, e, ids, &sum[1], err));
    TRY(graph_add_1(n->g, OP_ADD, embedding(n, e, "add"), sum, 2, NULL, &n->end, err));
    graph_shape rows = {2, {n->request->batch_size * e->tokens, e->embedding_width}};
    TRY(net_reshape(n, n->end, rows, &n->end, err));
    TRY(net_layer_norm(n, embedding(n, e, "LayerNorm"), e->epsilon, err));
    TRY(net_dropout(n, embedding(n, e, "dropout"), e->dropout, err));
    if (!f->project || (e->width == e->embedding_width && !f->projects_always))
        return OK;
    return net_linear(n, f->project, e->width, true, err);
}

/* --- the whole --- */

/* Where to look: [batch,1,1,tokens], true where the field is not 0. */
static status attention_mask(net *n, int64_t tokens, graph_val *ret, error *err)
{
    const data_field *f = net_find(n, "attention_mask", DT_I64);
    if (!f || strcmp(f->name, "attention_mask") != 0)
        return OK;
    TRY(net_field(n, f, ret, err));
    if (f->dtype != DT_BOOL)
        TRY(graph_add_1(n->g, OP_CAST, "attention_mask.bool", ret, 1, &(cast_attr){.to = DT_BOOL},
                        ret, err));
    graph_shape keys = {4, {n->request->batch_size, 1, 1, tokens}};
    return net_reshape(n, *ret, keys, ret, err);
}

static encoder encoder_of(const config *model, int64_t tokens)
{
    const encoder_family *family = encoder_family_of(model);
    int64_t width = config_int(model, "width");
    double dropout = config_has(model, "hidden_dropout") ? config_f64(model, "hidden_dropout")
                                                         : config_f64(model, "dropout");
    return (encoder){
        .family = family,
        .tokens = tokens,
        .width = width,
        .embedding_width = family->project ? net_option_or(model, "embedding_width", width) : width,
        .feedforward = net_option_or(model, "feedforward", 4 * width),
        .dropout = dropout,
        .head_dropout = net_share_or(model, "head_dropout", dropout),
        .epsilon = config_f64(model, "norm_epsilon"),
        .activation = config_str(model, "activation"),
        .attention = {.heads = config_int(model, "num_heads"),
                      .tokens = tokens,
                      .dropout = net_share_or(model, "attention_dropout", dropout),
                      .mask = GRAPH_NONE},
    };
}

status encoder_rows(net *n, const config *model, encoder *ret, error *err)
{
    graph_val ids;
    TRY(net_token_input(n, &ids, err));
    *ret = encoder_of(model, graph_value_at(n->g, ids)->shape.dim[1]);
    TRY(net_check_heads(n, ret->width, ret->attention.heads, err));
    TRY(net_vocabulary(n, &ret->vocabulary, err));
    TRY(attention_mask(n, ret->tokens, &ret->attention.mask, err));
    n->init = NET_NORMAL;
    n->deviation = deviation;
    TRY(encoder_embed(n, model, ret, ids, err));
    return encoder_layers(n, model, ret, err);
}

status build_encoder(net *n, const config *model, net_outputs *ret, error *err)
{
    encoder e;
    TRY(encoder_rows(n, model, &e, err));
    return encoder_head(n, model, &e, ret, err);
}
