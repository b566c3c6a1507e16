/*
 * The architectures. To add one, write a file, give it a row in model.c and its options in
 * options.def.
 *
 * A builder asks for the fields it reads (net_input), appends layers and says what the model's
 * outputs are: at[0] holds the scores or predictions, whose last axis has n->loss->features
 * elements (its axis 1 will do for images of labels). A model of its own loss may have none.
 * Threads: pure functions.
 */
#ifndef TEQUIO_MODEL_BUILDERS_H
#define TEQUIO_MODEL_BUILDERS_H

#include "common/config/config.h"
#include "model/layers.h"
#include "model/loss.h"

typedef status model_build_fn(net *n, const config *model, net_outputs *ret, error *err);

/* Linear layers, with an activation between. */
MUST_USE status build_mlp(net *n, const config *model, net_outputs *ret, error *err);
/* Convolutions that keep the size, each with an activation and 2x2 max pooling; linear layers. */
MUST_USE status build_cnn(net *n, const config *model, net_outputs *ret, error *err);
MUST_USE status build_resnet(net *n, const config *model, net_outputs *ret, error *err);
MUST_USE status build_r2plus1d(net *n, const config *model, net_outputs *ret, error *err);
MUST_USE status build_frame_cnn(net *n, const config *model, net_outputs *ret, error *err);
MUST_USE status build_transformer_lm(net *n, const config *model, net_outputs *ret, error *err);
/* Encoders of text, by the table of encoder_family.c. */
MUST_USE status build_encoder(net *n, const config *model, net_outputs *ret, error *err);
/* Of AllenNLP, over a table of tokens or one of these encoders. */
MUST_USE status build_basic_classifier(net *n, const config *model, net_outputs *ret, error *err);
MUST_USE status build_simple_tagger(net *n, const config *model, net_outputs *ret, error *err);
MUST_USE status build_biaffine_parser(net *n, const config *model, net_outputs *ret, error *err);
MUST_USE status build_vit(net *n, const config *model, net_outputs *ret, error *err);
MUST_USE status build_mobilenet(net *n, const config *model, net_outputs *ret, error *err);
MUST_USE status build_efficientnet(net *n, const config *model, net_outputs *ret, error *err);
MUST_USE status build_regnet(net *n, const config *model, net_outputs *ret, error *err);
MUST_USE status build_densenet(net *n, const config *model, net_outputs *ret, error *err);
MUST_USE status build_convnext(net *n, const config *model, net_outputs *ret, error *err);
MUST_USE status build_swin(net *n, const config *model, net_outputs *ret, error *err);
/* Of each pixel. */
MUST_USE status build_unet(net *n, const config *model, net_outputs *ret, error *err);
MUST_USE status build_lraspp(net *n, const config *model, net_outputs *ret, error *err);
MUST_USE status build_wide_deep(net *n, const config *model, net_outputs *ret, error *err);
MUST_USE status build_dlrm(net *n, const config *model, net_outputs *ret, error *err);
/* The layers the configuration lists; the last one must give the scores. */
MUST_USE status build_sequential(net *n, const config *model, net_outputs *ret, error *err);
/* The network of an ONNX file. */
MUST_USE status build_onnx(net *n, const config *model, net_outputs *ret, error *err);

/* The convolutions of cnn, from the end of the net on. */
MUST_USE status build_convolutions(net *n, const config *model, error *err);
/* The linear end that mlp and cnn share: hidden layers, then "fc<k>" to the scores. */
MUST_USE status build_head(net *n, const config *model, net_outputs *ret, error *err);

#endif
