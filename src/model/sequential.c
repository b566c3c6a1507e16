/*
 * sequential: the layers a configuration lists. A layer without a name is called by its type and
 * its number among those of that type ("conv2"); the layers inside a residual carry its name in
 * front
 * ("residual1.conv2").
 *
 * A residual adds its input to the output of its layers. Where their shapes differ, the input is
 * projected: a 1x1 convolution with the stride that makes the sizes meet, or a linear layer.
 */
#include "model/builders.h"

#include "common/base/alloc.h"

#include <stdio.h>
#include <string.h>

enum { SHAPE_BYTES = 128 };

typedef status layer_fn(net *n, const config *layer, const char *name, error *err);

static status build_list(net *n, const config *owner, const char *prefix, error *err);

static status add_conv(net *n, const config *layer, const char *name, error *err)
{
    const json_t *padding = config_json(layer, "padding");
    conv_layer conv = {
        .filters = config_int(layer, "filters"),
        .kernel = config_int(layer, "kernel"),
        .stride = config_int(layer, "stride"),
        .padding = json_is_integer(padding) ? json_integer_value(padding) : PADDING_SAME,
        .groups = config_int(layer, "groups"),
        .bias = config_bool(layer, "bias"),
    };
    return net_conv(n, name, &conv, err);
}

static status add_linear(net *n, const config *layer, const char *name, error *err)
{
    return net_linear(n, name, config_int(layer, "features"), config_bool(layer, "bias"), err);
}

static pool_layer pool_of(const config *layer)
{
    int64_t kernel = config_int(layer, "kernel");
    return (pool_layer){
        .kernel = kernel,
        .stride = config_has(layer, "stride") ? config_int(layer, "stride") : kernel,
        .padding = config_int(layer, "padding"),
    };
}

static status add_max_pool(net *n, const config *layer, const char *name, error *err)
{
    pool_layer pool = pool_of(layer);
    return net_max_pool(n, name, &pool, err);
}

static status add_average_pool(net *n, const config *layer, const char *name, error *err)
{
    pool_layer pool = pool_of(layer);
    return net_average_pool(n, name, &pool, err);
}

static status add_global_average_pool(net *n, const config *layer, const char *name, error *err)
{
    (void)layer;
    return net_global_average_pool(n, name, err);
}

static status add_batch_norm(net *n, const config *layer, const char *name, error *err)
{
    return net_batch_norm(n, name, config_f64(layer, "momentum"), config_f64(layer, "epsilon"),
                          err);
}

static status add_dropout(net *n, const config *layer, const char *name, error *err)
{
    return net_dropout(n, name, config_f64(layer, "p"), err);
}

static status add_flatten(net *n, const config *layer, const char *name, error *err)
{
    (void)layer;
    return net_flatten(n, name, err);
}

static status add_gelu(net *n, const config *layer, const char *name, error *err)
{
    bool by_tanh = strcmp(config_str(layer, "approximate"), "tanh") == 0;
    return net_activation(n, name, by_tanh ? "gelu_tanh" : "gelu", err);
}

/* relu, tanh, sigmoid: the type is the activation's name */
static status add_activation(net *n, const config *layer, const char *name, error *err)
{
    return net_activation(n, name, config_str(layer, "type"), err);
}

/* The stride that takes `from` pixels to `to` by a 1x1 window, 0 if none does. */
static int64_t stride_between(int64_t from, int64_t to)
{
    int64_t stride = (from + to - 1) / to;
    return (from - 1) / stride + 1 == to ? stride : 0;
}

static status project(net *n, const char *name, const graph_shape *to, error *err)
{
    const graph_shape from = *net_shape(n);
    const char *layer = arena_printf(graph_arena(n->g), "%s.projection", name);
    if (from.rank == 2 && to->rank == 2)
        return net_linear(n, layer, to->dim[1], false, err);
    int64_t stride = 0;
    if (from.rank == 4 && to->rank == 4) {
        stride = stride_between(from.dim[2], to->dim[2]);
        stride = stride == stride_between(from.dim[3], to->dim[3]) ? stride : 0;
    }
    char a[SHAPE_BYTES], b[SHAPE_BYTES];
    if (stride == 0)
        return FAIL(err, E_CONFIG,
                    "layer '%s': its layers make %s out of %s, and no projection with a stride "
                    "does the same; the sum needs equal shapes",
                    name, graph_shape_text(to, b, sizeof b), graph_shape_text(&from, a, sizeof a));
    conv_layer conv = {.filters = to->dim[1], .kernel = 1, .stride = stride, .groups = 1};
    return net_conv(n, layer, &conv, err);
}

static status add_residual(net *n, const config *layer, const char *name, error *err)
{
    graph_val before = n->end;
    TRY(build_list(n, layer, arena_printf(graph_arena(n->g), "%s.", name), err));
    graph_val inner = n->end;
    const graph_shape made = *net_shape(n);
    n->end = before;
    if (!graph_shape_equal(&made, net_shape(n)))
        TRY(project(n, name, &made, err));
    return net_add(n, name, inner, err);
}

static const struct {
    const char *type;
    layer_fn *add;
} layer_types[] = {
    {"conv", add_conv},
    {"linear", add_linear},
    {"max_pool", add_max_pool},
    {"average_pool", add_average_pool},
    {"global_average_pool", add_global_average_pool},
    {"batch_norm", add_batch_norm},
    {"dropout", add_dropout},
    {"flatten", add_flatten},
    {"relu", add_activation},
    {"tanh", add_activation},
    {"sigmoid", add_activation},
    {"gelu", add_gelu},
    {"residual", add_residual},
};

static status build_layer(net *n, const config *layer, const char *prefix, int *numbers, error *err)
{
    const char *type = config_str(layer, "type"), *given = config_str(layer, "name");
    arena *a = graph_arena(n->g);
    for (size_t i = 0; i < COUNT_OF(layer_types); i++) {
        if (strcmp(type, layer_types[i].type) != 0)
            continue;
        numbers[i]++;
        const char *name = given ? arena_printf(a, "%s%s", prefix, given)
                                 : arena_printf(a, "%s%s%d", prefix, type, numbers[i]);
        status st = layer_types[i].add(n, layer, name, err);
        if (layer_types[i].add != add_residual) /* the layers inside have said where */
            error_prepend(err, "%s", config_path(layer));
        return st;
    }
    return FAIL(err, E_CONFIG, "%s.type: no layer '%s'", config_path(layer), type);
}

static status build_list(net *n, const config *owner, const char *prefix, error *err)
{
    int numbers[COUNT_OF(layer_types)] = {0};
    size_t n_layers = config_count(owner, "layers");
    for (size_t i = 0; i < n_layers; i++) {
        char at[32];
        snprintf(at, sizeof at, "layers[%zu]", i);
        TRY(build_layer(n, config_section(owner, at), prefix, numbers, err));
    }
    return OK;
}

/* The last layer must give the scores: loss_add compares. */
status build_sequential(net *n, const config *model, net_outputs *ret, error *err)
{
    TRY(net_input(n, NULL, DT_F32, &n->end, err));
    TRY(build_list(n, model, "", err));
    ret->at[ret->n++] = n->end;
    return OK;
}
