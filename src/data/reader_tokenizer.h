/*
 * The tokenizer that an option of a reader names. Every reader of texts opens its own here, keeps in its vocabulary
 * which one it was, by its fingerprint (tokenizer.h), and so reads other data by the same one or not at all.
 *
 * Errors: E_DATA, E_IO of its files, named by the option; E_DATA: it is another one than the vocabulary says.
 * Threads: as tokenizer.h.
 */
#ifndef TEQUIO_DATA_READER_TOKENIZER_H
#define TEQUIO_DATA_READER_TOKENIZER_H

#include "common/base/json.h"
#include "text/tokenizer.h"

#include <stdbool.h>

typedef struct reader_tokenizer {
    const char *option;         /* names it in messages, "dataset_reader.tokenizer"; NULL: its path does */
    const char *path;           /* its folder or file (tokenizer.h), gs:// too */
    const json_t *vocabulary;   /* by which to read (dataset_vocabulary); NULL: these are the training data */
    const char *origin;         /* names that */
} reader_tokenizer;

/* Does the option name files? Else characters, bytes or a way to part words (text/word_split.h). */
bool reader_tokenizer_is_path(const char *said);

MUST_USE status reader_tokenizer_open(const reader_tokenizer *which, tokenizer **ret, error *err);
/* Adds to a vocabulary which one it is. */
void reader_tokenizer_tell(const tokenizer *t, json_t *vocabulary);
/* Adds which one it is by what other vocabularies (a list of objects) say, where those that say one say the same. */
void reader_tokenizer_join(const json_t *vocabularies, json_t *vocabulary);

#endif
