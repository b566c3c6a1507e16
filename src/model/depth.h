/*
 * The layers of a network, for learning rates that fall from the last one to the first (trainer.optimizer.layer_decay),
 * as the names of parameters tell them and in the order in which the network first reads them:
 *
 *   - A name up to its first number is a block: "encoder.layer.3" of "encoder.layer.3.attention.query.weight",
 *     "layer2" of "layer2.0.conv1.weight", "fc1" of "fc1.bias".
 *   - A block that has a parameter of two axes or more is a layer. One that has not, such as "bn1", belongs to the
 *     layer before it.
 *   - Names without a number are the first layer as long as no number has been read, and the last one behind.
 *
 * Frozen parameters count, so freezing some does not move the others. Pure functions.
 */
#ifndef TEQUIO_MODEL_DEPTH_H
#define TEQUIO_MODEL_DEPTH_H

#include "common/base/buf.h"
#include "common/config/config.h"
#include "graph/graph.h"

/* Puts every trainable parameter into the group that its layer makes of its own one (optim_layer_group). Behind
 * groups_assign, before graph_backward. Nothing without a decay; E_CONFIG if the names tell fewer than two layers. */
MUST_USE status depth_assign(graph *g, const json_t *optimizer, error *err);

/* "first 0.5625, encoder.layer.0 0.75, last 1": each layer and its share of the rate; nothing without a decay. */
void depth_describe(const graph *g, const json_t *optimizer, buf *ret);

#endif
