/*
 * Contexts and questions as tokens, as AllenNLP's reader transformer_squad makes them: a context is parted at
 * white space, and each part is tokenized by itself, behind "a " but for the first, so that tokenizers which tell
 * a word's beginning see one.
 *
 * Places are those of characters (code points) in the context. As there, a token ends as many characters behind
 * its beginning as its text has without the mark of its place in the word ("##", "Ġ", "▁").
 * Threads: a scratch belongs to one; the rest is pure.
 */
#ifndef TEQUIO_DATA_SQUAD_TOKENS_H
#define TEQUIO_DATA_SQUAD_TOKENS_H

#include "text/tokenizer.h"

#define SQUAD_NOWHERE UINT32_MAX

typedef struct squad_token {
    int32_t id;
    uint32_t begin, end;            /* begin SQUAD_NOWHERE: it comes from no character */
} squad_token;

typedef struct squad_tokens {
    squad_token *at;
    size_t n, cap;
} squad_tokens;

typedef struct squad_ids {
    int32_t *at;
    size_t n, cap;
} squad_ids;

/* Appends. E_DATA as tokenizer_encode has it. */
MUST_USE status squad_tokens_of_context(const tokenizer *t, tokenizer_scratch *s, const char *context,
                                        squad_tokens *to, error *err);
MUST_USE status squad_ids_of_question(const tokenizer *t, tokenizer_scratch *s, const char *question, size_t most,
                                      squad_ids *to, error *err);

/* The tokens, first and last, that have the characters from `begin` up to `end`, or come nearest to it as AllenNLP
 * takes it. False: none do. */
bool squad_tokens_find(const squad_token *tokens, size_t n, int64_t begin, int64_t end, int32_t ret[2]);

/* What stands around question and context: [CLS] question [SEP] context [SEP]. */
enum { SQUAD_SPECIAL = 8 };
typedef struct squad_special {
    int32_t ids[SQUAD_SPECIAL], types[SQUAD_SPECIAL];
    size_t n;
} squad_special;

typedef struct squad_frame {
    squad_special start, middle, end;
    int32_t question_type, context_type, padding;
    bool cls_at_end;                /* it is among the end's, else among the start's */
    size_t cls;                     /* which of them */
} squad_frame;

/* E_DATA: the tokenizer has no [CLS], or puts pairs together otherwise. */
MUST_USE status squad_frame_of(const tokenizer *t, const char *name, squad_frame *ret, error *err);
size_t squad_frame_specials(const squad_frame *f);

#endif
