/*
 * Weights that AllenNLP wrote, as a file of ours.
 * Threads: one at a time.
 */
#ifndef TEQUIO_MODEL_ALLENNLP_WEIGHTS_H
#define TEQUIO_MODEL_ALLENNLP_WEIGHTS_H

#include "common/config/config.h"

/* Of a section `model`, the weights in a file of AllenNLP's as a .safetensors file with the names here. E_CONFIG: the
 * model is none of those that AllenNLP has. E_DATA, E_IO. */
MUST_USE status allennlp_weights_convert(const char *file, const config *model, const char *safetensors, error *err);

#endif
