/*
 * lraspp_mobilenet_v3_large: a class for each pixel, by a small head over a MobileNetV3, with torchvision's names and
 * first weights. Howard, Sandler, et al.: Searching for MobileNetV3, 2019, section 6.4.
 */
#include "model/blocks.h"
#include "model/builders.h"
#include "model/mobilenet.h"

enum { BETWEEN = 128 };

/* What the wide features say, weighed by what they say of the whole image. */
static status add_high(net *n, error *err)
{
    const norm_layer norm = NORM_LAYER;
    const conv_layer c = {.filters = BETWEEN, .kernel = 1, .stride = 1, .groups = 1};
    const graph_val high = n->end;
    graph_val in[2];
    TRY(net_conv_block(n, "classifier.cbr", &c, &norm, "relu", err));
    in[0] = n->end;
    n->end = high;
    TRY(net_global_average_pool(n, "classifier.scale.0", err));
    TRY(net_conv(n, "classifier.scale.1", &c, err));
    TRY(net_activation(n, "classifier.scale.2", "sigmoid", err));
    in[1] = n->end;
    return graph_add_1(n->g, OP_MUL, "classifier.mul", in, 2, NULL, &n->end, err);
}

static status add_classifier(net *n, graph_val low, int64_t n_scores, error *err)
{
    const graph_shape to = graph_value_at(n->g, low)->shape;
    const conv_layer scores = {.filters = n_scores, .kernel = 1, .stride = 1, .groups = 1, .bias = true};
    TRY(add_high(n, err));
    TRY(net_resize(n, "classifier.resize", to.dim[2], to.dim[3], RESIZE_BY_MIDDLES, err));
    TRY(net_conv(n, "classifier.high_classifier", &scores, err));
    const graph_val high = n->end;
    n->end = low;
    TRY(net_conv(n, "classifier.low_classifier", &scores, err));
    return net_add(n, "classifier.add", high, err);
}

status build_lraspp(net *n, const config *model, net_outputs *ret, error *err)
{
    graph_val low = GRAPH_NONE;
    int64_t n_scores = 0;
    TRY(net_image_input(n, err));
    const graph_shape image = *net_shape(n);
    TRY(net_pixel_scores(n, &image, &n_scores, err));
    n->init = NET_FAN_OUT;
    TRY(mobilenet_features(n, mobilenet_of("mobilenet_v3_large"), "backbone", config_f64(model, "width_mult"), true,
                           &low, err));
    n->init = NET_PYTORCH;
    TRY(add_classifier(n, low, n_scores, err));
    TRY(net_resize(n, "resize", image.dim[2], image.dim[3], RESIZE_BY_MIDDLES, err));
    ret->at[ret->n++] = n->end;
    return OK;
}
