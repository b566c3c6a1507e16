/*
 * regnet_x_..., regnet_y_...: residual networks whose widths follow a line, with torchvision's names and first
 * weights. Radosavovic, Kosaraju, Girshick, He, Dollár: Designing Network Design Spaces, 2020.
 */
#include "common/base/detmath.h"
#include "model/blocks.h"
#include "model/builders.h"

#include <string.h>

enum { UNIT = 8, STEM = 32 };

/* Block j wants w_0 + w_a j channels, and has the power of w_m times w_0 that is next to it. */
typedef struct regnet {
    const char *type;
    int64_t depth;
    double w_0, w_a, w_m;
    int64_t group_width;
    double se_ratio; /* 0: no squeeze and excitation */
} regnet;

static const regnet kinds[] = {
    {"regnet_x_400mf", 22, 24, 24.48, 2.54, 16, 0.0},   {"regnet_x_800mf", 16, 56, 35.73, 2.28, 16, 0.0},
    {"regnet_x_1_6gf", 18, 80, 34.01, 2.25, 24, 0.0},   {"regnet_x_3_2gf", 25, 88, 26.31, 2.25, 48, 0.0},
    {"regnet_y_400mf", 16, 48, 27.89, 2.09, 8, 0.25},   {"regnet_y_800mf", 14, 56, 38.84, 2.4, 16, 0.25},
    {"regnet_y_1_6gf", 27, 48, 20.71, 2.65, 24, 0.25},  {"regnet_y_3_2gf", 21, 80, 42.63, 2.66, 24, 0.25},
};

/* To the nearest; from between two to the even one. Of no negative number. */
static int64_t rounded(double x)
{
    int64_t below = (int64_t)x;
    double rest = x - (double)below;
    return below + (rest > 0.5 || (rest == 0.5 && below % 2));
}

/* Before groups divide it. */
static int64_t width_of_block(const regnet *r, int64_t j)
{
    int64_t power = rounded(det_log((r->w_0 + r->w_a * (double)j) / r->w_0) / det_log(r->w_m));
    double width = r->w_0;
    for (int64_t i = 0; i < power; i++)
        width *= r->w_m;
    return rounded(width / UNIT) * UNIT;
}

static status add_transform(net *n, const regnet *r, const char *f, int64_t out, int64_t stride, error *err)
{
    const norm_layer norm = NORM_LAYER;
    const int64_t group = r->group_width < out ? r->group_width : out;
    const conv_layer pointwise = {.filters = out, .kernel = 1, .stride = 1, .groups = 1};
    const conv_layer spatial = {.filters = out, .kernel = 3, .stride = stride, .padding = 1, .groups = out / group};
    const squeeze_layer squeeze = {rounded(r->se_ratio * (double)net_shape(n)->dim[1]), "relu", "sigmoid"};
    TRY(net_conv_block(n, net_below(n, f, "a"), &pointwise, &norm, "relu", err));
    TRY(net_conv_block(n, net_below(n, f, "b"), &spatial, &norm, "relu", err));
    if (r->se_ratio > 0)
        TRY(net_squeeze_excite(n, net_below(n, f, "se"), &squeeze, err));
    return net_conv_block(n, net_below(n, f, "c"), &pointwise, &norm, NULL, err);
}

static status add_block(net *n, const regnet *r, const char *name, int64_t out, int64_t stride, error *err)
{
    const norm_layer norm = NORM_LAYER;
    const conv_layer project = {.filters = out, .kernel = 1, .stride = stride, .groups = 1};
    const graph_val before = n->end;
    graph_val shortcut = before;
    if (net_shape(n)->dim[1] != out || stride != 1) {
        TRY(net_conv_block(n, net_below(n, name, "proj"), &project, &norm, NULL, err));
        shortcut = n->end;
        n->end = before;
    }
    TRY(add_transform(n, r, net_below(n, name, "f"), out, stride, err));
    TRY(net_add(n, net_below(n, name, "add"), shortcut, err));
    return net_activation(n, net_below(n, name, "activation"), "relu", err);
}

/* Blocks of one width are a stage, whose first one halves the planes. */
static status add_trunk(net *n, const regnet *r, error *err)
{
    int64_t stage = 0, k = 0, before = 0;
    for (int64_t j = 0; j < r->depth; j++) {
        const int64_t width = width_of_block(r, j), group = r->group_width < width ? r->group_width : width;
        const bool begins = width != before;
        stage += begins;
        k = begins ? 0 : k + 1;
        before = width;
        const char *name = arena_printf(graph_arena(n->g), "trunk_output.block%lld.block%lld-%lld", (long long)stage,
                                        (long long)stage, (long long)k);
        TRY(add_block(n, r, name, blocks_divisible((double)width, group), begins ? 2 : 1, err));
    }
    return OK;
}

static status regnet_of(const config *model, regnet *ret, error *err)
{
    size_t i = 0;
    while (strcmp(kinds[i].type, config_str(model, "type")) != 0)
        BUG_ON(++i == COUNT_OF(kinds));
    regnet r = kinds[i];
    r.depth = net_option_or(model, "depth", r.depth);
    r.w_0 = (double)net_option_or(model, "w_0", (int64_t)r.w_0);
    r.w_a = net_share_or(model, "w_a", r.w_a);
    r.w_m = net_share_or(model, "w_m", r.w_m);
    r.group_width = net_option_or(model, "group_width", r.group_width);
    r.se_ratio = net_share_or(model, "se_ratio", r.se_ratio);
    if ((int64_t)r.w_0 % UNIT != 0 || r.w_m <= 1.0)
        return FAIL(err, E_CONFIG, "%s.%s", config_path(model),
                    r.w_m <= 1.0 ? "w_m: must be above 1" : "w_0: must be a multiple of 8");
    *ret = r;
    return OK;
}

status build_regnet(net *n, const config *model, net_outputs *ret, error *err)
{
    const norm_layer norm = NORM_LAYER;
    const conv_layer stem = {.filters = STEM, .kernel = 3, .stride = 2, .padding = 1, .groups = 1};
    regnet r = kinds[0];
    TRY(regnet_of(model, &r, err));
    TRY(net_image_input(n, err));
    n->init = NET_FAN_OUT;
    n->biases = NET_BIASES_PYTORCH;
    TRY(net_conv_block(n, "stem", &stem, &norm, "relu", err));
    TRY(add_trunk(n, &r, err));
    TRY(net_pool_features(n, err));
    n->init = NET_NORMAL;
    n->deviation = 0.01;
    n->biases = NET_BIASES_BY_INIT;
    return net_scores(n, "fc", ret, err);
}
