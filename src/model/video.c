/*
 * Video. r2plus1d_18: a residual network whose convolutions are split into space and time, with
 * torchvision's names; [channels, frames, height, width]. Tran, Wang, Torresani, Ray, LeCun,
 * Paluri: A Closer Look at Spatiotemporal Convolutions for Action Recognition, 2018.
 *
 * frame_cnn: the cnn of every frame, then the mean over the frames; [frames, channels, height,
 * width].
 */
#include "model/blocks.h"
#include "model/builders.h"

enum { STAGES = 4, BLOCKS = 2 };

static const double momentum = 0.9, epsilon = 1e-5;

static status conv_and_norm(net *n, const char *prefix, int k, const conv3d_layer *c, error *err)
{
    arena *a = graph_arena(n->g);
    TRY(net_conv3d(n, arena_printf(a, "%s.%d", prefix, k), c, err));
    return net_batch_norm(n, arena_printf(a, "%s.%d", prefix, k + 1), momentum, epsilon, err);
}

static status relu(net *n, const char *prefix, int k, error *err)
{
    return net_activation(n, arena_printf(graph_arena(n->g), "%s.%d", prefix, k), "relu", err);
}

/* Space, then time: as many filters between as give a 3x3x3 convolution's number of weights. */
static status split_conv(net *n, const char *name, int64_t filters, int64_t between, int64_t stride,
                         error *err)
{
    arena *a = graph_arena(n->g);
    const char *inner = arena_printf(a, "%s.0", name);
    conv3d_layer space = {between, {1, 3, 3}, {1, stride, stride}, {0, 1, 1}};
    conv3d_layer time = {filters, {3, 1, 1}, {stride, 1, 1}, {1, 0, 0}};
    TRY(conv_and_norm(n, inner, 0, &space, err));
    TRY(relu(n, inner, 2, err));
    TRY(net_conv3d(n, arena_printf(a, "%s.3", inner), &time, err));
    return net_batch_norm(n, arena_printf(a, "%s.1", name), momentum, epsilon, err);
}

static status video_block(net *n, const char *name, int64_t filters, int64_t stride, error *err)
{
    arena *a = graph_arena(n->g);
    graph_val before = n->end, shortcut;
    int64_t channels = net_shape(n)->dim[1];
    int64_t between = channels * filters * 27 / (channels * 9 + 3 * filters);
    if (stride > 1 || channels != filters) {
        conv3d_layer project = {filters, {1, 1, 1}, {stride, stride, stride}, {0}};
        TRY(conv_and_norm(n, arena_printf(a, "%s.downsample", name), 0, &project, err));
    }
    shortcut = n->end;
    n->end = before;
    const char *first = arena_printf(a, "%s.conv1", name);
    TRY(split_conv(n, first, filters, between, stride, err));
    TRY(relu(n, first, 2, err));
    TRY(split_conv(n, arena_printf(a, "%s.conv2", name), filters, between, 1, err));
    TRY(net_add(n, arena_printf(a, "%s.add", name), shortcut, err));
    return relu(n, name, 2, err);
}

status build_r2plus1d(net *n, const config *model, net_outputs *ret, error *err)
{
    int64_t width = config_int(model, "width");
    conv3d_layer space = {config_int(model, "stem_width"), {1, 7, 7}, {1, 2, 2}, {0, 3, 3}};
    conv3d_layer time = {width, {3, 1, 1}, {1, 1, 1}, {1, 0, 0}};
    TRY(net_input(n, NULL, DT_F32, &n->end, err));
    n->init = NET_FAN_OUT;
    TRY(conv_and_norm(n, "stem", 0, &space, err));
    TRY(relu(n, "stem", 2, err));
    TRY(conv_and_norm(n, "stem", 3, &time, err));
    TRY(relu(n, "stem", 5, err));
    for (int s = 0; s < STAGES; s++)
        for (int b = 0; b < BLOCKS; b++)
            TRY(video_block(n, arena_printf(graph_arena(n->g), "layer%d.%d", s + 1, b), width << s,
                            s > 0 && b == 0 ? 2 : 1, err));
    n->init = NET_NORMAL;
    n->deviation = 0.01;
    TRY(net_pool_features(n, err));
    return net_scores(n, "fc", ret, err);
}

status build_frame_cnn(net *n, const config *model, net_outputs *ret, error *err)
{
    TRY(net_input(n, NULL, DT_F32, &n->end, err));
    const graph_shape video = *net_shape(n);
    if (video.rank != 5)
        return FAIL(
            err, E_CONFIG, "%s: takes videos, [batch, frames, channels, height, width], not %s",
            config_path(model), graph_shape_text(&video, (char[SHAPE_TEXT]){0}, SHAPE_TEXT));
    graph_shape frames = {4,
                          {video.dim[0] * video.dim[1], video.dim[2], video.dim[3], video.dim[4]}};
    TRY(net_reshape(n, n->end, frames, &n->end, err));
    TRY(build_convolutions(n, model, err));
    TRY(net_global_average_pool(n, "avgpool", err));
    graph_shape features = {3, {video.dim[0], video.dim[1], net_shape(n)->dim[1]}};
    TRY(net_reshape(n, n->end, features, &n->end, err));
    const reduce_attr over_frames = {.axes = {1}, .n_axes = 1, .drop_dims = true};
    TRY(graph_add_1(n->g, OP_REDUCE_MEAN, "mean", &n->end, 1, &over_frames, &n->end, err));
    return build_head(n, model, ret, err);
}
