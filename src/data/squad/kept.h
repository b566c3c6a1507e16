/*
 * What is made of SQuAD's files when they are opened: where their passages lie, and the examples. It is kept in the
 * user's cache (index/kept_arrays.h), for these very files, the tokenizer and the options: who opens them again neither
 * parses nor tokenizes them.
 * Threads: immutable once open.
 */
#ifndef TEQUIO_DATA_SQUAD_KEPT_H
#define TEQUIO_DATA_SQUAD_KEPT_H

#include "data/index/kept_arrays.h"
#include "data/index/shards.h"
#include "data/squad/examples.h"

typedef struct squad_kept {
    kept_arrays arrays;
    squad_passages passages;        /* they and the examples lie in the arrays */
    squad_examples examples;
    size_t heap_bytes;
} squad_kept;

/* `files` are kept. E_DATA: something in a file is not as it should be, or there are no examples; `path` names them
 * all. Else as squad_examples_make. */
MUST_USE status squad_kept_open(const shards *files, const char *path, const squad_options *options, squad_kept *ret,
                                error *err);
void squad_kept_close(squad_kept *k);

#endif
