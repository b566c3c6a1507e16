/*
 * Layers: what architectures are made of. A net is a graph under construction that remembers where
 * it ends; each function appends one layer there, declares its parameters with PyTorch's names
 * ("<layer>.weight") and draws them as PyTorch does by default.
 *
 * Errors name the layer, what it takes and what it was given (E_CONFIG).
 * Threads: one at a time.
 */
#ifndef TEQUIO_MODEL_LAYERS_H
#define TEQUIO_MODEL_LAYERS_H

#include "graph/attrs.h"
#include "graph/graph.h"
#include "model/initializers.h"
#include "model/loss.h"
#include "model/model.h"

/* How convolutions, linear layers and embeddings draw their first weights. */
typedef enum net_init {
    NET_PYTORCH,    /* uniform within 1 / sqrt(fan in), weights and biases alike */
    NET_FAN_OUT,    /* by He's rule over the outputs that a number reaches; biases zero */
    NET_FAN_IN,     /* ... over the numbers that an output reads; biases zero */
    NET_BY_OUTPUTS, /* uniform within 1 / sqrt(fan out); biases zero */
    NET_XAVIER,     /* uniform within sqrt(6 / (fan in + fan out)); biases zero */
    NET_NORMAL,     /* deviation `deviation`; biases zero */
} net_init;

/* ... and biases. */
typedef enum net_biases {
    NET_BIASES_BY_INIT, /* as `init` says */
    NET_BIASES_PYTORCH, /* as with NET_PYTORCH */
    NET_BIASES_ZERO,
} net_biases;

struct net {
    graph *g;
    const model_request *request;
    const model_loss *loss; /* whose labels are no inputs of the layers */
    graph_val batch_id;     /* the key of random masks, beside the seed */
    graph_val end;          /* what the next layer takes */
    const initializers *first; /* how the configuration wants parameters drawn; NULL: as their layers do */
    net_init init;
    double deviation;       /* of NET_NORMAL */
    bool shares;            /* a parameter of a name that is there is that one; nodes over it have names of their own */
    double bias_deviation;  /* where biases are zero: they are drawn, with this one; 0: not */
    net_biases biases;
};

enum { PADDING_SAME = -1 };

typedef struct conv_layer {
    int64_t filters, kernel;
    int64_t stride;         /* >= 1 */
    int64_t padding;        /* PADDING_SAME: the size stays at stride 1 */
    int64_t groups;         /* >= 1 */
    bool bias;
    int64_t dilation;       /* pixels from one element of the kernel to the next; 0: 1 */
} conv_layer;

/* Axes are depth (or time), height, width. */
typedef struct conv3d_layer {
    int64_t filters;
    int64_t kernel[SPATIAL], stride[SPATIAL], padding[SPATIAL];
} conv3d_layer;

typedef struct pool_layer {
    int64_t kernel, stride, padding;
} pool_layer;

/* The input of a field of the data, made when it is first asked for. E_CONFIG: no such field. */
MUST_USE status net_field(net *n, const data_field *field, graph_val *ret, error *err);
/* The field of that name; or, `name` being NULL or unknown, the first that is no label and
 * has this type. NULL if there is none. */
const data_field *net_find(const net *n, const char *name, dtype type);
/* The same as an input; E_CONFIG says what the data have. */
MUST_USE status net_input(net *n, const char *name, dtype type, graph_val *ret, error *err);

/* The number an option gives, or, where it is null, `otherwise`. */
int64_t net_option_or(const config *model, const char *key, int64_t otherwise);
/* The same of a share, as of dropout. */
double net_share_or(const config *model, const char *key, double otherwise);

/* Of the node of a layer with parameters. */
const char *net_node_name(const net *n, const char *layer);
/* "<prefix>.<name>", in the graph's memory. */
const char *net_below(const net *n, const char *prefix, const char *name);

MUST_USE status net_reshape(net *n, graph_val v, graph_shape shape, graph_val *ret, error *err);

const graph_shape *net_shape(const net *n);     /* of the end; valid until the next layer */

MUST_USE status net_conv(net *n, const char *name, const conv_layer *l, error *err);
/* Without bias. */
MUST_USE status net_conv3d(net *n, const char *name, const conv3d_layer *l, error *err);
MUST_USE status net_linear(net *n, const char *name, int64_t features, bool bias, error *err);
/* A parameter "<layer>.<what>" of the model; decl's name is made here. */
MUST_USE status net_param(net *n, const char *layer, const char *what, tensor_decl decl,
                          graph_val *ret, error *err);
/* A weight, drawn by the net's rule; `fan_in` and `fan_out` count the numbers that one output reads
 * and that read one input. */
MUST_USE status net_weight(net *n, const char *layer, const char *what, graph_shape shape,
                           double fan_in, double fan_out, graph_val *ret, error *err);
/* One that begins with the same number everywhere. */
MUST_USE status net_constant(net *n, const char *layer, const char *what, graph_shape shape,
                             double start, graph_val *ret, error *err);
/* Training normalises by the batch and feeds the running statistics; evaluation uses them.
 * `momentum` is ONNX's: the share of the old statistics that stays. */
MUST_USE status net_batch_norm(net *n, const char *name, double momentum, double epsilon,
                               error *err);
/* The same with another first scale than 1. */
MUST_USE status net_batch_norm_from(net *n, const char *name, double scale, double momentum,
                                    double epsilon, error *err);
/* Nothing at all in evaluation and for p = 0. */
MUST_USE status net_dropout(net *n, const char *name, double p, error *err);
/* `kind`: "relu", "tanh", "sigmoid", "silu", "elu", "gelu" (by the error function), "gelu_tanh", "hardswish",
 * "hardsigmoid" (both as in PyTorch). */
MUST_USE status net_activation(net *n, const char *name, const char *kind, error *err);
MUST_USE status net_max_pool(net *n, const char *name, const pool_layer *l, error *err);
MUST_USE status net_average_pool(net *n, const char *name, const pool_layer *l, error *err);
MUST_USE status net_global_average_pool(net *n, const char *name, error *err);
/* The last linear layer: as many features as the loss needs; the model's output. */
MUST_USE status net_scores(net *n, const char *name, net_outputs *ret, error *err);
MUST_USE status net_flatten(net *n, const char *name, error *err);
/* end + other, of the same shape */
MUST_USE status net_add(net *n, const char *name, graph_val other, error *err);

#endif
