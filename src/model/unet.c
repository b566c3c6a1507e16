/*
 * unet: a class, or numbers, for each pixel; what each size of the planes has learnt on the way down is read again on
 * the way up. Ronneberger, Fischer, Brox: U-Net, 2015, with the padding, the norms and the names of parameters of the
 * usual one in PyTorch (milesial's Pytorch-UNet).
 */
#include "model/blocks.h"
#include "model/builders.h"

enum { SIZES = 4 };

typedef struct unet {
    int64_t width;
    bool bilinear; /* interpolates on the way up; else a convolution learns it */
} unet;

/* Twice a 3x3 convolution, a norm and ReLU. */
static status double_conv(net *n, const char *name, int64_t between, int64_t filters, error *err)
{
    const norm_layer norm = NORM_LAYER;
    arena *a = graph_arena(n->g);
    for (int k = 0; k < 2; k++) {
        const conv_layer c = {
            .filters = k ? filters : between, .kernel = 3, .stride = 1, .padding = 1, .groups = 1};
        TRY(net_conv_norm(n, arena_printf(a, "%s.double_conv.%d", name, 3 * k),
                          arena_printf(a, "%s.double_conv.%d", name, 3 * k + 1), &c, &norm, err));
        TRY(net_activation(n, arena_printf(a, "%s.double_conv.%d", name, 3 * k + 2), "relu", err));
    }
    return OK;
}

/* Half the channels at twice the size: weights [in, out, 2, 2], drawn as PyTorch draws them. */
static status conv_transpose(net *n, const char *name, error *err)
{
    const int64_t channels = net_shape(n)->dim[1], half = channels / 2;
    const graph_shape weight = {4, {channels, half, 2, 2}}, row = {1, {half}};
    const double reads = (double)half * 4;
    const conv_attr attr = {.strides = {2, 2}, .dilations = {1, 1}, .group = 1};
    graph_val in[3] = {n->end};
    TRY(net_weight(n, name, "weight", weight, reads, reads, &in[1], err));
    TRY(net_weight(n, name, "bias", row, reads, reads, &in[2], err));
    return graph_add_1(n->g, OP_CONV_TRANSPOSE, name, in, 3, &attr, &n->end, err);
}

/* Sizes that two do not divide have lost their last row and column on the way down. */
static status pad_to(net *n, const graph_shape *to, error *err)
{
    const int64_t rows = to->dim[2] - net_shape(n)->dim[2], columns = to->dim[3] - net_shape(n)->dim[3];
    const pad_attr attr = {
        .mode = PAD_CONSTANT,
        .pads = {[2] = rows / 2, [3] = columns / 2, [6] = rows - rows / 2, [7] = columns - columns / 2}};
    return rows || columns ? graph_add_1(n->g, OP_PAD, NULL, &n->end, 1, &attr, &n->end, err) : OK;
}

static status go_up(net *n, const unet *u, const char *name, graph_val skip, int64_t filters, error *err)
{
    const graph_shape x = *net_shape(n), to = graph_value_at(n->g, skip)->shape;
    const int64_t between = u->bilinear ? (x.dim[1] + to.dim[1]) / 2 : filters;
    const char *up = net_below(n, name, "up");
    TRY(u->bilinear ? net_resize(n, up, 2 * x.dim[2], 2 * x.dim[3], RESIZE_BY_CORNERS, err)
                    : conv_transpose(n, up, err));
    TRY(pad_to(n, &to, err));
    const graph_val below = n->end;
    n->end = skip;
    TRY(net_concat_channels(n, net_below(n, name, "concat"), below, err));
    return double_conv(n, net_below(n, name, "conv"), between, filters, err);
}

static status check_size(const net *n, error *err)
{
    const graph_shape *image = net_shape(n);
    if (image->dim[2] >= 1 << SIZES && image->dim[3] >= 1 << SIZES)
        return OK;
    return FAIL(err, E_CONFIG, "%s: takes images of at least %d x %d, not %s", config_path(n->request->model),
                1 << SIZES, 1 << SIZES, graph_shape_text(image, (char[SHAPE_TEXT]){0}, SHAPE_TEXT));
}

static status add_planes(net *n, const unet *u, error *err)
{
    arena *a = graph_arena(n->g);
    graph_val skips[SIZES];
    TRY(double_conv(n, "inc", u->width, u->width, err));
    for (int k = 0; k < SIZES; k++) {
        const int64_t filters = (u->width << (k + 1)) / (u->bilinear && k + 1 == SIZES ? 2 : 1);
        skips[k] = n->end;
        const char *down = arena_printf(a, "down%d.maxpool_conv", k + 1);
        TRY(net_max_pool(n, net_below(n, down, "0"), &(pool_layer){.kernel = 2, .stride = 2}, err));
        TRY(double_conv(n, net_below(n, down, "1"), filters, filters, err));
    }
    for (int k = SIZES; k-- > 0;) {
        const int64_t filters = (u->width << k) / (u->bilinear && k ? 2 : 1);
        TRY(go_up(n, u, arena_printf(a, "up%d", SIZES - k), skips[k], filters, err));
    }
    return OK;
}

status build_unet(net *n, const config *model, net_outputs *ret, error *err)
{
    const unet u = {config_int(model, "width"), config_bool(model, "bilinear")};
    conv_layer scores = {.kernel = 1, .stride = 1, .groups = 1, .bias = true};
    TRY(net_image_input(n, err));
    TRY(check_size(n, err));
    TRY(net_pixel_scores(n, net_shape(n), &scores.filters, err));
    TRY(add_planes(n, &u, err));
    TRY(net_conv(n, "outc.conv", &scores, err));
    ret->at[ret->n++] = n->end;
    return OK;
}
