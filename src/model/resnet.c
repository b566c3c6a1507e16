/*
 * resnet18, resnet34, resnet50: residual networks, with torchvision's names.
 * He, Zhang, Ren, Sun: Deep Residual Learning for Image Recognition, 2015. As in torchvision the
 * stride of a bottleneck is in its 3x3 convolution.
 *
 * The stem "imagenet" is 7x7 with stride 2 and a max pool; "cifar", for small images, is 3x3.
 */
#include "model/blocks.h"
#include "model/builders.h"

#include <string.h>

enum { STAGES = 4 };

typedef struct resnet {
    const char *type;
    int64_t blocks[STAGES];
    bool bottleneck;
    double last_scale; /* of a block's last norm, at the start */
} resnet;

static const resnet kinds[] = {
    {.type = "resnet18", .blocks = {2, 2, 2, 2}},
    {.type = "resnet34", .blocks = {3, 4, 6, 3}},
    {.type = "resnet50", .blocks = {3, 4, 6, 3}, .bottleneck = true},
};

static status conv_and_norm(net *n, const char *conv, const char *norm, int64_t filters,
                            int64_t kernel, int64_t stride, double scale, error *err)
{
    conv_layer c = {
        .filters = filters, .kernel = kernel, .stride = stride, .padding = kernel / 2, .groups = 1};
    norm_layer by = NORM_LAYER;
    by.scale = scale;
    return net_conv_norm(n, conv, norm, &c, &by, err);
}

/* The k-th convolution of a block, from 1. */
static status part(net *n, const char *block, int k, int64_t filters, int64_t kernel,
                   int64_t stride, double scale, error *err)
{
    arena *a = graph_arena(n->g);
    return conv_and_norm(n, arena_printf(a, "%s.conv%d", block, k),
                         arena_printf(a, "%s.bn%d", block, k), filters, kernel, stride, scale, err);
}

static status relu(net *n, const char *block, int k, error *err)
{
    return net_activation(n, arena_printf(graph_arena(n->g), "%s.relu%d", block, k), "relu", err);
}

static status inner(net *n, const resnet *r, const char *block, int64_t width, int64_t stride,
                    error *err)
{
    if (!r->bottleneck) {
        TRY(part(n, block, 1, width, 3, stride, 1.0, err));
        TRY(relu(n, block, 1, err));
        return part(n, block, 2, width, 3, 1, r->last_scale, err);
    }
    TRY(part(n, block, 1, width, 1, 1, 1.0, err));
    TRY(relu(n, block, 1, err));
    TRY(part(n, block, 2, width, 3, stride, 1.0, err));
    TRY(relu(n, block, 2, err));
    return part(n, block, 3, 4 * width, 1, 1, r->last_scale, err);
}

static status block(net *n, const resnet *r, const char *name, int64_t width, int64_t stride,
                    error *err)
{
    arena *a = graph_arena(n->g);
    graph_val before = n->end, made;
    TRY(inner(n, r, name, width, stride, err));
    made = n->end;
    const graph_shape shape = *net_shape(n);
    n->end = before;
    if (!graph_shape_equal(&shape, net_shape(n)))
        TRY(conv_and_norm(n, arena_printf(a, "%s.downsample.0", name),
                          arena_printf(a, "%s.downsample.1", name), shape.dim[1], 1, stride, 1.0,
                          err));
    graph_val shortcut = n->end;
    n->end = made;
    TRY(net_add(n, arena_printf(a, "%s.add", name), shortcut, err));
    return relu(n, name, r->bottleneck ? 3 : 2, err);
}

static status stem(net *n, const config *model, int64_t width, error *err)
{
    bool is_small = strcmp(config_str(model, "stem"), "cifar") == 0;
    TRY(conv_and_norm(n, "conv1", "bn1", width, is_small ? 3 : 7, is_small ? 1 : 2, 1.0, err));
    TRY(net_activation(n, "relu", "relu", err));
    if (is_small)
        return OK;
    return net_max_pool(n, "maxpool", &(pool_layer){.kernel = 3, .stride = 2, .padding = 1}, err);
}

static const resnet *kind_of(const config *model)
{
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (strcmp(kinds[i].type, config_str(model, "type")) == 0)
            return &kinds[i];
    BUG("no resnet '%s'", config_str(model, "type"));
}

status build_resnet(net *n, const config *model, net_outputs *ret, error *err)
{
    resnet r = *kind_of(model);
    int64_t width = config_int(model, "width");
    r.last_scale = config_bool(model, "zero_init_residual") ? 0.0 : 1.0;
    TRY(net_input(n, NULL, DT_F32, &n->end, err));
    n->init = NET_FAN_OUT;
    TRY(stem(n, model, width, err));
    for (int s = 0; s < STAGES; s++)
        for (int64_t b = 0; b < r.blocks[s]; b++)
            TRY(block(n, &r, arena_printf(graph_arena(n->g), "layer%d.%lld", s + 1, (long long)b),
                      width << s, s > 0 && b == 0 ? 2 : 1, err));
    n->init = NET_PYTORCH;
    TRY(net_pool_features(n, err));
    return net_scores(n, "fc", ret, err);
}
