/* Attributes of windows for tables of tests: what a row does not say is as ONNX has it. */
#ifndef TEQUIO_TESTS_SUPPORT_WINDOW_ATTRS_H
#define TEQUIO_TESTS_SUPPORT_WINDOW_ATTRS_H

#include "graph/attrs.h"

#pragma GCC diagnostic ignored "-Woverride-init"

#define DENSE .strides = {1, 1, 1}, .dilations = {1, 1, 1}

#define CONV_ATTR(...)                                                                             \
    (conv_attr)                                                                                    \
    {                                                                                              \
        DENSE, .group = 1, __VA_ARGS__                                                             \
    }
#define POOL_ATTR(...)                                                                             \
    (pool_attr)                                                                                    \
    {                                                                                              \
        DENSE, .p = 2, __VA_ARGS__                                                                 \
    }

#endif
