/*
 * convnext_tiny, convnext_small, with torchvision's names and first weights. Liu, Mao, Wu, Feichtenhofer, Darrell, Xie:
 * A ConvNet for the 2020s, 2022.
 */
#include "model/blocks.h"
#include "model/builders.h"
#include "model/tokens.h"

#include <string.h>

enum { STAGES = 4 };

static const double epsilon = 1e-6;

static const struct {
    const char *type;
    int64_t depths[STAGES];
    double stochastic_depth;
} kinds[] = {
    {"convnext_tiny", {3, 3, 9, 3}, 0.1},
    {"convnext_small", {3, 3, 27, 3}, 0.4},
};

typedef struct convnext {
    int64_t depths[STAGES];
    double layer_scale, stochastic_depth;
    int64_t n_blocks, block; /* of all stages, and the one being built */
} convnext;

/* Over the channels of each pixel. */
static status norm_of_pixels(net *n, const char *name, error *err)
{
    graph_shape planes;
    TRY(net_rows_of_pixels(n, &planes, err));
    TRY(net_layer_norm(n, name, epsilon, err));
    return net_planes_of_rows(n, &planes, err);
}

/* Of rows, each channel by a number of its own. */
static status scale_channels(net *n, const convnext *c, const char *block, error *err)
{
    const int64_t channels = net_shape(n)->dim[1];
    graph_val in[2] = {n->end};
    TRY(net_constant(n, block, "layer_scale", (graph_shape){3, {channels, 1, 1}}, c->layer_scale, &in[1], err));
    TRY(net_reshape(n, in[1], (graph_shape){1, {channels}}, &in[1], err));
    return graph_add_1(n->g, OP_MUL, net_below(n, block, "scaled"), in, 2, NULL, &n->end, err);
}

static status add_block(net *n, convnext *c, const char *name, error *err)
{
    const graph_val before = n->end;
    const int64_t channels = net_shape(n)->dim[1];
    const conv_layer depthwise = {
        .filters = channels, .kernel = 7, .stride = 1, .padding = 3, .groups = channels, .bias = true};
    const double last = (double)c->n_blocks - 1.0, p = last > 0 ? c->stochastic_depth * (double)c->block / last : 0.0;
    graph_shape planes;
    c->block++;
    TRY(net_conv(n, net_below(n, name, "block.0"), &depthwise, err));
    TRY(net_rows_of_pixels(n, &planes, err));
    TRY(net_layer_norm(n, net_below(n, name, "block.2"), epsilon, err));
    TRY(net_linear(n, net_below(n, name, "block.3"), 4 * channels, true, err));
    TRY(net_activation(n, net_below(n, name, "block.4"), "gelu", err));
    TRY(net_linear(n, net_below(n, name, "block.5"), channels, true, err));
    TRY(scale_channels(n, c, name, err));
    TRY(net_planes_of_rows(n, &planes, err));
    return net_close_residual(n, name, p, before, err);
}

static status add_stages(net *n, convnext *c, error *err)
{
    arena *a = graph_arena(n->g);
    int k = 1;
    for (int s = 0; s < STAGES; s++, k++) {
        const conv_layer down = {
            .filters = 2 * net_shape(n)->dim[1], .kernel = 2, .stride = 2, .groups = 1, .bias = true};
        for (int64_t b = 0; b < c->depths[s]; b++)
            TRY(add_block(n, c, arena_printf(a, "features.%d.%lld", k, (long long)b), err));
        if (s + 1 == STAGES)
            break;
        k++;
        TRY(norm_of_pixels(n, arena_printf(a, "features.%d.0", k), err));
        TRY(net_conv(n, arena_printf(a, "features.%d.1", k), &down, err));
    }
    return OK;
}

static convnext convnext_of(const config *model)
{
    size_t i = 0;
    while (strcmp(kinds[i].type, config_str(model, "type")) != 0)
        BUG_ON(++i == COUNT_OF(kinds));
    const json_t *depths = config_json(model, "depths");
    convnext c = {.layer_scale = config_f64(model, "layer_scale"),
                  .stochastic_depth = net_share_or(model, "stochastic_depth_prob", kinds[i].stochastic_depth)};
    for (size_t s = 0; s < STAGES; s++) {
        c.depths[s] = depths ? json_integer_value(json_array_get(depths, s)) : kinds[i].depths[s];
        c.n_blocks += c.depths[s];
    }
    return c;
}

status build_convnext(net *n, const config *model, net_outputs *ret, error *err)
{
    convnext c = convnext_of(model);
    const conv_layer patches = {
        .filters = config_int(model, "width"), .kernel = 4, .stride = 4, .groups = 1, .bias = true};
    TRY(net_image_input(n, err));
    n->init = NET_NORMAL;
    n->deviation = 0.02;
    TRY(net_conv(n, "features.0.0", &patches, err));
    TRY(norm_of_pixels(n, "features.0.1", err));
    TRY(add_stages(n, &c, err));
    TRY(net_pool_features(n, err));
    TRY(net_layer_norm(n, "classifier.0", epsilon, err));
    return net_scores(n, "classifier.2", ret, err);
}
