/* See layers.h. */
#include "model/layers.h"

#include "common/base/detmath.h"
#include "common/base/hash.h"
#include "graph/attrs.h"

#include <string.h>

enum { SHAPE_BYTES = 128 };

const graph_shape *net_shape(const net *n)
{
    return &graph_value_at(n->g, n->end)->shape;
}

const data_field *net_find(const net *n, const char *name, dtype type)
{
    const model_request *r = n->request;
    for (size_t i = 0; name && i < r->n_fields; i++)
        if (strcmp(r->fields[i].name, name) == 0)
            return &r->fields[i];
    for (size_t i = 0; i < r->n_fields; i++) {
        const data_field *f = &r->fields[i];
        if (f->dtype == type && !loss_reads(n->loss, f))
            return f;
    }
    return NULL;
}

status net_field(net *n, const data_field *f, graph_val *ret, error *err)
{
    graph_val known = graph_find(n->g, f->name);
    if (known != GRAPH_NONE && graph_value_at(n->g, known)->kind == VAL_INPUT) {
        *ret = known;
        return OK;
    }
    if (f->rank + 1 > GRAPH_RANK)
        return FAIL(err, E_CONFIG, "field '%s' has %d axes, more than a model takes", f->name,
                    f->rank);
    graph_shape s = {.rank = f->rank + 1, .dim = {n->request->batch_size}};
    memcpy(s.dim + 1, f->dim, (size_t)f->rank * sizeof *f->dim);
    if (graph_shape_elements(&s) == 0)
        return FAIL(err, E_CONFIG, "field '%s': a batch of %s has no elements", f->name,
                    graph_shape_text(&s, (char[SHAPE_TEXT]){0}, SHAPE_TEXT));
    return graph_input(n->g, f->name, f->dtype, s, ret, err);
}

status net_input(net *n, const char *name, dtype type, graph_val *ret, error *err)
{
    const data_field *f = net_find(n, name, type);
    if (f)
        return net_field(n, f, ret, err);
    return FAIL(err, E_CONFIG, "%s: the data have no %s field%s%s%s for it; they have %s",
                config_path(n->request->model), dtype_name(type), name ? " '" : "",
                name ? name : "", name ? "'" : "",
                model_field_names(n->request, graph_arena(n->g)));
}

int64_t net_option_or(const config *model, const char *key, int64_t otherwise)
{
    return config_has(model, key) ? config_int(model, key) : otherwise;
}

double net_share_or(const config *model, const char *key, double otherwise)
{
    return config_has(model, key) ? config_f64(model, key) : otherwise;
}

const char *net_below(const net *n, const char *prefix, const char *name)
{
    return arena_printf(graph_arena(n->g), "%s.%s", prefix, name);
}

const char *net_node_name(const net *n, const char *layer)
{
    return n->shares ? NULL : layer;
}

status net_reshape(net *n, graph_val v, graph_shape shape, graph_val *ret, error *err)
{
    return graph_add_1(n->g, OP_RESHAPE, NULL, &v, 1, &(shape_attr){.shape = shape}, ret, err);
}

static status append(net *n, graph_op op, const char *name, const graph_val *in, int32_t n_in,
                     const void *attr, error *err)
{
    return graph_add_1(n->g, op, name, in, n_in, attr, &n->end, err);
}

static status wants(const net *n, const char *name, int32_t rank, const char *layer, error *err)
{
    if (net_shape(n)->rank == rank)
        return OK;
    char text[SHAPE_BYTES];
    graph_shape_text(net_shape(n), text, sizeof text);
    if (rank == 2)
        return FAIL(
            err, E_CONFIG,
            "layer '%s': a %s layer takes [batch, features], not %s; a flatten layer before "
            "it would make them fit",
            name, layer, text);
    return FAIL(err, E_CONFIG,
                "layer '%s': a %s layer takes [batch, channels, %sheight, width], not %s", name,
                layer, rank == 5 ? "frames, " : "", text);
}

status net_param(net *n, const char *layer, const char *what, tensor_decl decl, graph_val *ret,
                 error *err)
{
    decl.name = arena_printf(graph_arena(n->g), "%s%s%s", layer, *layer && *what ? "." : "", what);
    graph_val known = n->shares ? graph_find(n->g, decl.name) : GRAPH_NONE;
    if (known != GRAPH_NONE) {
        *ret = known;
        return OK;
    }
    if (n->first)
        TRY(initializers_apply(n->first, &decl, err));
    return graph_param(n->g, &decl, ret, err);
}

static tensor_decl trainable(const graph_shape *shape, init_rule init)
{
    tensor_decl d = {.rank = shape->rank, .kind = TENSOR_TRAINABLE, .init = init, .decay = true};
    memcpy(d.dim, shape->dim, sizeof d.dim);
    return d;
}

static init_rule uniform_within(double bound)
{
    return (init_rule){.kind = INIT_UNIFORM, .a = (float)-bound, .b = (float)bound};
}

static init_rule normal(double deviation)
{
    return (init_rule){.kind = INIT_NORMAL, .b = (float)deviation};
}

static init_rule rule_of(const net *n, double fan_in, double fan_out)
{
    switch (n->init) {
    case NET_FAN_OUT:
        return normal(det_sqrt(2.0 / fan_out));
    case NET_FAN_IN:
        return normal(det_sqrt(2.0 / fan_in));
    case NET_BY_OUTPUTS:
        return uniform_within(1.0 / det_sqrt(fan_out));
    case NET_XAVIER:
        return uniform_within(det_sqrt(6.0 / (fan_in + fan_out)));
    case NET_NORMAL:
        return normal(n->deviation);
    case NET_PYTORCH:
        break;
    }
    return uniform_within(1.0 / det_sqrt(fan_in)); /* kaiming_uniform with a = sqrt(5) */
}

status net_weight(net *n, const char *layer, const char *what, graph_shape shape, double fan_in,
                  double fan_out, graph_val *ret, error *err)
{
    return net_param(n, layer, what, trainable(&shape, rule_of(n, fan_in, fan_out)), ret, err);
}

status net_constant(net *n, const char *layer, const char *what, graph_shape shape, double start,
                    graph_val *ret, error *err)
{
    init_rule same = {.kind = INIT_CONSTANT, .a = (float)start};
    return net_param(n, layer, what, trainable(&shape, same), ret, err);
}

static init_rule bias_rule(const net *n, double fan_in)
{
    bool is_drawn = n->biases == NET_BIASES_PYTORCH || (n->biases == NET_BIASES_BY_INIT && n->init == NET_PYTORCH);
    if (n->bias_deviation > 0.0)
        return normal(n->bias_deviation);
    return is_drawn ? uniform_within(1.0 / det_sqrt(fan_in)) : (init_rule){.kind = INIT_CONSTANT};
}

/* [outputs, inputs of a group, kernel...] and [outputs] */
static status weight_and_bias(net *n, const char *layer, graph_shape weight, bool bias,
                              graph_val ret_in[2], error *err)
{
    double window = 1.0;
    for (int32_t i = 2; i < weight.rank; i++)
        window *= (double)weight.dim[i];
    double fan_in = (double)weight.dim[1] * window, fan_out = (double)weight.dim[0] * window;
    graph_shape row = {.rank = 1, .dim = {weight.dim[0]}};
    TRY(net_weight(n, layer, "weight", weight, fan_in, fan_out, &ret_in[0], err));
    ret_in[1] = GRAPH_NONE;
    if (!bias)
        return OK;
    init_rule first = bias_rule(n, fan_in);
    return net_param(n, layer, "bias", trainable(&row, first), &ret_in[1], err);
}

static void conv_pads(const conv_layer *l, int64_t dilation, int64_t pads[2 * SPATIAL])
{
    for (int axis = 0; axis < 2; axis++) {
        int64_t total = l->padding == PADDING_SAME ? dilation * (l->kernel - 1) : 2 * l->padding;
        pads[axis] = total / 2;
        pads[2 + axis] = total - total / 2;
    }
}

status net_conv(net *n, const char *name, const conv_layer *l, error *err)
{
    TRY(wants(n, name, 4, "conv", err));
    int64_t channels = net_shape(n)->dim[1];
    if (channels % l->groups != 0 || l->filters % l->groups != 0)
        return FAIL(err, E_CONFIG,
                    "layer '%s': its %lld groups must divide its %lld input channels and its %lld "
                    "filters",
                    name, (long long)l->groups, (long long)channels, (long long)l->filters);
    graph_shape weight = {4, {l->filters, channels / l->groups, l->kernel, l->kernel}};
    graph_val in[3] = {n->end};
    TRY(weight_and_bias(n, name, weight, l->bias, in + 1, err));
    int64_t dilation = l->dilation ? l->dilation : 1;
    conv_attr attr = {
        .strides = {l->stride, l->stride}, .dilations = {dilation, dilation}, .group = l->groups};
    conv_pads(l, dilation, attr.pads);
    return append(n, OP_CONV, name, in, 3, &attr, err);
}

status net_conv3d(net *n, const char *name, const conv3d_layer *l, error *err)
{
    TRY(wants(n, name, 5, "conv3d", err));
    graph_shape weight = {.rank = 5, .dim = {l->filters, net_shape(n)->dim[1]}};
    conv_attr attr = {.group = 1};
    for (int i = 0; i < SPATIAL; i++) {
        weight.dim[2 + i] = l->kernel[i];
        attr.strides[i] = l->stride[i];
        attr.dilations[i] = 1;
        attr.pads[i] = attr.pads[SPATIAL + i] = l->padding[i];
    }
    graph_val in[3] = {n->end};
    TRY(weight_and_bias(n, name, weight, false, in + 1, err));
    return append(n, OP_CONV, name, in, 3, &attr, err);
}

status net_linear(net *n, const char *name, int64_t features, bool bias, error *err)
{
    TRY(wants(n, name, 2, "linear", err));
    graph_shape weight = {2, {features, net_shape(n)->dim[1]}};
    graph_val in[3] = {n->end};
    TRY(weight_and_bias(n, name, weight, bias, in + 1, err));
    const gemm_attr attr = {GEMM_UNSCALED, .trans_b = true};
    return append(n, OP_GEMM, net_node_name(n, name), in, 3, &attr, err);
}

status net_scores(net *n, const char *name, net_outputs *ret, error *err)
{
    if (n->loss->features < 1)
        return FAIL(err, E_CONFIG,
                    "%s: the data do not say how many scores the last layer '%s' has to give",
                    config_path(n->request->model), name);
    TRY(net_linear(n, name, n->loss->features, true, err));
    ret->at[ret->n++] = n->end;
    return OK;
}

status net_batch_norm(net *n, const char *name, double momentum, double epsilon, error *err)
{
    return net_batch_norm_from(n, name, 1.0, momentum, epsilon, err);
}

status net_batch_norm_from(net *n, const char *name, double scale, double momentum, double epsilon,
                           error *err)
{
    if (net_shape(n)->rank < 2)
        return wants(n, name, 4, "batch_norm", err);
    int64_t channels = net_shape(n)->dim[1];
    const struct {
        const char *what;
        tensor_kind kind;
        float start;
    } rows[] = {
        {"weight", TENSOR_TRAINABLE, (float)scale},
        {"bias", TENSOR_TRAINABLE, 0.0f},
        {"running_mean", TENSOR_STATE, 0.0f},
        {"running_var", TENSOR_STATE, 1.0f},
    };
    graph_val in[5] = {n->end};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        tensor_decl decl = {
            .rank = 1,
            .dim = {channels},
            .kind = rows[i].kind,
            .init = {.kind = INIT_CONSTANT, .a = rows[i].start},
            .momentum = rows[i].kind == TENSOR_STATE ? (float)momentum : 0.0f,
            .decay = rows[i].kind == TENSOR_TRAINABLE,
        };
        TRY(net_param(n, name, rows[i].what, decl, &in[1 + i], err));
    }
    batch_norm_attr attr = {.epsilon = (float)epsilon, .training = n->request->mode == MODEL_TRAIN};
    return append(n, OP_BATCH_NORMALIZATION, name, in, 5, &attr, err);
}

status net_dropout(net *n, const char *name, double p, error *err)
{
    if (n->request->mode != MODEL_TRAIN || p <= 0.0)
        return OK;
    dropout_attr attr = {
        .ratio = (float)p, .seed = n->request->seed, .stream = fnv1a(name, strlen(name))};
    graph_val in[2] = {n->end, n->batch_id};
    return append(n, OP_DROPOUT, name, in, 2, &attr, err);
}

status net_activation(net *n, const char *name, const char *kind, error *err)
{
    static const unary_attr plain = {.alpha = 1.0f}, sixth = {.alpha = 1.0f / 6.0f, .beta = 0.5f};
    static const gelu_attr by_erf = {.tanh = false}, by_tanh = {.tanh = true};
    static const struct {
        const char *kind;
        graph_op op;
        const void *attr;
    } table[] = {
        {"relu", OP_RELU, NULL},
        {"tanh", OP_TANH, NULL},
        {"sigmoid", OP_SIGMOID, NULL},
        {"silu", OP_SWISH, &plain},
        {"elu", OP_ELU, &plain},
        {"gelu", OP_GELU, &by_erf},
        {"gelu_tanh", OP_GELU, &by_tanh},
        {"hardswish", OP_HARD_SWISH, NULL},
        {"hardsigmoid", OP_HARD_SIGMOID, &sixth},
    };
    for (size_t i = 0; i < COUNT_OF(table); i++)
        if (strcmp(kind, table[i].kind) == 0)
            return append(n, table[i].op, name, &n->end, 1, table[i].attr, err);
    return FAIL(err, E_CONFIG,
                "layer '%s': no activation '%s'; there are relu, gelu, tanh, sigmoid, silu", name, kind);
}

static pool_attr pool_attributes(const pool_layer *l)
{
    return (pool_attr){
        .kernel = {l->kernel, l->kernel},
        .strides = {l->stride, l->stride},
        .dilations = {1, 1},
        .pads = {l->padding, l->padding, l->padding, l->padding},
        .count_include_pad = true,
    };
}

static status pool(net *n, graph_op op, const char *name, const char *layer, const pool_layer *l,
                   error *err)
{
    TRY(wants(n, name, 4, layer, err));
    const graph_shape *x = net_shape(n);
    char text[SHAPE_BYTES];
    for (int32_t axis = 2; axis < 4; axis++)
        if (x->dim[axis] + 2 * l->padding < l->kernel)
            return FAIL(
                err, E_CONFIG,
                "layer '%s': a window of %lld x %lld does not fit into %s with padding %lld", name,
                (long long)l->kernel, (long long)l->kernel, graph_shape_text(x, text, sizeof text),
                (long long)l->padding);
    pool_attr attr = pool_attributes(l);
    return append(n, op, name, &n->end, 1, &attr, err);
}

status net_max_pool(net *n, const char *name, const pool_layer *l, error *err)
{
    return pool(n, OP_MAX_POOL, name, "max_pool", l, err);
}

status net_average_pool(net *n, const char *name, const pool_layer *l, error *err)
{
    return pool(n, OP_AVERAGE_POOL, name, "average_pool", l, err);
}

status net_global_average_pool(net *n, const char *name, error *err)
{
    if (net_shape(n)->rank != 5) /* videos have planes too */
        TRY(wants(n, name, 4, "global_average_pool", err));
    return append(n, OP_GLOBAL_AVERAGE_POOL, name, &n->end, 1, NULL, err);
}

status net_flatten(net *n, const char *name, error *err)
{
    return append(n, OP_FLATTEN, name, &n->end, 1, &(axis_attr){.axis = 1}, err);
}

status net_add(net *n, const char *name, graph_val other, error *err)
{
    graph_val in[2] = {n->end, other};
    return append(n, OP_ADD, name, in, 2, NULL, err);
}
