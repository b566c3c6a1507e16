/*
 * Models: from a piece of text to the tokens of the vocabulary that it is made of. There are four, a file each,
 * behind one table of functions.
 *
 * Threads: a model does not change once it is loaded; a model_scratch belongs to one thread at a time.
 */
#ifndef TEQUIO_TEXT_MODEL_H
#define TEQUIO_TEXT_MODEL_H

#include "common/base/json.h"
#include "text/fields.h"
#include "text/vocabulary.h"

typedef struct model_token {
    int32_t id;
    uint32_t begin, end; /* bytes of the piece */
} model_token;

typedef struct model_scratch {
    model_token *tokens; /* what was found; appended to */
    size_t n, cap;
    void *work; /* the model's own, of work_bytes */
    size_t work_bytes;
} model_scratch;

typedef struct model model;

typedef struct model_ops {
    /* Appends the tokens of a piece, which is not empty. */
    status (*tokenize)(const model *m, model_scratch *s, const char *text, uint32_t bytes, error *err);
    void (*destroy)(model *m);
} model_ops;

/* What each model's struct begins with. */
struct model {
    const model_ops *ops;
    vocabulary *tokens;
    int32_t unk;          /* VOCABULARY_NONE: has none */
    bool is_worth_keeping; /* what a word became is kept for when it comes again */
};

/* Takes the section `model` of a tokenizer.json. */
MUST_USE status model_load(const json_t *value, const char *place, model **ret, error *err);
void model_destroy(model **m);

/* Each takes the fields of its section, of which "type" has been asked for already. */
MUST_USE status word_piece_load(fields *f, model **ret, error *err);
MUST_USE status word_level_load(fields *f, model **ret, error *err);
MUST_USE status bpe_load(fields *f, model **ret, error *err);
MUST_USE status unigram_load(fields *f, model **ret, error *err);

/* --- for models --- */

void model_add(model_scratch *s, int32_t id, uint32_t begin, uint32_t end);
/* Memory for the model's work, as large as that at least; what was in it is lost. */
void *model_work(model_scratch *s, size_t bytes);
/* The whole piece as the unknown token; E_DATA where there is none. */
MUST_USE status model_unknown(const model *m, model_scratch *s, uint32_t bytes, error *err);
/* {"text": id, ...} */
MUST_USE status model_load_vocabulary(fields *f, vocabulary *v, error *err);
void model_scratch_fini(model_scratch *s);

#endif
