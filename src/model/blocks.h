/*
 * Blocks that networks for images share, with torchvision's names of their parts. Each goes on from the net's end.
 * Threads and errors: as layers.h.
 */
#ifndef TEQUIO_MODEL_BLOCKS_H
#define TEQUIO_MODEL_BLOCKS_H

#include "model/layers.h"

/* A batch norm; `momentum` is ONNX's. */
typedef struct norm_layer {
    double momentum, epsilon;
    double scale;               /* at the start; 0 begins with nothing */
} norm_layer;

/* PyTorch's own. */
#define NORM_LAYER ((norm_layer){.momentum = 0.9, .epsilon = 1e-5, .scale = 1.0})

/* The convolution `conv`, and its norm `norm`. */
MUST_USE status net_conv_norm(net *n, const char *conv, const char *norm, const conv_layer *l, const norm_layer *by,
                              error *err);
/* The same as "<name>.0" and "<name>.1", and as "<name>.2" an activation; NULL: none. */
MUST_USE status net_conv_block(net *n, const char *name, const conv_layer *l, const norm_layer *by,
                               const char *activation, error *err);

/* Channels by their means over the planes (Hu et al., 1709.01507): `squeeze` channels between "<name>.fc1" and
 * "<name>.fc2", behind each its activation. */
typedef struct squeeze_layer {
    int64_t squeeze;
    const char *inner, *outer;
} squeeze_layer;

MUST_USE status net_squeeze_excite(net *n, const char *name, const squeeze_layer *l, error *err);

/* Stochastic depth (Huang et al., 1603.09382): in training each example's rows are all zero with the chance p, else
 * divided by 1 - p; drawn as a mask of dropout of this name. The end's first axis is made of whole examples. */
MUST_USE status net_stochastic_depth(net *n, const char *name, double p, error *err);
/* The same behind the inner part of a block, then x is added. */
MUST_USE status net_close_residual(net *n, const char *name, double p, graph_val x, error *err);

/* Other channels behind those of the end. */
MUST_USE status net_concat_channels(net *n, const char *name, graph_val other, error *err);
/* Planes of that size, by linear interpolation between the middles of pixels, or so that corners stay corners. */
typedef enum resize_by { RESIZE_BY_MIDDLES, RESIZE_BY_CORNERS } resize_by;

MUST_USE status net_resize(net *n, const char *name, int64_t height, int64_t width, resize_by by, error *err);

/* [batch, channels, height, width] to [batch * height * width, channels], and back to that shape. */
MUST_USE status net_rows_of_pixels(net *n, graph_shape *ret_planes, error *err);
MUST_USE status net_planes_of_rows(net *n, const graph_shape *planes, error *err);

/* Images [batch, channels, height, width]; E_CONFIG: the data have others. */
MUST_USE status net_image_input(net *n, error *err);
/* The mean over the planes, then [batch, channels]. */
MUST_USE status net_pool_features(net *n, error *err);

/* How many scores each pixel of [batch, channels, height, width] has to have, as the labels say. E_CONFIG: they do not
 * say it. */
MUST_USE status net_pixel_scores(const net *n, const graph_shape *image, int64_t *ret, error *err);

/* The nearest multiple of `unit`, which is not below it, nor more than a tenth below `channels`. */
int64_t blocks_divisible(double channels, int64_t unit);

#endif
