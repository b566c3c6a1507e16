/*
 * mobilenet_v3_small, mobilenet_v3_large, with torchvision's names and first weights. Howard, Sandler, et al.:
 * Searching for MobileNetV3, 2019.
 */
#include "model/mobilenet.h"

#include "model/blocks.h"
#include "model/builders.h"

#include <string.h>

enum { MOST_BLOCKS = 15, UNIT = 8 };

static const norm_layer norm = {.momentum = 0.99, .epsilon = 1e-3, .scale = 1.0};

/* An inverted residual: wide within, narrow outside. */
typedef struct residual {
    int64_t kernel, wide, out;
    bool squeezes;
    const char *activation;
    int64_t stride;
    bool is_last_stage;
} residual;

struct mobilenet {
    const char *type;
    int64_t hidden;
    residual blocks[MOST_BLOCKS];
};

#define RE "relu"
#define HS "hardswish"

static const mobilenet kinds[] = {
    {"mobilenet_v3_large",
     1280,
     {{3, 16, 16, false, RE, 1, false},
      {3, 64, 24, false, RE, 2, false},
      {3, 72, 24, false, RE, 1, false},
      {5, 72, 40, true, RE, 2, false},
      {5, 120, 40, true, RE, 1, false},
      {5, 120, 40, true, RE, 1, false},
      {3, 240, 80, false, HS, 2, false},
      {3, 200, 80, false, HS, 1, false},
      {3, 184, 80, false, HS, 1, false},
      {3, 184, 80, false, HS, 1, false},
      {3, 480, 112, true, HS, 1, false},
      {3, 672, 112, true, HS, 1, false},
      {5, 672, 160, true, HS, 2, true},
      {5, 960, 160, true, HS, 1, true},
      {5, 960, 160, true, HS, 1, true}}},
    {"mobilenet_v3_small",
     1024,
     {{3, 16, 16, true, RE, 2, false},
      {3, 72, 24, false, RE, 2, false},
      {3, 88, 24, false, RE, 1, false},
      {5, 96, 40, true, HS, 2, false},
      {5, 240, 40, true, HS, 1, false},
      {5, 240, 40, true, HS, 1, false},
      {5, 120, 48, true, HS, 1, false},
      {5, 144, 48, true, HS, 1, false},
      {5, 288, 96, true, HS, 2, true},
      {5, 576, 96, true, HS, 1, true},
      {5, 576, 96, true, HS, 1, true}}},
};

const mobilenet *mobilenet_of(const char *type)
{
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (strcmp(kinds[i].type, type) == 0)
            return &kinds[i];
    BUG("no mobilenet '%s'", type);
}

static int64_t channels_of(int64_t channels, double width)
{
    return blocks_divisible((double)channels * width, UNIT);
}

int64_t mobilenet_hidden(const mobilenet *m, double width)
{
    return channels_of(m->hidden, width);
}

/* Layers of a block are numbered as they are there. */
static const char *next_layer(net *n, const char *block, int *k)
{
    return arena_printf(graph_arena(n->g), "%s.block.%d", block, (*k)++);
}

static status add_residual(net *n, const char *name, const residual *r, double width, bool dilated, error *err)
{
    const graph_val before = n->end;
    const int64_t in = net_shape(n)->dim[1], wide = channels_of(r->wide, width), out = channels_of(r->out, width);
    const bool spreads = dilated && r->is_last_stage;
    const conv_layer expand = {.filters = wide, .kernel = 1, .stride = 1, .groups = 1};
    const conv_layer project = {.filters = out, .kernel = 1, .stride = 1, .groups = 1};
    const conv_layer depthwise = {.filters = wide,
                                  .kernel = r->kernel,
                                  .stride = spreads ? 1 : r->stride,
                                  .padding = PADDING_SAME,
                                  .groups = wide,
                                  .dilation = spreads ? 2 : 1};
    const squeeze_layer squeeze = {blocks_divisible((double)(wide / 4), UNIT), "relu", "hardsigmoid"};
    int k = 0;
    if (wide != in)
        TRY(net_conv_block(n, next_layer(n, name, &k), &expand, &norm, r->activation, err));
    TRY(net_conv_block(n, next_layer(n, name, &k), &depthwise, &norm, r->activation, err));
    if (r->squeezes)
        TRY(net_squeeze_excite(n, next_layer(n, name, &k), &squeeze, err));
    TRY(net_conv_block(n, next_layer(n, name, &k), &project, &norm, NULL, err));
    if (r->stride > 1 || in != out)
        return OK;
    return net_add(n, net_below(n, name, "add"), before, err);
}

status mobilenet_features(net *n, const mobilenet *m, const char *prefix, double width, bool dilated,
                          graph_val *ret_low, error *err)
{
    arena *a = graph_arena(n->g);
    conv_layer conv = {.filters = channels_of(16, width), .kernel = 3, .stride = 2, .padding = 1, .groups = 1};
    int64_t pixel = 2;
    int i = 0;
    TRY(net_conv_block(n, net_below(n, prefix, "0"), &conv, &norm, HS, err));
    for (; i < MOST_BLOCKS && m->blocks[i].kernel; i++) {
        pixel *= m->blocks[i].stride;
        TRY(add_residual(n, arena_printf(a, "%s.%d", prefix, i + 1), &m->blocks[i], width, dilated, err));
        if (ret_low && pixel == 8 && m->blocks[i].stride > 1)
            *ret_low = n->end;
    }
    conv = (conv_layer){.filters = 6 * net_shape(n)->dim[1], .kernel = 1, .stride = 1, .groups = 1};
    return net_conv_block(n, arena_printf(a, "%s.%d", prefix, i + 1), &conv, &norm, HS, err);
}

status build_mobilenet(net *n, const config *model, net_outputs *ret, error *err)
{
    const mobilenet *m = mobilenet_of(config_str(model, "type"));
    const double width = config_f64(model, "width_mult");
    TRY(net_image_input(n, err));
    n->init = NET_FAN_OUT;
    TRY(mobilenet_features(n, m, "features", width, false, NULL, err));
    TRY(net_pool_features(n, err));
    n->init = NET_NORMAL;
    n->deviation = 0.01;
    TRY(net_linear(n, "classifier.0", mobilenet_hidden(m, width), true, err));
    TRY(net_activation(n, "classifier.1", HS, err));
    TRY(net_dropout(n, "classifier.2", config_f64(model, "dropout"), err));
    return net_scores(n, "classifier.3", ret, err);
}
