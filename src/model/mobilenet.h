/*
 * The convolutions of MobileNetV3, which segmentation builds on too.
 * Threads and errors: as layers.h.
 */
#ifndef TEQUIO_MODEL_MOBILENET_H
#define TEQUIO_MODEL_MOBILENET_H

#include "model/layers.h"

typedef struct mobilenet mobilenet;

/* Of the type "mobilenet_v3_small" or "mobilenet_v3_large". */
const mobilenet *mobilenet_of(const char *type);

/* "<prefix>.0", ... from the net's end on, each channel count times `width`. Dilated: the last stage keeps the size of
 * the one before it. `ret_low`, if not NULL, is what the stage makes whose pixels are 8 of the image's wide. */
MUST_USE status mobilenet_features(net *n, const mobilenet *m, const char *prefix, double width, bool dilated,
                                   graph_val *ret_low, error *err);
/* Features between the two last layers. */
int64_t mobilenet_hidden(const mobilenet *m, double width);

#endif
