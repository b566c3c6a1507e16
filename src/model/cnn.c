/* cnn: convolutions that keep the size, each followed by an activation and 2x2 max pooling. */
#include "model/builders.h"

static status cnn_block(net *n, const config *model, size_t k, int64_t filters, error *err)
{
    arena *a = graph_arena(n->g);
    const char *activation = config_str(model, "activation");
    bool normalised = config_bool(model, "batch_norm");
    conv_layer conv = {
        .filters = filters,
        .kernel = config_int(model, "kernel"),
        .stride = 1,
        .padding = PADDING_SAME,
        .groups = 1,
        .bias = !normalised, /* the norm's own bias takes its place */
    };
    TRY(net_conv(n, arena_printf(a, "conv%zu", k), &conv, err));
    if (normalised)
        TRY(net_batch_norm(n, arena_printf(a, "bn%zu", k), 0.9, 1e-5, err));
    TRY(net_activation(n, arena_printf(a, "conv%zu.%s", k, activation), activation, err));
    return net_max_pool(n, arena_printf(a, "pool%zu", k), &(pool_layer){.kernel = 2, .stride = 2},
                        err);
}

status build_convolutions(net *n, const config *model, error *err)
{
    const json_t *channels = config_json(model, "channels");
    for (size_t i = 0; i < config_count(model, "channels"); i++)
        TRY(cnn_block(n, model, i + 1, json_integer_value(json_array_get(channels, i)), err));
    return OK;
}

status build_cnn(net *n, const config *model, net_outputs *ret, error *err)
{
    TRY(net_input(n, NULL, DT_F32, &n->end, err));
    TRY(build_convolutions(n, model, err));
    return build_head(n, model, ret, err);
}
