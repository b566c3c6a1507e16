/*
 * efficientnet_b0 to efficientnet_b3, with torchvision's names and first weights. Tan, Le: EfficientNet, Rethinking
 * Model Scaling for Convolutional Neural Networks, 2019.
 */
#include "model/blocks.h"
#include "model/builders.h"

#include <string.h>

enum { STAGES = 7, UNIT = 8 };

static const struct {
    const char *type;
    double width, depth, dropout;
} kinds[] = {
    {"efficientnet_b0", 1.0, 1.0, 0.2},
    {"efficientnet_b1", 1.0, 1.1, 0.2},
    {"efficientnet_b2", 1.1, 1.2, 0.3},
    {"efficientnet_b3", 1.2, 1.4, 0.3},
};

/* Blocks of a stage, of which the first has the stride. */
typedef struct stage {
    int64_t expand, kernel, stride, out, blocks;
} stage;

/* Of efficientnet_b0. */
static const stage stages[STAGES] = {
    {1, 3, 1, 16, 1},  {6, 3, 2, 24, 2},  {6, 5, 2, 40, 2},  {6, 3, 2, 80, 3},
    {6, 5, 1, 112, 3}, {6, 5, 2, 192, 4}, {6, 3, 1, 320, 1},
};

typedef struct efficientnet {
    double width, depth, dropout, stochastic_depth;
    int64_t n_blocks, block; /* of all stages, and the one being built */
} efficientnet;

static int64_t channels_of(const efficientnet *e, int64_t channels)
{
    return blocks_divisible((double)channels * e->width, UNIT);
}

static int64_t blocks_of(const efficientnet *e, const stage *s)
{
    double blocks = (double)s->blocks * e->depth;
    return (int64_t)blocks + (blocks > (double)(int64_t)blocks);
}

static status add_block(net *n, efficientnet *e, const char *name, const stage *s, int64_t stride, error *err)
{
    arena *a = graph_arena(n->g);
    const norm_layer norm = NORM_LAYER;
    const graph_val before = n->end;
    const int64_t in = net_shape(n)->dim[1], out = channels_of(e, s->out);
    const int64_t wide = blocks_divisible((double)(in * s->expand), UNIT);
    const conv_layer expand = {.filters = wide, .kernel = 1, .stride = 1, .groups = 1};
    const conv_layer project = {.filters = out, .kernel = 1, .stride = 1, .groups = 1};
    const conv_layer depthwise = {
        .filters = wide, .kernel = s->kernel, .stride = stride, .padding = s->kernel / 2, .groups = wide};
    const squeeze_layer squeeze = {in / 4 > 1 ? in / 4 : 1, "silu", "sigmoid"};
    const double p = e->stochastic_depth * (double)e->block++ / (double)e->n_blocks;
    int k = 0;
    if (wide != in)
        TRY(net_conv_block(n, arena_printf(a, "%s.block.%d", name, k++), &expand, &norm, "silu", err));
    TRY(net_conv_block(n, arena_printf(a, "%s.block.%d", name, k++), &depthwise, &norm, "silu", err));
    TRY(net_squeeze_excite(n, arena_printf(a, "%s.block.%d", name, k++), &squeeze, err));
    TRY(net_conv_block(n, arena_printf(a, "%s.block.%d", name, k), &project, &norm, NULL, err));
    return stride == 1 && in == out ? net_close_residual(n, name, p, before, err) : OK;
}

static status add_features(net *n, efficientnet *e, error *err)
{
    const norm_layer norm = NORM_LAYER;
    conv_layer conv = {.filters = channels_of(e, 32), .kernel = 3, .stride = 2, .padding = 1, .groups = 1};
    TRY(net_conv_block(n, "features.0", &conv, &norm, "silu", err));
    for (int s = 0; s < STAGES; s++)
        for (int64_t b = 0; b < blocks_of(e, &stages[s]); b++)
            TRY(add_block(n, e, arena_printf(graph_arena(n->g), "features.%d.%lld", s + 1, (long long)b), &stages[s],
                          b ? 1 : stages[s].stride, err));
    conv = (conv_layer){.filters = 4 * net_shape(n)->dim[1], .kernel = 1, .stride = 1, .groups = 1};
    return net_conv_block(n, "features.8", &conv, &norm, "silu", err);
}

static efficientnet efficientnet_of(const config *model)
{
    size_t i = 0;
    while (strcmp(kinds[i].type, config_str(model, "type")) != 0)
        BUG_ON(++i == COUNT_OF(kinds));
    efficientnet e = {.width = net_share_or(model, "width_mult", kinds[i].width),
                      .depth = net_share_or(model, "depth_mult", kinds[i].depth),
                      .dropout = net_share_or(model, "dropout", kinds[i].dropout),
                      .stochastic_depth = config_f64(model, "stochastic_depth_prob")};
    for (int s = 0; s < STAGES; s++)
        e.n_blocks += blocks_of(&e, &stages[s]);
    return e;
}

status build_efficientnet(net *n, const config *model, net_outputs *ret, error *err)
{
    efficientnet e = efficientnet_of(model);
    TRY(net_image_input(n, err));
    n->init = NET_FAN_OUT;
    TRY(add_features(n, &e, err));
    TRY(net_pool_features(n, err));
    TRY(net_dropout(n, "classifier.0", e.dropout, err));
    n->init = NET_BY_OUTPUTS;
    return net_scores(n, "classifier.1", ret, err);
}
