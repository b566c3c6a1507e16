/*
 * What AllenNLP calls the tensors of a network that is here too: in weights.th and best.th, and in the regular
 * expressions of its configurations. Pure functions.
 */
#ifndef TEQUIO_MODEL_ALLENNLP_NAMES_H
#define TEQUIO_MODEL_ALLENNLP_NAMES_H

#include "common/base/alloc.h"
#include "model/pretrained.h"

/* By its name: weights.th, best.th, model_state_e1_b0.th. */
bool allennlp_is_file(const char *path);

/* The name here, in `a`, of an encoder's tensor; `name` itself where AllenNLP calls none so. */
const char *allennlp_tensor(const char *name, const checkpoint_names *names, arena *a);

/* The way back, in `a`: what AllenNLP calls a parameter of the model of this section; NULL: it has the same name, or
 * the model is none of AllenNLP's. */
const char *allennlp_name_of(const config *model, const char *name, arena *a);

#endif
