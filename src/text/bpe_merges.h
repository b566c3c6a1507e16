/*
 * The merges of byte pair encoding: which two symbols become which, and what comes first.
 * Threads: they do not change once they are loaded; then any number of them look pairs up.
 */
#ifndef TEQUIO_TEXT_BPE_MERGES_H
#define TEQUIO_TEXT_BPE_MERGES_H

#include "common/base/json.h"
#include "text/vocabulary.h"

typedef struct bpe_merges bpe_merges;

typedef struct bpe_merge {
    int32_t left, right; /* ids; left VOCABULARY_NONE: a free place of the table */
    uint32_t rank;       /* the least is first */
    int32_t id;          /* what they become */
} bpe_merge;

/* An array of "a b" or ["a", "b"]. `prefix`: bytes that the second one loses. */
MUST_USE status bpe_merges_load(const json_t *list, const char *place, const vocabulary *tokens, size_t prefix,
                                bpe_merges **ret, error *err);
void bpe_merges_destroy(bpe_merges **m);

/* NULL: they do not merge. */
const bpe_merge *bpe_merges_find(const bpe_merges *m, int32_t left, int32_t right);

#endif
