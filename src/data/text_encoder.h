/*
 * text_encoder: from texts to the fields that models of tokens take. It is what all readers of texts have in
 * common: the tokenizer that a configuration names, or the words of the training data (text_words.h), where its name
 * is that of a way to part texts (text/word_split.h); the fields and what they are filled up with.
 *
 *   input_ids       int64 [most]   token ids, data_field.tokens many; then the tokenizer's padding token
 *   attention_mask  int64 [most]   1 where there is a token, 0 behind
 *   token_type_ids  int64 [most]   which of two texts, where the tokenizer tells them apart; then its padding's
 *
 * All three vary (data_field.varies). Texts longer than `most` are cut off as the tokenizer's file says, else the
 * longer of two first, at the end; or refused. Padding is always at the end. Words of two texts follow each other, and
 * what is too much goes from the end.
 *
 * Errors: those of reader_tokenizer.h and text_words.h; E_CONFIG.
 * Threads: any number, once it is open and has learned.
 */
#ifndef TEQUIO_DATA_TEXT_ENCODER_H
#define TEQUIO_DATA_TEXT_ENCODER_H

#include "data/data.h"
#include "data/reader_tokenizer.h"
#include "data/text_words.h"

typedef struct text_encoder text_encoder;

enum { TEXT_FIELDS = 3 };

typedef struct text_encoder_options {
    reader_tokenizer tokenizer;
    int64_t most;           /* tokens of an example, special ones too; 1 .. 2^31-1 */
    bool has_pair;          /* examples are of two texts */
    bool refuses_long;      /* an example of more tokens is E_DATA */
    bool has_words;         /* of words the following are to be considered; else words are refused */
    word_choice words;
    bool words_grow;        /* the vocabulary, by which to read, takes the words of these data too */
} text_encoder_options;

/* E_CONFIG: `most` leaves no room for a token beside the special ones. */
MUST_USE status text_encoder_open(const text_encoder_options *options, text_encoder **ret, error *err);
void text_encoder_destroy(text_encoder **e);

/* Adds to a vocabulary which tokenizer it is, or its words. */
void text_encoder_tell(const text_encoder *e, json_t *vocabulary);
/* The fields, of which there are as many as it returns: 2 or 3. */
size_t text_encoder_fields(const text_encoder *e, data_field ret[TEXT_FIELDS]);
/* Appends what decides the tokens of a text, for the name of what is kept of them (a survey's). */
void text_encoder_describe(const text_encoder *e, buf *ret);

/* --- words --- */

/* Are tokens words, which all training data must be asked for? */
bool text_encoder_has_words(const text_encoder *e);
/* Counts those of an example, the first that `place` names. E_DATA. */
MUST_USE status text_encoder_count(const text_encoder *e, const tokenizer_input *first, const tokenizer_input *second,
                                   word_counts *counts, int64_t place, error *err);
/* As text_words_learn. */
void text_encoder_learn(text_encoder *e, const json_t *counted);

/* --- examples --- */

/* How many tokens an example has at most `most` of; `second` NULL unless has_pair. *ret_whole, if not NULL: how
 * many it would have if nothing were cut off. ret: [most] of each field; NULL: they are counted only. */
MUST_USE status text_encoder_take(const text_encoder *e, const tokenizer_input *first, const tokenizer_input *second,
                                  void *const *ret, size_t *ret_tokens, size_t *ret_whole, error *err);
/* Nothing will be encoded for a while: memory that encoding took, megabytes a thread, is given back. */
void text_encoder_rest(const text_encoder *e);
/* Ids and types, n <= most, into the fields; types NULL: all 0. */
void text_encoder_put(const text_encoder *e, const int32_t *ids, const int32_t *types, size_t n, void *const *ret);

#endif
