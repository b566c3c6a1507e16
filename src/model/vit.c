/*
 * vit: a transformer over the patches of an image (Dosovitskiy et al.: An Image is Worth 16x16
 * Words, 2020), with torchvision's names and first weights. A learned token stands before the
 * patches; its last state gives the scores.
 */
#include "common/base/detmath.h"
#include "model/builders.h"
#include "model/tokens.h"

static const double epsilon = 1e-6;

typedef struct vit {
    int64_t width, feedforward, tokens;
    double dropout;
    attention_layer attention;
} vit;

/* A linear layer with its own rule for the weight, and under names of its own. */
static status projection(net *n, const char *layer, const char *const names[2], int64_t features,
                         net_init init, error *err)
{
    int64_t width = net_shape(n)->dim[1];
    graph_val in[3] = {n->end};
    graph_shape weight = {2, {features, width}}, row = {1, {features}};
    n->init = init;
    TRY(net_weight(n, layer, names[0], weight, (double)width, (double)features, &in[1], err));
    TRY(net_constant(n, layer, names[1], row, 0.0, &in[2], err));
    n->init = NET_XAVIER;
    return graph_add_1(n->g, OP_GEMM,
                       net_below(n, layer, net_below(n, names[0], "gemm")), in, 3,
                       &(gemm_attr){GEMM_UNSCALED, .trans_b = true}, &n->end, err);
}

static status self_attention(net *n, const vit *v, const char *name, error *err)
{
    static const char *const in[2] = {"in_proj_weight", "in_proj_bias"};
    static const char *const out[2] = {"out_proj.weight", "out_proj.bias"};
    TRY(projection(n, name, in, 3 * v->width, NET_XAVIER, err));
    TRY(net_attention(n, name, &v->attention, err));
    return projection(n, name, out, v->width, NET_PYTORCH, err);
}

static status feed_forward(net *n, const vit *v, const char *name, error *err)
{
    n->bias_deviation = 1e-6;
    TRY(net_linear(n, net_below(n, name, "mlp.0"), v->feedforward, true, err));
    TRY(net_activation(n, net_below(n, name, "mlp.1"), "gelu", err));
    TRY(net_dropout(n, net_below(n, name, "mlp.2"), v->dropout, err));
    TRY(net_linear(n, net_below(n, name, "mlp.3"), v->width, true, err));
    n->bias_deviation = 0.0;
    return net_dropout(n, net_below(n, name, "mlp.4"), v->dropout, err);
}

static status layer(net *n, const vit *v, const char *name, error *err)
{
    graph_val x = n->end;
    TRY(net_layer_norm(n, net_below(n, name, "ln_1"), epsilon, err));
    TRY(self_attention(n, v, net_below(n, name, "self_attention"), err));
    TRY(net_dropout(n, net_below(n, name, "dropout"), v->dropout, err));
    TRY(net_add(n, net_below(n, name, "add_1"), x, err));
    x = n->end;
    TRY(net_layer_norm(n, net_below(n, name, "ln_2"), epsilon, err));
    TRY(feed_forward(n, v, name, err));
    return net_add(n, net_below(n, name, "add_2"), x, err);
}

/* [batch, channels, height, width] -> [batch, patches, width] */
static status patches(net *n, const config *model, int64_t width, error *err)
{
    int64_t size = config_int(model, "patch");
    const graph_shape image = *net_shape(n);
    if (image.rank != 4 || image.dim[2] % size != 0 || image.dim[3] % size != 0)
        return FAIL(err, E_CONFIG, "%s.patch: patches of %lld x %lld do not cover %s",
                    config_path(model), (long long)size, (long long)size,
                    graph_shape_text(&image, (char[SHAPE_TEXT]){0}, SHAPE_TEXT));
    n->init = NET_NORMAL;
    n->deviation = det_sqrt(1.0 / (double)(image.dim[1] * size * size));
    conv_layer c = {.filters = width, .kernel = size, .stride = size, .groups = 1, .bias = true};
    TRY(net_conv(n, "conv_proj", &c, err));
    const graph_shape grid = *net_shape(n);
    graph_shape rows = {3, {grid.dim[0], width, grid.dim[2] * grid.dim[3]}};
    TRY(net_reshape(n, n->end, rows, &n->end, err));
    return graph_add_1(n->g, OP_TRANSPOSE, "patches", &n->end, 1,
                       &(transpose_attr){.perm = {0, 2, 1}}, &n->end, err);
}

/* The class token in front, and what stands for each place added. */
static status vit_embed(net *n, const vit *v, error *err)
{
    graph_val in[2], position;
    int64_t batch = n->request->batch_size;
    graph_shape one = {3, {1, 1, v->width}}, first = {3, {batch, 1, v->width}};
    tensor_decl places = {.rank = 3,
                          .dim = {1, v->tokens, v->width},
                          .kind = TENSOR_TRAINABLE,
                          .init = {.kind = INIT_NORMAL, .b = 0.02f},
                          .decay = true};
    TRY(net_constant(n, "", "class_token", one, 0.0, &in[0], err));
    TRY(graph_add_1(n->g, OP_EXPAND, "class", in, 1, &(shape_attr){.shape = first}, &in[0], err));
    in[1] = n->end;
    TRY(graph_add_1(n->g, OP_CONCAT, "tokens", in, 2, &(axis_attr){.axis = 1}, &n->end, err));
    TRY(net_param(n, "encoder", "pos_embedding", places, &position, err));
    TRY(net_add(n, "encoder.add", position, err));
    TRY(net_reshape(n, n->end, (graph_shape){2, {batch * v->tokens, v->width}}, &n->end, err));
    return net_dropout(n, "encoder.dropout", v->dropout, err);
}

static status class_row(net *n, const vit *v, error *err)
{
    int64_t batch = n->request->batch_size;
    const slice_attr first = {.n_axes = 1, .axes = {1}, .end = {1}, .step = {1}};
    TRY(net_reshape(n, n->end, (graph_shape){3, {batch, v->tokens, v->width}}, &n->end, err));
    TRY(graph_add_1(n->g, OP_SLICE, "class_row", &n->end, 1, &first, &n->end, err));
    return net_reshape(n, n->end, (graph_shape){2, {batch, v->width}}, &n->end, err);
}

status build_vit(net *n, const config *model, net_outputs *ret, error *err)
{
    int64_t width = config_int(model, "width"), heads = config_int(model, "num_heads");
    TRY(net_check_heads(n, width, heads, err));
    TRY(net_input(n, NULL, DT_F32, &n->end, err));
    TRY(patches(n, model, width, err));
    vit v = {
        .width = width,
        .feedforward = net_option_or(model, "feedforward", 4 * width),
        .tokens = net_shape(n)->dim[1] + 1,
        .dropout = config_f64(model, "dropout"),
        .attention = {.heads = heads, .tokens = net_shape(n)->dim[1] + 1, .mask = GRAPH_NONE},
    };
    TRY(vit_embed(n, &v, err));
    for (int64_t i = 0; i < config_int(model, "num_layers"); i++)
        TRY(layer(
            n, &v,
            arena_printf(graph_arena(n->g), "encoder.layers.encoder_layer_%lld", (long long)i),
            err));
    TRY(net_layer_norm(n, "encoder.ln", epsilon, err));
    TRY(class_row(n, &v, err));
    n->init = NET_NORMAL;
    n->deviation = 0.0;
    return net_scores(n, "heads.head", ret, err);
}
