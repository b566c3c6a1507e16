/*
 * transformer_lm: a decoder of one of the families below, whose scores come from the table of tokens again or
 * from a layer of their own.
 *
 * Tokens int64 [batch, tokens] -> scores of the token behind each, [batch, tokens, vocabulary].
 */
#include "model/builders.h"
#include "model/decoder.h"

#include <string.h>

static const double deviation = 0.02;

#define LLAMA_SHAPE                                                                                                    \
    .names = {"model.", "model."}, .table = "model.embed_tokens.weight", .activation = "silu", .build = build_llama

static const decoder_family families[] = {
    {
        .name = "gpt2", /* Radford et al., 2019 */
        .class_name = "GPT2LMHeadModel",
        .names = {"transformer.", ""},
        .table = "wte.weight",
        .places = "wpe.weight",
        .activation = "gelu_tanh",
        .dropout = 0.1,
        .is_tied = true,
        .build = build_gpt2,
    },
    {.name = "llama", .class_name = "LlamaForCausalLM", LLAMA_SHAPE},     /* Touvron et al., 2302.13971 */
    {.name = "mistral", .class_name = "MistralForCausalLM", LLAMA_SHAPE}, /* Jiang et al., 2310.06825 */
    {.name = "qwen2", .class_name = "Qwen2ForCausalLM", .qkv_bias = true, LLAMA_SHAPE}, /* Yang et al., 2407.10671 */
};

const decoder_family *decoder_family_of(const config *model)
{
    if (strcmp(config_str(model, "type"), "transformer_lm") != 0)
        return NULL;
    for (size_t i = 0; i < COUNT_OF(families); i++)
        if (strcmp(families[i].name, config_str(model, "network")) == 0)
            return &families[i];
    return NULL;
}

static decoder decoder_of(const net *n, const config *model, int64_t tokens)
{
    const decoder_family *f = decoder_family_of(model);
    int64_t width = config_int(model, "width");
    double dropout = net_share_or(model, "dropout", f->dropout);
    return (decoder){
        .family = f,
        .layers = config_int(model, "num_layers"),
        .tokens = tokens,
        .places = net_option_or(model, "context", tokens),
        .width = width,
        .feedforward = net_option_or(model, "feedforward", 4 * width),
        .vocabulary = net_option_or(model, "vocabulary", n->loss->features),
        .dropout = dropout,
        .epsilon = config_f64(model, "norm_epsilon"),
        .deviation = deviation,
        .activation = config_has(model, "activation") ? config_str(model, "activation") : f->activation,
        .is_tied = config_has(model, "tie_word_embeddings") ? config_bool(model, "tie_word_embeddings") : f->is_tied,
        .attention = {.heads = config_int(model, "num_heads"),
                      .tokens = tokens,
                      .causal = true,
                      .dropout = net_share_or(model, "attention_dropout", dropout),
                      .mask = GRAPH_NONE},
    };
}

static status check_decoder(const config *model, const decoder *d, error *err)
{
    const char *path = config_path(model);
    if (d->vocabulary < 1)
        return FAIL(err, E_CONFIG, "%s.vocabulary: null, and the data do not say how many tokens there are", path);
    if (d->tokens > d->places)
        return FAIL(err, E_CONFIG, "%s.context: %lld positions are too few for the data's %lld", path,
                    (long long)d->places, (long long)d->tokens);
    if (d->family->is_tied && !d->is_tied)
        return FAIL(err, E_CONFIG, "%s.tie_word_embeddings: the last layer of a network '%s' is its table of tokens",
                    path, d->family->name);
    return OK;
}

static status decoder_scores(net *n, const decoder *d, graph_val table, net_outputs *ret, error *err)
{
    graph_shape scores = {3, {n->request->batch_size, d->tokens, d->vocabulary}};
    if (d->is_tied)
        TRY(graph_add_1(n->g, OP_GEMM, "head", (graph_val[]){n->end, table}, 2,
                        &(gemm_attr){GEMM_UNSCALED, .trans_b = true}, &n->end, err));
    else
        TRY(net_linear(n, "lm_head", d->vocabulary, false, err));
    TRY(net_reshape(n, n->end, scores, &n->end, err));
    ret->at[ret->n++] = n->end;
    return OK;
}

status build_transformer_lm(net *n, const config *model, net_outputs *ret, error *err)
{
    graph_val ids, table;
    TRY(net_token_input(n, &ids, err));
    decoder d = decoder_of(n, model, graph_value_at(n->g, ids)->shape.dim[1]);
    TRY(check_decoder(model, &d, err));
    n->init = NET_NORMAL;
    n->deviation = deviation;
    TRY(d.family->build(n, model, &d, ids, &table, err));
    return decoder_scores(n, &d, table, ret, err);
}
