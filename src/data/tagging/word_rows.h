/*
 * Sentences as rows of token numbers:
 *
 *   by a tokenizer   each word by itself becomes its pieces, between the special tokens that the tokenizer puts around
 *                    a text; a word of which it makes nothing becomes its unknown token. They are kept
 *                    (index/kept_arrays.h), so who opens the files again makes none
 *   by their words   a word is its number among those of the training data, from 2; 1 is a word that these have not,
 *                    or that is not chosen of them; 0 fills up
 *
 * Threads: immutable once made.
 */
#ifndef TEQUIO_DATA_TAGGING_WORD_ROWS_H
#define TEQUIO_DATA_TAGGING_WORD_ROWS_H

#include "data/index/kept_arrays.h"
#include "data/index/shards.h"
#include "data/tagging/sentences.h"
#include "data/reader_tokenizer.h"
#include "data/text_words.h"

typedef struct word_rows_options {
    reader_tokenizer tokenizer;     /* path NULL: by their words. Its vocabulary is by which to read, in both ways */
    bool grows;                     /* words that the vocabulary does not have are added to it */
    word_choice words;              /* without a tokenizer */
    int64_t max_length;             /* tokens of a row; 0: as many as it has */
    bool truncate;                  /* a longer sentence loses its last words; else it is refused */
    const shards *files;            /* that the sentences are of */
    const char *path, *type;        /* of them all, and of the reader */
} word_rows_options;

enum { WORD_ROWS_NONE = -1 };

/* How words differ. */
typedef enum word_form {
    WORDS_AS_THEY_ARE,
    WORDS_LOWER,                    /* by their lower case alone, as Python's str.lower() makes it */
    WORDS_LOWER_ASCII,              /* likewise, of ASCII's letters: of vocabularies that were made so */
} word_form;

typedef struct word_rows {
    tokenizer *tokenizer;           /* NULL: by their words */
    words *known;                   /* likewise; NULL */
    word_form form;                 /* of those */
    int32_t filler;                 /* the token that fills up */
    size_t longest;
    size_t n_behind;                /* special tokens behind the words of each row */
    int32_t *ids;                   /* the tokens of all rows */
    int32_t *places;                /* of each the word that begins there, from 0 in its sentence; WORD_ROWS_NONE */
    size_t *first;                  /* [rows + 1] */
    size_t n, cap;
    int64_t n_cut;                  /* sentences that lost words */
    kept_arrays kept;               /* by a tokenizer: where the arrays lie */
} word_rows;

/* E_DATA names the file and the line; E_CONFIG, E_NOMEM. */
MUST_USE status word_rows_make(const word_rows_options *o, const sentences *s, word_rows *ret, error *err);
void word_rows_fini(word_rows *r);
/* Adds to a vocabulary by what these rows are made: "words" and "words_by", or "tokenizer_sha256". */
void word_rows_say(const word_rows *r, json_t *vocabulary);
/* Numbers of tokens: 0 .. size-1. */
int64_t word_rows_size(const word_rows *r);

#endif
