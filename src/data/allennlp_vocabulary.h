/*
 * A vocabulary as AllenNLP writes it: a folder with a file a namespace, a word a line, or an archive (.tar.gz, .zip) of
 * such a folder or of one that has it. Threads: any.
 */
#ifndef TEQUIO_DATA_ALLENNLP_VOCABULARY_H
#define TEQUIO_DATA_ALLENNLP_VOCABULARY_H

#include "common/base/buf.h"
#include "common/base/error.h"

#include <stdbool.h>

bool allennlp_vocabulary_is(const char *path);

/* Does the folder have a namespace beside that of words? */
bool allennlp_vocabulary_has_classes(const char *folder);

/* Appends the vocabulary.json that says the same, and nothing of a tokenizer: words by tokens.txt, if that is there;
 * classes and tags by labels.txt, or the only other namespace that ends in "labels"; and tags of the names of all
 * others (head_tags.txt; pos.txt as pos_tags). E_DATA: there are none of these. E_IO. */
MUST_USE status allennlp_vocabulary_read(const char *path, buf *ret, error *err);

#endif
