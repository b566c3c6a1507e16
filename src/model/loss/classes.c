/*
 * Cross entropy of scores and classes, where nothing else is asked for as one operator. Spans are two classes of an
 * example, the positions.
 */
#include "model/loss/build.h"

#include <string.h>

/* --- each label by itself --- */

static status where_ignored(net *n, graph_val labels, graph_val *ret, error *err)
{
    graph_val ignored;
    TRY(graph_const(n->g, "loss.ignored", DT_I64, (graph_shape){.rank = 0}, &n->loss->ignore_index, &ignored, err));
    return loss_two(n, OP_EQUAL, labels, ignored, ret, err);
}

/* 1 where a label counts, 0 where it is ignored. */
static status counted_labels(net *n, graph_val is_ignored, graph_val *ret, error *err)
{
    graph_val v;
    TRY(loss_one(n, OP_NOT, is_ignored, &v, err));
    return graph_add_1(n->g, OP_CAST, NULL, &v, 1, &(cast_attr){.to = DT_F32}, ret, err);
}

/* What each label that counts weighs; of one that does not, what the first class does. */
static status weights_of_labels(net *n, graph_val by, graph_val labels, graph_val is_ignored, graph_val *ret,
                                error *err)
{
    graph_val in[3] = {is_ignored, GRAPH_NONE, labels};
    TRY(graph_const(n->g, "loss.first", DT_I64, (graph_shape){.rank = 0}, &(int64_t){0}, &in[1], err));
    TRY(graph_add_1(n->g, OP_WHERE, NULL, in, 3, NULL, &in[1], err));
    in[0] = by;
    return graph_add_1(n->g, OP_GATHER, NULL, in, 2, &(gather_attr){.axis = 0}, ret, err);
}

/* Of each label -log p, and 0 of those that are ignored: times (1 - p)^gamma. */
static status focus(net *n, graph_val *each, error *err)
{
    graph_val right;
    if (n->loss->focal_gamma == 0)
        return OK;
    TRY(loss_by(n, OP_MUL, *each, -1.0, &right, err));
    TRY(loss_one(n, OP_EXP, right, &right, err));
    TRY(loss_by(n, OP_MUL, right, -1.0, &right, err));
    TRY(loss_by(n, OP_ADD, right, 1.0, &right, err));
    return loss_focus(n, right, each, err);
}

/* A share of each label's loss is the mean over all classes, by their weights: as PyTorch. */
static status smooth(net *n, graph_val scores, graph_val by, graph_val counted, graph_val *each, error *err)
{
    double share = n->loss->label_smoothing, classes = (double)loss_shape_of(n, scores)->dim[1];
    graph_val all, kept;
    if (share == 0)
        return OK;
    TRY(graph_add_1(n->g, OP_LOG_SOFTMAX, NULL, &scores, 1, &(axis_attr){.axis = 1}, &all, err));
    TRY(loss_sum_of_classes(n, all, by, &all, err));
    TRY(loss_two(n, OP_MUL, all, counted, &all, err));
    TRY(loss_by(n, OP_MUL, all, -share / classes, &all, err));
    TRY(loss_by(n, OP_MUL, *each, 1.0 - share, &kept, err));
    return loss_two(n, OP_ADD, kept, all, each, err);
}

static status each_label(net *n, const graph_val in[3], graph_shape batch, graph_val *ret, error *err)
{
    const sce_attr apart = {
        .reduction = SCE_NONE, .has_ignore_index = true, .ignore_index = n->loss->ignore_index};
    graph_val scores = in[0], labels = in[1], by = in[2], is_ignored, weighed, counted;
    loss_terms t = {.labels = batch};
    TRY(graph_add_1(n->g, OP_SOFTMAX_CROSS_ENTROPY_LOSS, NULL, in, 2, &apart, &t.each, err));
    TRY(focus(n, &t.each, err));
    TRY(where_ignored(n, labels, &is_ignored, err));
    TRY(counted_labels(n, is_ignored, &counted, err));
    t.counts = counted;
    if (by != GRAPH_NONE) {
        TRY(weights_of_labels(n, by, labels, is_ignored, &weighed, err));
        TRY(loss_two(n, OP_MUL, t.each, weighed, &t.each, err));
        TRY(loss_two(n, OP_MUL, t.counts, weighed, &t.counts, err));
    }
    TRY(smooth(n, scores, by, counted, &t.each, err));
    return loss_mean(n, t, ret, err);
}

/* The mean of scores [N,C,d...] and labels [N,d...], which in the batch have the shape `batch`, and how many are
 * right. */
static status class_loss(net *n, graph_val scores, graph_val labels, graph_shape batch, graph_val *ret, error *err)
{
    const model_loss *l = n->loss;
    const sce_attr mean = {.reduction = SCE_MEAN, .has_ignore_index = true, .ignore_index = l->ignore_index};
    const accuracy_attr right = {.has_ignore_index = true, .ignore_index = l->ignore_index};
    graph_val in[3] = {scores, labels, GRAPH_NONE};
    TRY(loss_count_right(n, scores, labels, &right, err));
    TRY(loss_class_weights(n, loss_shape_of(n, scores)->dim[1], &in[2], err));
    if (l->label_smoothing > 0 || l->focal_gamma > 0 || l->sample_weights)
        return each_label(n, in, batch, ret, err);
    return graph_add_1(n->g, OP_SOFTMAX_CROSS_ENTROPY_LOSS, "loss", in, in[2] == GRAPH_NONE ? 2 : 3, &mean, ret, err);
}

/* --- where the classes are --- */

/* Do the scores have the labels' axes, and the classes as this one between or behind them? */
static bool has_classes_at(const graph_shape *scores, const graph_shape *labels, int64_t classes, int32_t axis)
{
    if (scores->rank != labels->rank + 1 || scores->dim[axis] != classes)
        return false;
    for (int32_t i = 0; i < labels->rank; i++)
        if (scores->dim[i < axis ? i : i + 1] != labels->dim[i])
            return false;
    return true;
}

/* Where the data may lack some. */
static const char *more_classes(const net *n, const char *option, int64_t given)
{
    if (strcmp(option, "vocabulary") == 0)
        return "; if these data lack some classes, dataset_reader.vocabulary names all there are";
    return arena_printf(graph_arena(n->g),
                        "; if these data lack the highest classes, dataset_reader.%s: %lld says how many there are",
                        option, (long long)given);
}

/* What helps where only the number of classes differs, or a head chooses what scores are of; "" where nothing is known
 * to. */
static const char *remedy(const net *n, const graph_shape *scores, const graph_shape *labels)
{
    int64_t classes = n->loss->features;
    int64_t given = scores->rank == labels->rank + 1 ? scores->dim[labels->rank] : 0;
    bool is_file = strcmp(config_str(n->request->model, "type"), "onnx") == 0;
    if (is_file && scores->rank == 0)
        return "; model.loss: output takes an output that is a loss as it is";
    if (!given && config_has(n->request->model, "head"))
        return "; model.head says what scores are of: sequence, each text; tokens, each token";
    if (!given || !has_classes_at(scores, labels, given, labels->rank))
        return "";
    if (given > classes && n->loss->label[0]->classes_option)
        return more_classes(n, n->loss->label[0]->classes_option, given);
    return is_file ? "; model.replace_head makes another last layer" : "";
}

/* Of probabilities [batch, d..., classes] without the last axis. */
static graph_shape labels_of(const net *n, graph_val label)
{
    graph_shape s = *loss_shape_of(n, label);
    if (n->loss->has_probabilities)
        s.rank--;
    return s;
}

/* Rows of classes, of any number of axes. */
static status to_rows(net *n, graph_val *v, error *err)
{
    const graph_shape *s = loss_shape_of(n, *v);
    int64_t classes = n->loss->features;
    if (s->rank == 2)
        return OK;
    return net_reshape(n, *v, (graph_shape){2, {graph_shape_elements(s) / classes, classes}}, v, err);
}

/* From [batch, d..., classes] to [batch, classes, d...]. */
static status classes_to_front(net *n, graph_val *v, error *err)
{
    transpose_attr to = {.perm = {0, loss_shape_of(n, *v)->rank - 1}};
    for (int32_t i = 2; i < loss_shape_of(n, *v)->rank; i++)
        to.perm[i] = i - 1;
    return graph_add_1(n->g, OP_TRANSPOSE, NULL, v, 1, &to, v, err);
}

status loss_cross_entropy(net *n, const net_outputs *o, const graph_val *label, graph_val *ret, error *err)
{
    graph_shape scores = *loss_shape_of(n, o->at[0]), labels = labels_of(n, label[0]);
    int64_t classes = n->loss->features;
    bool has_probabilities = n->loss->has_probabilities;
    graph_val in[2] = {o->at[0], label[0]};
    if (has_classes_at(&scores, &labels, classes, labels.rank)) {
        TRY(to_rows(n, &in[0], err));
        if (has_probabilities)
            TRY(to_rows(n, &in[1], err));
        else if (labels.rank > 1)
            TRY(net_reshape(n, in[1], (graph_shape){1, {graph_shape_elements(&labels)}}, &in[1], err));
    } else if (!has_classes_at(&scores, &labels, classes, 1)) {
        graph_shape right = labels;
        right.dim[right.rank++] = classes;
        return loss_misfit(n, in[0], in[1], graph_shape_text(&right, (char[SHAPE_TEXT]){0}, SHAPE_TEXT),
                           remedy(n, &scores, &labels), err);
    } else if (has_probabilities) {
        TRY(classes_to_front(n, &in[1], err));
    }
    if (has_probabilities)
        return loss_of_probabilities(n, in[0], in[1], labels, ret, err);
    return class_loss(n, in[0], in[1], labels, ret, err);
}

/* Two columns of positions, or of scores, beside each other. */
static status beside(net *n, const graph_val in[2], int32_t axis, graph_val *ret, error *err)
{
    graph_val column[2];
    for (int i = 0; i < 2; i++) {
        graph_shape s = *loss_shape_of(n, in[i]);
        s.dim[s.rank++] = 1;
        TRY(net_reshape(n, in[i], s, &column[i], err));
    }
    return graph_add_1(n->g, OP_CONCAT, NULL, column, 2, &(axis_attr){.axis = axis}, ret, err);
}

/* Both positions at once: the classes are the positions, axis 1. */
status loss_span(net *n, const net_outputs *o, const graph_val *label, graph_val *ret, error *err)
{
    graph_val scores = o->at[0], labels = label[0];
    int64_t batch = n->request->batch_size;
    if (o->n >= 2) {
        for (int i = 0; i < 2; i++)
            if (loss_shape_of(n, o->at[i])->rank != 2)
                return loss_misfit(n, o->at[i], label[0], "[batch, positions]", "", err);
        TRY(beside(n, o->at, 2, &scores, err));
    }
    const graph_shape *s = loss_shape_of(n, scores);
    if (s->rank != 3 || s->dim[0] != batch || s->dim[2] != 2)
        return loss_misfit(n, scores, label[0], "[batch, positions, 2]", "", err);
    if (n->loss->n_labels == 2)
        TRY(beside(n, label, 1, &labels, err));
    return class_loss(n, scores, labels, (graph_shape){2, {batch, 2}}, ret, err);
}
