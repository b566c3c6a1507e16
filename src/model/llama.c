/*
 * Llama's shape of a decoder (Touvron et al., 2302.13971; Grattafiori et al., 2407.21783), with Hugging Face's
 * names and first weights: norms by the root mean square before attention and feed-forward, queries and keys
 * turned by their positions (Su et al., 2104.09864), fewer heads of keys and values than of queries (Ainslie et
 * al., 2305.13245), and a feed-forward one of whose factors is a gate (Shazeer, 2002.05202).
 */
#include "model/decoder.h"
#include "model/rope.h"

typedef struct llama {
    const decoder *d;
    attention_layer attention;
    rotation turn;
    int64_t head; /* numbers of a head */
    bool qkv_bias, bias, mlp_bias;
} llama;

static status llama_attention(net *n, const llama *l, const char *name, error *err)
{
    const char *const parts[3] = {"q_proj", "k_proj", "v_proj"};
    const int64_t heads[3] = {l->attention.heads, l->attention.kv_heads, l->attention.kv_heads};
    graph_val x = n->end, qkv[3];
    for (int i = 0; i < 3; i++) {
        n->end = x;
        TRY(net_linear(n, net_below(n, name, parts[i]), heads[i] * l->head, l->qkv_bias, err));
        qkv[i] = n->end;
    }
    TRY(net_attention_of(n, name, &l->attention, qkv, err));
    return net_linear(n, net_below(n, name, "o_proj"), l->d->width, l->bias, err);
}

/* down(act(gate(x)) * up(x)) */
static status llama_feedforward(net *n, const llama *l, const char *name, error *err)
{
    const decoder *d = l->d;
    graph_val x = n->end, in[2];
    TRY(net_linear(n, net_below(n, name, "gate_proj"), d->feedforward, l->mlp_bias, err));
    TRY(net_activation(n, net_below(n, name, "act_fn"), d->activation, err));
    in[0] = n->end;
    n->end = x;
    TRY(net_linear(n, net_below(n, name, "up_proj"), d->feedforward, l->mlp_bias, err));
    in[1] = n->end;
    TRY(graph_add_1(n->g, OP_MUL, net_below(n, name, "gated"), in, 2, NULL, &n->end, err));
    return net_linear(n, net_below(n, name, "down_proj"), d->width, l->mlp_bias, err);
}

static status llama_block(net *n, const llama *l, const char *name, error *err)
{
    const decoder *d = l->d;
    graph_val x = n->end;
    TRY(net_rms_norm(n, net_below(n, name, "input_layernorm"), d->epsilon, err));
    TRY(llama_attention(n, l, net_below(n, name, "self_attn"), err));
    TRY(net_close_branch(n, net_below(n, name, "self_attn"), d->dropout, x, err));
    x = n->end;
    TRY(net_rms_norm(n, net_below(n, name, "post_attention_layernorm"), d->epsilon, err));
    TRY(llama_feedforward(n, l, net_below(n, name, "mlp"), err));
    return net_close_branch(n, net_below(n, name, "mlp"), d->dropout, x, err);
}

static status llama_of(const net *n, const config *model, const decoder *d, llama *ret, error *err)
{
    int64_t heads = d->attention.heads, kv_heads = net_option_or(model, "num_kv_heads", heads);
    bool bias = config_has(model, "attention_bias") && config_bool(model, "attention_bias");
    *ret = (llama){.d = d, .attention = d->attention, .bias = bias, .qkv_bias = bias || d->family->qkv_bias};
    ret->mlp_bias = config_has(model, "mlp_bias") && config_bool(model, "mlp_bias");
    ret->attention.kv_heads = kv_heads;
    if (!config_has(model, "head_dim"))
        TRY(net_check_heads(n, d->width, heads, err));
    ret->head = net_option_or(model, "head_dim", d->width / heads);
    if (heads % kv_heads != 0)
        return FAIL(err, E_CONFIG, "%s: num_kv_heads %lld does not divide num_heads %lld", config_path(model),
                    (long long)kv_heads, (long long)heads);
    if (ret->head % 2 != 0)
        return FAIL(err, E_CONFIG, "%s: a head of %lld numbers cannot be turned; expected an even number",
                    config_path(model), (long long)ret->head);
    return OK;
}

status build_llama(net *n, const config *model, const decoder *d, graph_val ids, graph_val *ret_table, error *err)
{
    llama l;
    TRY(llama_of(n, model, d, &l, err));
    TRY(net_embedding(n, "model.embed_tokens", d->vocabulary, d->width, ids, ret_table, &n->end, err));
    graph_shape rows = {2, {n->request->batch_size * d->tokens, d->width}};
    TRY(net_reshape(n, n->end, rows, &n->end, err));
    TRY(net_dropout(n, "model.embed_tokens.drop", d->dropout, err));
    TRY(rope_angles(n, model, l.head, d->tokens, &l.turn, err));
    l.attention.turn = &l.turn;
    for (int64_t i = 0; i < d->layers; i++)
        TRY(llama_block(n, &l, arena_printf(graph_arena(n->g), "model.layers.%lld", (long long)i), err));
    return net_rms_norm(n, "model.norm", d->epsilon, err);
}
