/* What every convolution reads of its node (window.c). */
#ifndef TEQUIO_ONNX_OPS_CONV_H
#define TEQUIO_ONNX_OPS_CONV_H

#include "onnx/call.h"

/* Strides, pads and groups, of an input of shape `x` and weights of shape `k`. E_DATA,
 * E_UNSUPPORTED. */
MUST_USE status conv_attributes(call *c, const graph_shape *x, const graph_shape *k, conv_attr *ret,
                                error *err);

#endif
