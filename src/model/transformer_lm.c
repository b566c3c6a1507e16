/*
 * transformer_lm: a decoder as GPT-2's (Radford et al.: Language Models are Unsupervised Multitask
 * Learners, 2019), with Hugging Face's names and first weights: learned positions, norms before
 * attention and feed-forward, the table of tokens again as the last layer.
 *
 * Tokens int64 [batch, tokens] -> scores of the token behind each, [batch, tokens, vocabulary].
 */
#include "common/base/detmath.h"
#include "model/builders.h"
#include "model/tokens.h"

static const double deviation = 0.02;

typedef struct decoder {
    int64_t tokens, width, feedforward, vocabulary;
    double dropout, epsilon, into_residual; /* deviation of the weights that end a branch */
    const char *activation;
    attention_layer attention;
} decoder;

/* x + what `end` holds, then the next begins there. */
static status close_branch(net *n, const char *name, double dropout, graph_val x, error *err)
{
    TRY(net_dropout(n, arena_printf(graph_arena(n->g), "%s.drop", name), dropout, err));
    return net_add(n, arena_printf(graph_arena(n->g), "%s.add", name), x, err);
}

static status transformer_lm_block(net *n, const decoder *d, const char *name, error *err)
{
    arena *a = graph_arena(n->g);
    graph_val x = n->end;
    TRY(net_layer_norm(n, arena_printf(a, "%s.ln_1", name), d->epsilon, err));
    TRY(net_conv1d(n, arena_printf(a, "%s.attn.c_attn", name), 3 * d->width, 0.0, err));
    TRY(net_attention(n, arena_printf(a, "%s.attn", name), &d->attention, err));
    TRY(net_conv1d(n, arena_printf(a, "%s.attn.c_proj", name), d->width, d->into_residual, err));
    TRY(close_branch(n, arena_printf(a, "%s.attn", name), d->dropout, x, err));
    x = n->end;
    TRY(net_layer_norm(n, arena_printf(a, "%s.ln_2", name), d->epsilon, err));
    TRY(net_conv1d(n, arena_printf(a, "%s.mlp.c_fc", name), d->feedforward, 0.0, err));
    TRY(net_activation(n, arena_printf(a, "%s.mlp.act", name), d->activation, err));
    TRY(net_conv1d(n, arena_printf(a, "%s.mlp.c_proj", name), d->width, d->into_residual, err));
    return close_branch(n, arena_printf(a, "%s.mlp", name), d->dropout, x, err);
}

/* The sum of what stands for each token and for its place. */
static status transformer_lm_embed(net *n, const decoder *d, int64_t places, graph_val ids,
                                   graph_val *ret_table, error *err)
{
    graph_val sum[2];
    tensor_decl positions = {.rank = 2,
                             .dim = {places, d->width},
                             .kind = TENSOR_TRAINABLE,
                             .init = {.kind = INIT_NORMAL, .b = (float)deviation},
                             .decay = true};
    TRY(net_embedding(n, "wte", d->vocabulary, d->width, ids, ret_table, &sum[0], err));
    TRY(net_param(n, "wpe", "weight", positions, &sum[1], err));
    const slice_attr used = {.n_axes = 1, .axes = {0}, .end = {d->tokens}, .step = {1}};
    if (d->tokens < places)
        TRY(graph_add_1(n->g, OP_SLICE, "wpe", &sum[1], 1, &used, &sum[1], err));
    TRY(graph_add_1(n->g, OP_ADD, "embed", sum, 2, NULL, &n->end, err));
    graph_shape rows = {2, {n->request->batch_size * d->tokens, d->width}};
    TRY(net_reshape(n, n->end, rows, &n->end, err));
    return net_dropout(n, "drop", d->dropout, err);
}

static status decoder_of(const net *n, const config *model, int64_t tokens, decoder *ret,
                         error *err)
{
    int64_t width = config_int(model, "width"), layers = config_int(model, "num_layers");
    *ret = (decoder){
        .tokens = tokens,
        .width = width,
        .feedforward = net_option_or(model, "feedforward", 4 * width),
        .vocabulary = net_option_or(model, "vocabulary", n->loss->features),
        .dropout = config_f64(model, "dropout"),
        .epsilon = config_f64(model, "norm_epsilon"),
        .into_residual = deviation / det_sqrt(2.0 * (double)layers),
        .activation = config_str(model, "activation"),
        .attention = {.heads = config_int(model, "num_heads"),
                      .tokens = tokens,
                      .causal = true,
                      .dropout = net_share_or(model, "attention_dropout", config_f64(model, "dropout")),
                      .mask = GRAPH_NONE},
    };
    if (ret->vocabulary < 1)
        return FAIL(err, E_CONFIG,
                    "%s.vocabulary: null, and the data do not say how many tokens there are",
                    config_path(model));
    return net_check_heads(n, width, ret->attention.heads, err);
}

status build_transformer_lm(net *n, const config *model, net_outputs *ret, error *err)
{
    decoder d;
    graph_val ids, table;
    TRY(net_token_input(n, &ids, err));
    int64_t tokens = graph_value_at(n->g, ids)->shape.dim[1];
    int64_t places = net_option_or(model, "context", tokens);
    TRY(decoder_of(n, model, tokens, &d, err));
    if (tokens > places)
        return FAIL(err, E_CONFIG, "%s.context: %lld positions are too few for the data's %lld",
                    config_path(model), (long long)places, (long long)tokens);
    n->init = NET_NORMAL;
    n->deviation = deviation;
    TRY(transformer_lm_embed(n, &d, places, ids, &table, err));
    for (int64_t i = 0; i < config_int(model, "num_layers"); i++)
        TRY(transformer_lm_block(n, &d, arena_printf(graph_arena(n->g), "h.%lld", (long long)i), err));
    TRY(net_layer_norm(n, "ln_f", d.epsilon, err));
    TRY(graph_add_1(n->g, OP_GEMM, "head", (graph_val[]){n->end, table}, 2,
                    &(gemm_attr){GEMM_UNSCALED, .trans_b = true}, &n->end, err));
    graph_shape scores = {3, {n->request->batch_size, tokens, d.vocabulary}};
    TRY(net_reshape(n, n->end, scores, &n->end, err));
    ret->at[ret->n++] = n->end;
    return OK;
}
