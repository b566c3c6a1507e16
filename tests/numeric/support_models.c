#include "numeric/support_models.h"

#include "common/base/detmath.h"
#include "common/base/rng.h"
#include "graph/attrs.h"
#include "support/window_attrs.h"

#include <stdlib.h>
#include <string.h>

const model_size small_cnn = {
    .images = true, .channels = 2, .side = 6, .maps = 4, .hidden = 7, .classes = 5};
const model_size small_mlp = {.channels = 7, .side = 1, .hidden = 11, .classes = 4};
const model_size large_cnn = {.images = true,
                              .channels = 3,
                              .side = 10,
                              .maps = 32,
                              .hidden = 150,
                              .classes = 10,
                              .frozen = true};
const model_size large_mlp = {.channels = 100, .side = 1, .hidden = 300, .classes = 10};

static graph_val add_param(graph *g, const char *name, tensor_kind kind, graph_shape shape)
{
    error err = ERROR_INIT;
    graph_val v = GRAPH_NONE;
    tensor_decl decl = {.name = name, .rank = shape.rank, .kind = kind};
    memcpy(decl.dim, shape.dim, sizeof shape.dim);
    must(graph_param(g, &decl, &v, &err), &err);
    return v;
}

static graph_val add_input(graph *g, const char *name, dtype t, graph_shape shape)
{
    error err = ERROR_INIT;
    graph_val v = GRAPH_NONE;
    must(graph_input(g, name, t, shape, &v, &err), &err);
    return v;
}

static graph_val add_node(graph *g, graph_op op, const char *name, const graph_val *in, int32_t n,
                          const void *attr)
{
    error err = ERROR_INIT;
    graph_val out;
    must(graph_add_1(g, op, name, in, n, attr, &out, &err), &err);
    return out;
}

static const char *joined(graph *g, const char *a, const char *b)
{
    return arena_printf(graph_arena(g), "%s.%s", a, b);
}

static graph_val add_linear(graph *g, const char *name, graph_val x, int64_t out, tensor_kind kind)
{
    int64_t in = graph_value_at(g, x)->shape.dim[1];
    graph_val operands[] = {
        x, add_param(g, joined(g, name, "weight"), kind, (graph_shape){2, {out, in}}),
        add_param(g, joined(g, name, "bias"), TENSOR_TRAINABLE, (graph_shape){1, {out}})};
    return add_node(g, OP_GEMM, name, operands, 3, &(gemm_attr){GEMM_UNSCALED, .trans_b = true});
}

static graph_val add_conv(graph *g, const char *name, graph_val x, int64_t out, tensor_kind kind)
{
    int64_t in = graph_value_at(g, x)->shape.dim[1];
    graph_val operands[] = {
        x, add_param(g, joined(g, name, "weight"), kind, (graph_shape){4, {out, in, 3, 3}})};
    return add_node(g, OP_CONV, name, operands, 2, &CONV_ATTR(.pads = {1, 1, 1, 1}));
}

static graph_val add_norm(graph *g, const char *name, graph_val x)
{
    static const char *const what[] = {"scale", "bias", "mean", "var"};
    error err = ERROR_INIT;
    graph_shape channels = {1, {graph_value_at(g, x)->shape.dim[1]}};
    graph_val in[5] = {x}, out[3];
    for (int i = 0; i < 4; i++)
        in[1 + i] = add_param(g, joined(g, name, what[i]), i < 2 ? TENSOR_TRAINABLE : TENSOR_STATE,
                              channels);
    must(graph_add(g, OP_BATCH_NORMALIZATION, name, in, 5, &(batch_norm_attr){.training = true},
                   out, &err),
         &err);
    graph_keep(g, out[1]);
    graph_keep(g, out[2]);
    return out[0];
}

static graph_val add_unary(graph *g, graph_op op, const char *name, graph_val x, const void *attr)
{
    return add_node(g, op, name, &x, 1, attr);
}

static graph_val add_images(graph *g, const model_size *s, graph_val x)
{
    tensor_kind second = s->frozen ? TENSOR_FROZEN : TENSOR_TRAINABLE;
    graph_val h = add_conv(g, "conv1", x, s->maps, TENSOR_TRAINABLE);
    h = add_unary(g, OP_RELU, "relu1", add_norm(g, "norm1", h), NULL);
    graph_val branch = add_norm(g, "norm2", add_conv(g, "conv2", h, s->maps, second));
    h = add_node(g, OP_ADD, "residual", (graph_val[]){branch, h}, 2, NULL);
    h = add_unary(g, OP_RELU, "relu2", h, NULL);
    h = add_unary(g, OP_MAX_POOL, "pool", h, &POOL_ATTR(.kernel = {2, 2}, .strides = {2, 2}));
    return add_unary(g, OP_FLATTEN, "flat", h, &(axis_attr){.axis = 1});
}

static graph_val add_rows(graph *g, const model_size *s, graph_val x)
{
    tensor_kind second = s->frozen ? TENSOR_FROZEN : TENSOR_TRAINABLE;
    graph_val h =
        add_unary(g, OP_RELU, "relu1", add_linear(g, "fc1", x, s->hidden, TENSOR_TRAINABLE), NULL);
    graph_val operands[] = {
        h, add_param(g, "fc2.weight", second, (graph_shape){2, {s->hidden, s->hidden}})};
    graph_val branch = add_node(g, OP_MATMUL, "fc2", operands, 2, NULL);
    h = add_node(g, OP_ADD, "residual", (graph_val[]){branch, h}, 2, NULL);
    return add_unary(g, OP_TANH, "tanh", add_norm(g, "norm1", h), NULL);
}

graph *model_build(const model_size *size, int64_t batch, bool backward)
{
    error err = ERROR_INIT;
    graph *g = NULL;
    must(graph_create(&g, &err), &err);
    graph_shape shape = {2, {batch, size->channels}};
    if (size->images)
        shape = (graph_shape){4, {batch, size->channels, size->side, size->side}};
    graph_val x = add_input(g, "x", DT_F32, shape);
    graph_val labels = add_input(g, "labels", DT_I64, (graph_shape){1, {batch}});
    graph_val id = add_input(g, "batch", DT_I64, (graph_shape){.rank = 0});
    graph_val h = size->images ? add_images(g, size, x) : add_rows(g, size, x);
    h = add_linear(g, "fc3", h, size->hidden, TENSOR_TRAINABLE);
    h = add_node(g, OP_DROPOUT, "dropout", (graph_val[]){h, id}, 2,
                 &(dropout_attr){.ratio = 0.25f, .seed = 3, .stream = 9});
    h = add_unary(g, OP_GELU, "gelu", h, NULL);
    h = add_linear(g, "fc4", h, size->classes, TENSOR_TRAINABLE);
    graph_val loss =
        add_node(g, OP_SOFTMAX_CROSS_ENTROPY_LOSS, "loss", (graph_val[]){h, labels}, 2, NULL);
    graph_keep(g, loss);
    if (backward) {
        graph_val weight = add_input(g, "weight", DT_F32, (graph_shape){.rank = 0});
        must(graph_backward(g, loss, weight, &err), &err);
    }
    return g;
}

static rng stream_of(const char *name, uint64_t id)
{
    uint64_t stream = id;
    for (const char *s = name; *s; s++)
        stream = rng_mix(stream, (unsigned char)*s);
    return rng_make(4, RNG_TEST, stream);
}

static void give(const graph *g, graph_val v, const double *values, lane *l, size_t variant,
                 reference *r)
{
    const graph_value *value = graph_value_at(g, v);
    if (l)
        lane_set(l, variant, value->name, values);
    if (r) /* its graph may be another one: the forward part of this */
        memcpy(reference_named(r, value->name), values,
               (size_t)graph_shape_elements(&value->shape) * sizeof *values);
}

void model_fill_params(const graph *g, lane *l, reference *r)
{
    for (graph_val v = 0; v < graph_n_values(g); v++) {
        const graph_value *value = graph_value_at(g, v);
        if (value->kind != VAL_PARAM)
            continue;
        int64_t n = graph_shape_elements(&value->shape);
        double *x = xcalloc((size_t)n, sizeof *x);
        rng draw = stream_of(value->name, 0);
        bool is_scale = strstr(value->name, ".scale") || strstr(value->name, ".var");
        double fan_in = (double)n / (double)value->shape.dim[0];
        double spread = value->shape.rank > 1 ? 1.4 / det_sqrt(fan_in) : 0.3;
        for (int64_t i = 0; i < n; i++)
            x[i] = (double)(float)(spread * (double)rng_normal(&draw, (uint64_t)i) +
                                   (is_scale ? 1.5 : 0));
        give(g, v, x, l, 0, r);
        free(x);
    }
}

void model_fill_batch(const graph *g, uint64_t id, double weight, lane *l, size_t variant,
                      reference *r)
{
    const graph_value *images = graph_value_at(g, graph_find(g, "x"));
    int64_t n = graph_shape_elements(&images->shape), rows = images->shape.dim[0];
    int64_t classes = graph_value_at(g, graph_find(g, "fc4.bias"))->shape.dim[0];
    double *x = xcalloc((size_t)n, sizeof *x), *labels = xcalloc((size_t)rows, sizeof *labels);
    rng draw = stream_of("x", id), classes_of = stream_of("labels", id);
    for (int64_t i = 0; i < n; i++)
        x[i] = (double)rng_normal(&draw, (uint64_t)i);
    for (int64_t i = 0; i < rows; i++)
        labels[i] = (double)rng_below(&classes_of, (uint64_t)i, (uint64_t)classes);
    give(g, graph_find(g, "x"), x, l, variant, r);
    give(g, graph_find(g, "labels"), labels, l, variant, r);
    give(g, graph_find(g, "batch"), &(double){(double)id}, l, variant, r);
    if (l)
        lane_set(l, variant, "weight", &weight);
    free(x);
    free(labels);
}
