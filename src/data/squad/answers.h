/*
 * The reader's own struct, and what it says of a question: its gold answers, and the text that stands at positions
 * of an example. Texts are read from their files when they are asked for.
 * Threads: any.
 */
#ifndef TEQUIO_DATA_SQUAD_ANSWERS_H
#define TEQUIO_DATA_SQUAD_ANSWERS_H

#include "data/reader.h"
#include "data/squad/kept.h"

typedef struct squad_reader {
    dataset base;
    char *path;
    shards files;
    tokenizer *tokenizer;
    char *vocabulary;               /* which one that is */
    squad_frame frame;
    squad_options options;
    squad_kept kept;
} squad_reader;

/* reader_ops.answer */
MUST_USE status squad_answer(const dataset *d, int64_t example, int64_t first, int64_t last, dataset_answer *ret,
                             error *err);

#endif
