/*
 * A folder `vocabulary` as AllenNLP writes it: labels.txt and tokens.txt, a word a line. Threads: any.
 */
#ifndef TEQUIO_DATA_ALLENNLP_VOCABULARY_H
#define TEQUIO_DATA_ALLENNLP_VOCABULARY_H

#include "common/base/buf.h"
#include "common/base/error.h"

#include <stdbool.h>

bool allennlp_vocabulary_is(const char *path);

/* Appends the vocabulary.json that says the same: classes and tags by labels.txt, words by tokens.txt, if that is
 * there, and nothing of a tokenizer. E_DATA, E_IO. */
MUST_USE status allennlp_vocabulary_read(const char *folder, buf *ret, error *err);

#endif
