/*
 * Losses: what `model.loss` makes of a model's outputs and the labels.
 *
 *   cross_entropy         labels int64 [batch, d...] with classes, or float32 [batch, d..., classes],
 *                         a probability for each; scores [batch, d..., classes] or, with d,
 *                         [batch, classes, d...]
 *   binary_cross_entropy  labels float32 in 0 .. 1, or int64 of two classes; one logit for each of
 *                         them. A Sigmoid at the model's end is taken off: the loss reads what
 *                         went into it
 *   mean_squared_error    labels float32; one number for each of them
 *   span                  labels int64 [batch, 2], first and last position, or two fields [batch];
 *                         scores [batch, positions, 2], or two outputs [batch, positions]
 *   dependencies          labels int64 [batch, words] twice: each word's head, 0 of the root, else its
 *                         place from 1; and its tag. Scores of heads [batch, words, 1 + words] and, the
 *                         second output, of tags [batch, words, tags], or of those at every head
 *                         [batch, words, 1 + words, tags]. The sum of both cross entropies
 *   output                the model has made its loss itself
 *
 * Each is the mean over the labels of the batch, as PyTorch's. Labels that are `model.ignore_index`
 * (cross_entropy, span, dependencies) do not count. model.label_smoothing and model.class_weights change cross_entropy,
 * model.focal_gamma that and binary_cross_entropy (Lin et al. 2017), in training and evaluation alike. With
 * model.sample_weights the mean is by the weights of examples.
 * Threads: pure functions.
 */
#ifndef TEQUIO_MODEL_LOSS_H
#define TEQUIO_MODEL_LOSS_H

#include "model/model.h"

enum { MODEL_LABELS = 2, MODEL_OUTPUTS = 8 };

typedef struct net net;

typedef struct model_loss {
    const char *kind;                       /* a word of model.loss */
    const data_field *label[MODEL_LABELS];  /* among the fields of the request */
    size_t n_labels;
    int64_t features;                       /* scores that the model has to give for each label, or
                                             * for each example; 0: whatever it gives */
    int64_t ignore_index;
    double label_smoothing;                 /* cross_entropy; 0: none */
    const json_t *class_weights;            /* likewise; NULL: all 1 */
    bool has_probabilities;                 /* cross_entropy: labels are those of classes */
    double focal_gamma;                     /* 0: the loss is not focal */
    double focal_alpha;                     /* binary_cross_entropy: of labels that are 1; < 0: both count alike */
    const data_field *sample_weights;       /* NULL: all 1 */
} model_loss;

typedef struct net_outputs {
    graph_val at[MODEL_OUTPUTS];
    size_t n;                               /* 0: the model gives its own loss only */
    graph_val loss;                         /* GRAPH_NONE, or the model's own */
} net_outputs;

/* E_CONFIG if the data lack the labels or weights, or options do not go together. */
MUST_USE status loss_choose(const model_request *request, arena *a, model_loss *ret, error *err);

/* Is the field a label or a weight, and no input of the layers? */
bool loss_reads(const model_loss *l, const data_field *field);

/* Appends the loss, called "loss", and counts of right labels; all are kept. E_CONFIG names the
 * output and both shapes if they do not fit. */
MUST_USE status loss_add(net *n, const net_outputs *outputs, graph_val *ret, error *err);

#endif
