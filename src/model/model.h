/*
 * Models: from the section `model` of a configuration, in AllenNLP's manner, to a graph.
 *
 * A built model has these inputs: the fields of the data that it reads, by their names; "batch.id"
 * (int64 [1]), the key of random masks; in training "slot.weight" (f32 [1]). And these kept values:
 *
 *   "logits"            the model's first output: [batch, classes], [batch, tokens, classes], ...;
 *                       "prediction" if it is one of numbers, "probability" if a Sigmoid gives it
 *                       (prediction.h). Further ones by names of their own. Not kept in training: the
 *                       gradient of the loss takes their place; and of a file that gives its loss
 *                       only there are none
 *   "training.scores"   in training, if asked for: a copy of that first output
 *   "tag_logits"        with the loss dependencies the second output
 *   "loss"              f32 [], unless MODEL_PREDICT
 *   "accuracy.right"    int64 [], where labels are classes: how many labels got the largest score
 *   "accuracy.counted"  and how many there are, without those of model.ignore_index
 *
 * Labels are the fields that `model.labels` names, else the field "label" (loss.h). Which fields
 * the layers read is up to the builder: by name ("input_ids"), or the first of a type.
 * In training mode graph_backward has been done, or graph_backward_sam. Parameters carry PyTorch's
 * names ("conv1.weight", "fc1.bias", "bn1.running_mean").
 *
 * Threads: pure functions.
 */
#ifndef TEQUIO_MODEL_MODEL_H
#define TEQUIO_MODEL_MODEL_H

#include "common/base/buf.h"
#include "common/config/config.h"
#include "common/store/weights.h"
#include "data/data.h"
#include "graph/precision.h"

typedef enum model_mode {
    MODEL_TRAIN,
    MODEL_EVAL,
    MODEL_PREDICT, /* MODEL_EVAL without labels and loss: outputs only. Where the fields describe
                    * labels, these say how many scores there are; otherwise `scores` does */
} model_mode;

typedef struct model_request {
    const config *model;            /* the section `model` */
    const data_field *fields;
    size_t n_fields;
    int64_t batch_size;
    uint64_t seed;
    model_mode mode;
    int64_t scores;                 /* of the last layer, for data without labels; 0: unknown */
    const json_t *freeze;           /* names of parameters that do not move, with * and ?; or NULL */
    const json_t *train;            /* of those that do, though their file may not say it; or NULL. In
                                     * all modes: what moves is no constant */
    const json_t *no_grad;          /* expressions for names of parameters that do not move; or NULL */
    bool merged;                    /* without the adapters of model.lora, whose weights hold them (lora.h) */
    const json_t *optimizer;        /* the section trainer.optimizer, for its groups; or NULL */
    const config *sam;              /* the section trainer.sam; or NULL */
    graph_precision precision;      /* of products */
    bool half_weight_gradients;     /* may be, of convolutions (graph/precision.h) */
    bool library_dropout;           /* may be, of attention (likewise) */
    bool keep_scores;               /* in training: copies of the outputs that the loss compares with labels are kept
                                     * (prediction.h). The weights become the same, for all else is as it was */
    buf *teacher;                   /* gets a line on where a teacher's weights come from; or NULL */
} model_request;

/* What `trainer.precision` of a whole configuration says. */
graph_precision model_precision(const config *job);

/* An error names the layer and both shapes (E_CONFIG) or the unknown type (E_CONFIG, with the
 * nearest known one). */
MUST_USE status model_build(const model_request *request, graph **ret, error *err);

/* How many scores the weights of a model give, as its parameters tell, for data that have no labels
 * to say so; 0 where the labels do, or no parameter depends on it. Of weights of another model it
 * is any number. */
MUST_USE status model_scores(const model_request *request, const weights *w, int64_t *ret,
                             error *err);

/* What a model says to a batch: names of the kept values whose first axis is the batch's, in the
 * order of the graph, at most `most`. Returns how many; names are the graph's. */
size_t model_outputs(const graph *g, int64_t batch_size, const char **ret, size_t most);

/* Does an evaluation of the model give that metric? "loss" always; "accuracy" where labels are
 * classes; "perplexity" where an example has a row of them and the loss is of nothing else. */
bool model_gives(const graph *g, const data_field *fields, size_t n_fields, const char *metric);

/* The flat vector of a training graph: its parameters in graph_param_order. */
MUST_USE status model_flat(const graph *g, flat **ret, error *err);

/* Is `g`, of examples `other` long, computed with the parameters `f` of examples `length` long? E_CONFIG. */
MUST_USE status model_check_length(const flat *f, int64_t length, const graph *g, int64_t other, error *err);

/* "'image' float32 [1,28,28], 'label' int64 [] of 10 classes", for messages. */
const char *model_field_names(const model_request *request, arena *a);

#endif
