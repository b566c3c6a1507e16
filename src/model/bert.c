/*
 * bert: an encoder (Devlin, Chang, Lee, Toutanova: BERT, 2018) with Hugging Face's names and first
 * weights, and one of its heads: qa gives two scores a token, tokens the scores of each token's
 * classes, sequence those of the whole text's, from its first token.
 *
 * Fields: input_ids int64 [tokens]; where there are any, token_type_ids int64 [tokens],
 * attention_mask [tokens], of any type, 0 where nothing is to be looked at, and, for qa, context_mask
 * int64 [tokens], 0 where no answer may be.
 */
#include "model/builders.h"
#include "model/tokens.h"

#include <string.h>

static const double epsilon = 1e-12, deviation = 0.02;

typedef struct encoder {
    int64_t tokens, width, feedforward;
    double dropout;
    const char *activation;
    attention_layer attention;
} encoder;

/* "<prefix>.dense" over the end, plus x, then "<prefix>.LayerNorm". */
static status output(net *n, const encoder *e, const char *prefix, graph_val x, error *err)
{
    TRY(net_linear(n, net_below(n, prefix, "dense"), e->width, true, err));
    TRY(net_dropout(n, net_below(n, prefix, "dropout"), e->dropout, err));
    TRY(net_add(n, net_below(n, prefix, "add"), x, err));
    return net_layer_norm(n, net_below(n, prefix, "LayerNorm"), epsilon, err);
}

static status bert_layer(net *n, const encoder *e, const char *name, error *err)
{
    static const char *const parts[3] = {"query", "key", "value"};
    graph_val x = n->end, qkv[3];
    const char *self = net_below(n, name, "attention.self");
    for (int i = 0; i < 3; i++) {
        n->end = x;
        TRY(net_linear(n, net_below(n, self, parts[i]), e->width, true, err));
        qkv[i] = n->end;
    }
    TRY(net_attention_of(n, self, &e->attention, qkv, err));
    TRY(output(n, e, net_below(n, name, "attention.output"), x, err));
    x = n->end;
    TRY(net_linear(n, net_below(n, name, "intermediate.dense"), e->feedforward, true, err));
    TRY(net_activation(n, net_below(n, name, "intermediate.act"), e->activation, err));
    return output(n, e, net_below(n, name, "output"), x, err);
}

/* [batch, tokens, width] + a table's rows for the ids of an optional field, else its first row */
static status add_types(net *n, const config *model, int64_t width, graph_val sum[2], error *err)
{
    static const char name[] = "bert.embeddings.token_type_embeddings";
    int64_t types = config_int(model, "token_types");
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
    return graph_add_1(n->g, OP_ADD, "bert.embeddings.types", sum, 2, NULL, &sum[0], err);
}

static status bert_embed(net *n, const config *model, const encoder *e, graph_val ids, error *err)
{
    int64_t places = config_int(model, "context");
    graph_val table, sum[2];
    tensor_decl positions = {.rank = 2,
                             .dim = {places, e->width},
                             .kind = TENSOR_TRAINABLE,
                             .init = {.kind = INIT_NORMAL, .b = (float)deviation},
                             .decay = true};
    TRY(net_embedding(n, "bert.embeddings.word_embeddings", config_int(model, "vocabulary"),
                      e->width, ids, &table, &sum[0], err));
    TRY(add_types(n, model, e->width, sum, err));
    TRY(net_param(n, "bert.embeddings.position_embeddings", "weight", positions, &sum[1], err));
    const slice_attr used = {.n_axes = 1, .axes = {0}, .end = {e->tokens}, .step = {1}};
    if (e->tokens < places)
        TRY(graph_add_1(n->g, OP_SLICE, "bert.embeddings.positions", &sum[1], 1, &used, &sum[1],
                        err));
    TRY(graph_add_1(n->g, OP_ADD, "bert.embeddings.add", sum, 2, NULL, &n->end, err));
    graph_shape rows = {2, {n->request->batch_size * e->tokens, e->width}};
    TRY(net_reshape(n, n->end, rows, &n->end, err));
    TRY(net_layer_norm(n, "bert.embeddings.LayerNorm", epsilon, err));
    return net_dropout(n, "bert.embeddings.dropout", e->dropout, err);
}

static status per_token(net *n, const encoder *e, const char *name, int64_t features,
                        net_outputs *ret, error *err)
{
    TRY(net_linear(n, name, features, true, err));
    graph_shape scores = {3, {n->request->batch_size, e->tokens, features}};
    TRY(net_reshape(n, n->end, scores, &n->end, err));
    ret->at[ret->n++] = n->end;
    return OK;
}

/* The first token's row, through the pooler, to the classes. */
static status whole_text(net *n, const encoder *e, net_outputs *ret, error *err)
{
    int64_t batch = n->request->batch_size;
    const slice_attr first = {.n_axes = 1, .axes = {1}, .end = {1}, .step = {1}};
    TRY(net_reshape(n, n->end, (graph_shape){3, {batch, e->tokens, e->width}}, &n->end, err));
    TRY(graph_add_1(n->g, OP_SLICE, "bert.pooler.first", &n->end, 1, &first, &n->end, err));
    TRY(net_reshape(n, n->end, (graph_shape){2, {batch, e->width}}, &n->end, err));
    TRY(net_linear(n, "bert.pooler.dense", e->width, true, err));
    TRY(net_activation(n, "bert.pooler.activation", "tanh", err));
    TRY(net_dropout(n, "dropout", e->dropout, err));
    return net_scores(n, "classifier", ret, err);
}

static status head(net *n, const config *model, const encoder *e, net_outputs *ret, error *err)
{
    const char *kind = config_str(model, "head");
    if (strcmp(kind, "qa") == 0) {
        TRY(per_token(n, e, "qa_outputs", 2, ret, err));
        return net_mask_positions(n, &ret->at[0], err);
    }
    if (n->loss->features < 1)
        return FAIL(err, E_CONFIG, "%s.head: the data do not say how many scores it has to give",
                    config_path(model));
    if (strcmp(kind, "tokens") == 0) {
        TRY(net_dropout(n, "dropout", e->dropout, err));
        return per_token(n, e, "classifier", n->loss->features, ret, err);
    }
    return whole_text(n, e, ret, err);
}

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

status build_bert(net *n, const config *model, net_outputs *ret, error *err)
{
    graph_val ids;
    TRY(net_token_input(n, &ids, err));
    int64_t width = config_int(model, "width"), places = config_int(model, "context");
    encoder e = {
        .tokens = graph_value_at(n->g, ids)->shape.dim[1],
        .width = width,
        .feedforward = net_option_or(model, "feedforward", 4 * width),
        .dropout = config_f64(model, "dropout"),
        .activation = config_str(model, "activation"),
        .attention = {.heads = config_int(model, "num_heads"),
                      .dropout = config_f64(model, "dropout"),
                      .mask = GRAPH_NONE},
    };
    e.attention.tokens = e.tokens;
    TRY(net_check_heads(n, width, e.attention.heads, err));
    TRY(net_check_tokens(n, config_int(model, "vocabulary"), err));
    if (e.tokens > places)
        return FAIL(err, E_CONFIG, "%s.context: %lld positions are too few for the data's %lld",
                    config_path(model), (long long)places, (long long)e.tokens);
    TRY(attention_mask(n, e.tokens, &e.attention.mask, err));
    n->init = NET_NORMAL;
    n->deviation = deviation;
    TRY(bert_embed(n, model, &e, ids, err));
    for (int64_t i = 0; i < config_int(model, "num_layers"); i++)
        TRY(bert_layer(n, &e, arena_printf(graph_arena(n->g), "bert.encoder.layer.%lld", (long long)i),
                       err));
    return head(n, model, &e, ret, err);
}
