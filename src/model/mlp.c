/* mlp: linear layers with an activation between; and the linear end it shares with cnn. */
#include "model/builders.h"

/* The defaults PyTorch gives a batch norm layer. */
static const double momentum = 0.9, epsilon = 1e-5;

static status hidden_layer(net *n, const config *model, size_t k, int64_t features, error *err)
{
    arena *a = graph_arena(n->g);
    const char *activation = config_str(model, "activation");
    bool normalised = config_bool(model, "batch_norm");
    TRY(net_linear(n, arena_printf(a, "fc%zu", k), features, !normalised, err));
    if (normalised)
        TRY(net_batch_norm(n, arena_printf(a, "fc_bn%zu", k), momentum, epsilon, err));
    TRY(net_activation(n, arena_printf(a, "fc%zu.%s", k, activation), activation, err));
    return net_dropout(n, arena_printf(a, "dropout%zu", k), config_f64(model, "dropout"), err);
}

status build_head(net *n, const config *model, net_outputs *ret, error *err)
{
    TRY(net_flatten(n, "flatten", err));
    const json_t *hidden = config_json(model, "hidden");
    size_t n_hidden = config_count(model, "hidden");
    for (size_t i = 0; i < n_hidden; i++)
        TRY(hidden_layer(n, model, i + 1, json_integer_value(json_array_get(hidden, i)), err));
    return net_scores(n, arena_printf(graph_arena(n->g), "fc%zu", n_hidden + 1), ret, err);
}

status build_mlp(net *n, const config *model, net_outputs *ret, error *err)
{
    TRY(net_input(n, NULL, DT_F32, &n->end, err));
    return build_head(n, model, ret, err);
}
