/*
 * GPT-2's shape of a decoder (Radford et al.: Language Models are Unsupervised Multitask Learners, 2019), with
 * Hugging Face's names and first weights: learned positions, norms before attention and feed-forward.
 */
#include "common/base/detmath.h"
#include "model/decoder.h"

static status gpt2_block(net *n, const decoder *d, const char *name, error *err)
{
    double into_residual = d->deviation / det_sqrt(2.0 * (double)d->layers); /* of weights that end a branch */
    graph_val x = n->end;
    TRY(net_layer_norm(n, net_below(n, name, "ln_1"), d->epsilon, err));
    TRY(net_conv1d(n, net_below(n, name, "attn.c_attn"), 3 * d->width, 0.0, err));
    TRY(net_attention(n, net_below(n, name, "attn"), &d->attention, err));
    TRY(net_conv1d(n, net_below(n, name, "attn.c_proj"), d->width, into_residual, err));
    TRY(net_close_branch(n, net_below(n, name, "attn"), d->dropout, x, err));
    x = n->end;
    TRY(net_layer_norm(n, net_below(n, name, "ln_2"), d->epsilon, err));
    TRY(net_conv1d(n, net_below(n, name, "mlp.c_fc"), d->feedforward, 0.0, err));
    TRY(net_activation(n, net_below(n, name, "mlp.act"), d->activation, err));
    TRY(net_conv1d(n, net_below(n, name, "mlp.c_proj"), d->width, into_residual, err));
    return net_close_branch(n, net_below(n, name, "mlp"), d->dropout, x, err);
}

/* The sum of what stands for each token and for its place. */
static status gpt2_embed(net *n, const decoder *d, graph_val ids, graph_val *ret_table, error *err)
{
    graph_val sum[2];
    tensor_decl positions = {.rank = 2,
                             .dim = {d->places, d->width},
                             .kind = TENSOR_TRAINABLE,
                             .init = {.kind = INIT_NORMAL, .b = (float)d->deviation},
                             .decay = true};
    TRY(net_embedding(n, "wte", d->vocabulary, d->width, ids, ret_table, &sum[0], err));
    TRY(net_param(n, "wpe", "weight", positions, &sum[1], err));
    const slice_attr used = {.n_axes = 1, .axes = {0}, .end = {d->tokens}, .step = {1}};
    if (d->tokens < d->places)
        TRY(graph_add_1(n->g, OP_SLICE, "wpe", &sum[1], 1, &used, &sum[1], err));
    TRY(graph_add_1(n->g, OP_ADD, "embed", sum, 2, NULL, &n->end, err));
    graph_shape rows = {2, {n->request->batch_size * d->tokens, d->width}};
    TRY(net_reshape(n, n->end, rows, &n->end, err));
    return net_dropout(n, "drop", d->dropout, err);
}

static status no_key(const config *model, const char *key, error *err)
{
    return FAIL(err, E_CONFIG, "%s.%s: a network 'gpt2' has none; leave it out, or null", config_path(model), key);
}

status build_gpt2(net *n, const config *model, const decoder *d, graph_val ids, graph_val *ret_table, error *err)
{
    static const char *const of_llama[] = {"num_kv_heads", "head_dim", "rope_theta", "rope_scaling",
                                           "attention_bias", "mlp_bias"};
    for (size_t i = 0; i < COUNT_OF(of_llama); i++)
        if (config_has(model, of_llama[i]))
            return no_key(model, of_llama[i], err);
    TRY(net_check_heads(n, d->width, d->attention.heads, err));
    TRY(gpt2_embed(n, d, ids, ret_table, err));
    for (int64_t i = 0; i < d->layers; i++)
        TRY(gpt2_block(n, d, arena_printf(graph_arena(n->g), "h.%lld", (long long)i), err));
    return net_layer_norm(n, "ln_f", d->epsilon, err);
}
