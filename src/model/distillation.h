/*
 * Distillation (Hinton, Vinyals and Dean 2015): in training a second model, the teacher, is asked about the same batch,
 * and the loss is
 *
 *   (1 - alpha) loss + alpha T^2 KL(softmax(teacher / T) || softmax(model / T))
 *
 * with the mean over examples, as torch.nn.KLDivLoss(reduction="batchmean") has it. The teacher is in evaluation mode,
 * its weights are constants of the training graph: no server holds them, no checkpoint, evaluation or export has them.
 * Threads: as layers.h.
 */
#ifndef TEQUIO_MODEL_DISTILLATION_H
#define TEQUIO_MODEL_DISTILLATION_H

#include "model/layers.h"

typedef struct distillation_teacher {
    const config *model;            /* its section */
    const graph *graph;             /* built by it to predict, of the same fields */
    const flat *flat;
    const char *output;             /* the value that has its scores */
} distillation_teacher;

/* Appends teacher and loss; *loss is then the sum, called "loss". `section` is model.distillation. E_CONFIG: the models
 * do not fit each other or the data, or the teacher has a tensor that nobody trained. E_DATA, E_IO: its file. */
MUST_USE status distillation_add(net *n, const config *section, const distillation_teacher *teacher,
                                 const net_outputs *outputs, graph_val *loss, error *err);

#endif
