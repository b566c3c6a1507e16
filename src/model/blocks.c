#include "model/blocks.h"

#include "common/config/config.h"

/* --- convolutions --- */

status net_conv_norm(net *n, const char *conv, const char *norm, const conv_layer *l, const norm_layer *by, error *err)
{
    TRY(net_conv(n, conv, l, err));
    return net_batch_norm_from(n, norm, by->scale, by->momentum, by->epsilon, err);
}

status net_conv_block(net *n, const char *name, const conv_layer *l, const norm_layer *by, const char *activation,
                      error *err)
{
    TRY(net_conv_norm(n, net_below(n, name, "0"), net_below(n, name, "1"), l, by, err));
    return activation ? net_activation(n, net_below(n, name, "2"), activation, err) : OK;
}

/* --- squeeze and excitation --- */

status net_squeeze_excite(net *n, const char *name, const squeeze_layer *l, error *err)
{
    const graph_val x = n->end;
    conv_layer fc = {.filters = l->squeeze, .kernel = 1, .stride = 1, .groups = 1, .bias = true};
    const int64_t channels = net_shape(n)->dim[1];
    TRY(net_global_average_pool(n, net_below(n, name, "avgpool"), err));
    TRY(net_conv(n, net_below(n, name, "fc1"), &fc, err));
    TRY(net_activation(n, net_below(n, name, "activation"), l->inner, err));
    fc.filters = channels;
    TRY(net_conv(n, net_below(n, name, "fc2"), &fc, err));
    TRY(net_activation(n, net_below(n, name, "scale_activation"), l->outer, err));
    const graph_val in[2] = {x, n->end};
    return graph_add_1(n->g, OP_MUL, net_below(n, name, "mul"), in, 2, NULL, &n->end, err);
}

/* --- stochastic depth --- */

/* A one for each example, which dropout keeps and scales, or not. */
static status depth_mask(net *n, const char *name, double p, int32_t rank, graph_val *ret, error *err)
{
    graph_shape shape = {.rank = rank, .dim = {n->request->batch_size}};
    float *ones = arena_alloc(graph_arena(n->g), (size_t)shape.dim[0] * sizeof *ones);
    for (int64_t i = 0; i < shape.dim[0]; i++)
        ones[i] = 1.0f;
    for (int32_t i = 1; i < rank; i++)
        shape.dim[i] = 1;
    graph_val branch = n->end;
    TRY(graph_const(n->g, net_below(n, name, "ones"), DT_F32, shape, ones, &n->end, err));
    TRY(net_dropout(n, name, p, err));
    *ret = n->end;
    n->end = branch;
    return OK;
}

status net_stochastic_depth(net *n, const char *name, double p, error *err)
{
    const graph_shape x = *net_shape(n);
    const int64_t batch = n->request->batch_size, rows = x.dim[0] / batch;
    graph_val in[2];
    if (n->request->mode != MODEL_TRAIN || p <= 0.0)
        return OK;
    if (rows > 1)
        TRY(net_reshape(n, n->end, (graph_shape){3, {batch, rows, graph_shape_elements(&x) / x.dim[0]}}, &n->end,
                        err));
    TRY(depth_mask(n, name, p, net_shape(n)->rank, &in[1], err));
    in[0] = n->end;
    TRY(graph_add_1(n->g, OP_MUL, NULL, in, 2, NULL, &n->end, err));
    return rows > 1 ? net_reshape(n, n->end, x, &n->end, err) : OK;
}

status net_close_residual(net *n, const char *name, double p, graph_val x, error *err)
{
    TRY(net_stochastic_depth(n, net_below(n, name, "stochastic_depth"), p, err));
    return net_add(n, net_below(n, name, "add"), x, err);
}

/* --- planes --- */

status net_concat_channels(net *n, const char *name, graph_val other, error *err)
{
    const graph_val in[2] = {n->end, other};
    return graph_add_1(n->g, OP_CONCAT, name, in, 2, &(axis_attr){.axis = 1}, &n->end, err);
}

status net_resize(net *n, const char *name, int64_t height, int64_t width, resize_by by, error *err)
{
    const graph_shape *x = net_shape(n);
    if (x->dim[2] == height && x->dim[3] == width)
        return OK;
    resize_attr attr = {.mode = RESIZE_LINEAR,
                        .coordinates = by == RESIZE_BY_CORNERS ? RESIZE_ALIGN_CORNERS : RESIZE_HALF_PIXEL};
    for (int i = 0; i < 4; i++)
        attr.sizes[i] = i < 2 ? x->dim[i] : i == 2 ? height : width;
    return graph_add_1(n->g, OP_RESIZE, name, &n->end, 1, &attr, &n->end, err);
}

/* --- pixels as rows --- */

status net_rows_of_pixels(net *n, graph_shape *ret_planes, error *err)
{
    const graph_shape x = *net_shape(n);
    TRY(graph_add_1(n->g, OP_TRANSPOSE, NULL, &n->end, 1, &(transpose_attr){.perm = {0, 2, 3, 1}}, &n->end, err));
    TRY(net_reshape(n, n->end, (graph_shape){2, {x.dim[0] * x.dim[2] * x.dim[3], x.dim[1]}}, &n->end, err));
    *ret_planes = x;
    return OK;
}

status net_planes_of_rows(net *n, const graph_shape *planes, error *err)
{
    const int64_t *d = planes->dim;
    TRY(net_reshape(n, n->end, (graph_shape){4, {d[0], d[2], d[3], d[1]}}, &n->end, err));
    return graph_add_1(n->g, OP_TRANSPOSE, NULL, &n->end, 1, &(transpose_attr){.perm = {0, 3, 1, 2}}, &n->end, err);
}

/* --- ends --- */

status net_image_input(net *n, error *err)
{
    TRY(net_input(n, NULL, DT_F32, &n->end, err));
    const graph_shape image = *net_shape(n);
    if (image.rank == 4)
        return OK;
    return FAIL(err, E_CONFIG, "%s: takes images, [batch, channels, height, width], not %s",
                config_path(n->request->model), graph_shape_text(&image, (char[SHAPE_TEXT]){0}, SHAPE_TEXT));
}

status net_pool_features(net *n, error *err)
{
    TRY(net_global_average_pool(n, "avgpool", err));
    return net_flatten(n, "flatten", err);
}

/* Labels that are numbers have all pixels' together. */
status net_pixel_scores(const net *n, const graph_shape *image, int64_t *ret, error *err)
{
    const model_loss *l = n->loss;
    const int64_t pixels = image->dim[2] * image->dim[3];
    const bool is_whole = l->n_labels > 0 && l->label[0]->dtype == DT_F32 && !l->has_probabilities;
    if (l->features < 1 || (is_whole && l->features % pixels != 0))
        return FAIL(err, E_CONFIG,
                    "%s: the data do not say how many scores each of %lld pixels has to have; they have %s",
                    config_path(n->request->model), (long long)pixels,
                    model_field_names(n->request, graph_arena(n->g)));
    *ret = is_whole ? l->features / pixels : l->features;
    return OK;
}

int64_t blocks_divisible(double channels, int64_t unit)
{
    int64_t near = (int64_t)(channels + (double)unit / 2) / unit * unit;
    near = near < unit ? unit : near;
    return (double)near < 0.9 * channels ? near + unit : near;
}
