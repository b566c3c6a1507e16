/*
 * densenet121: each layer reads all before it. With torchvision's names and first weights. Huang, Liu, van der Maaten,
 * Weinberger: Densely Connected Convolutional Networks, 2016.
 */
#include "model/blocks.h"
#include "model/builders.h"

typedef struct densenet {
    int64_t growth, bottleneck;
    double dropout;
} densenet;

/* "<name>.norm<k>", "<name>.relu<k>", "<name>.conv<k>" */
static status norm_and_conv(net *n, const char *name, const char *k, const conv_layer *c, error *err)
{
    const norm_layer norm = NORM_LAYER;
    arena *a = graph_arena(n->g);
    TRY(net_batch_norm(n, arena_printf(a, "%s.norm%s", name, k), norm.momentum, norm.epsilon, err));
    TRY(net_activation(n, arena_printf(a, "%s.relu%s", name, k), "relu", err));
    return net_conv(n, arena_printf(a, "%s.conv%s", name, k), c, err);
}

/* What a layer makes stands behind what it has read. */
static status add_layer(net *n, const densenet *d, const char *name, error *err)
{
    const graph_val before = n->end;
    const conv_layer narrow = {.filters = d->bottleneck * d->growth, .kernel = 1, .stride = 1, .groups = 1};
    const conv_layer spatial = {.filters = d->growth, .kernel = 3, .stride = 1, .padding = 1, .groups = 1};
    TRY(norm_and_conv(n, name, "1", &narrow, err));
    TRY(norm_and_conv(n, name, "2", &spatial, err));
    TRY(net_dropout(n, net_below(n, name, "drop"), d->dropout, err));
    const graph_val made = n->end;
    n->end = before;
    return net_concat_channels(n, net_below(n, name, "features"), made, err);
}

static status add_transition(net *n, const char *name, error *err)
{
    const conv_layer half = {.filters = net_shape(n)->dim[1] / 2, .kernel = 1, .stride = 1, .groups = 1};
    TRY(norm_and_conv(n, name, "", &half, err));
    return net_average_pool(n, net_below(n, name, "pool"), &(pool_layer){.kernel = 2, .stride = 2}, err);
}

static status add_stem(net *n, int64_t filters, error *err)
{
    const norm_layer norm = NORM_LAYER;
    const conv_layer conv = {.filters = filters, .kernel = 7, .stride = 2, .padding = 3, .groups = 1};
    TRY(net_conv_norm(n, "features.conv0", "features.norm0", &conv, &norm, err));
    TRY(net_activation(n, "features.relu0", "relu", err));
    return net_max_pool(n, "features.pool0", &(pool_layer){.kernel = 3, .stride = 2, .padding = 1}, err);
}

static status add_blocks(net *n, const config *model, const densenet *d, error *err)
{
    arena *a = graph_arena(n->g);
    const json_t *layers = config_json(model, "block_config");
    const size_t n_blocks = json_array_size(layers);
    for (size_t b = 0; b < n_blocks; b++) {
        const int64_t count = json_integer_value(json_array_get(layers, b));
        for (int64_t i = 0; i < count; i++)
            TRY(add_layer(n, d, arena_printf(a, "features.denseblock%zu.denselayer%lld", b + 1, (long long)i + 1),
                          err));
        if (b + 1 < n_blocks)
            TRY(add_transition(n, arena_printf(a, "features.transition%zu", b + 1), err));
    }
    return OK;
}

status build_densenet(net *n, const config *model, net_outputs *ret, error *err)
{
    const norm_layer norm = NORM_LAYER;
    const densenet d = {config_int(model, "growth_rate"), config_int(model, "bn_size"), config_f64(model, "dropout")};
    TRY(net_image_input(n, err));
    n->init = NET_FAN_IN;
    TRY(add_stem(n, config_int(model, "num_init_features"), err));
    TRY(add_blocks(n, model, &d, err));
    TRY(net_batch_norm(n, "features.norm5", norm.momentum, norm.epsilon, err));
    TRY(net_activation(n, "relu", "relu", err));
    TRY(net_pool_features(n, err));
    n->init = NET_PYTORCH;
    n->biases = NET_BIASES_ZERO;
    return net_scores(n, "classifier", ret, err);
}
