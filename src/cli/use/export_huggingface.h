/* A trained model as a folder of Hugging Face's: config.json, model.safetensors, and the tokenizer's files where
 * the model began with a folder that has them. Threads: main thread only. */
#ifndef TEQUIO_CLI_USE_EXPORT_HUGGINGFACE_H
#define TEQUIO_CLI_USE_EXPORT_HUGGINGFACE_H

#include "cli/use/trained_model.h"

/* The model is configured. Makes the folder where it is not there. E_UNSUPPORTED: transformers has no such network. */
MUST_USE status export_huggingface(const trained_model *s, const char *folder, error *err);

#endif
