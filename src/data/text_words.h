/*
 * Words of texts as numbers: 0 fills up, 1 is a word that the vocabulary does not have, words are from 2. The
 * vocabulary is made of the training data: words by how often these have them, those that are equally frequent in the
 * order in which they come first, as AllenNLP numbers them. Or it is given, and may grow.
 *
 * In a vocabulary: {"words": [...], "words_by": "whitespace"}.
 * Threads: one at a time until it has learned; then any.
 */
#ifndef TEQUIO_DATA_TEXT_WORDS_H
#define TEQUIO_DATA_TEXT_WORDS_H

#include "common/base/buf.h"
#include "common/base/json.h"
#include "common/config/config.h"
#include "data/words.h"
#include "text/word_split.h"

/* Which words of the training data are in the vocabulary. */
typedef struct word_choice {
    bool lowercase;                 /* words differ by their lower case alone */
    int64_t min_count;              /* rarer ones are not; of max_size those are counted in */
    int64_t max_size;               /* so many of the most frequent ones at most; 0: all */
    const json_t *added;            /* words that are behind them in any case, a list; NULL: none */
} word_choice;

/* As options of a reader say it; `added` is the configuration's. */
word_choice word_choice_of(const config *reader);

/* --- counting --- */

typedef struct word_counts {
    words *all;
    int64_t *n, *first;             /* of each word: how often it came, and its first place */
    size_t cap;
} word_counts;

void word_counts_init(word_counts *c);
void word_counts_fini(word_counts *c);
void word_counts_add(word_counts *c, const char *word, int64_t n, int64_t place);
/* Adds what others counted. */
void word_counts_merge(word_counts *c, const word_counts *others);
/* {"words": [...], "counts": [...]} by falling counts, then first places. A new reference. */
json_t *word_counts_json(const word_counts *c);
/* Adds to `to` the words of such an object that are chosen. */
void word_counts_choose(const json_t *counted, const word_choice *choice, words *to);

/* --- numbers --- */

typedef struct text_words text_words;

typedef struct text_words_options {
    word_split split;
    word_choice choice;             /* `added` is kept */
    const json_t *vocabulary;       /* by which to read; NULL: it is learned */
    const char *origin;             /* names that */
    bool grows;                     /* the training data add their words to it */
} text_words_options;

/* E_DATA: the vocabulary has no words, or others than such. */
MUST_USE status text_words_open(const text_words_options *o, text_words **ret, error *err);
void text_words_destroy(text_words **w);
/* Takes what word_counts_json says of the training data, where the vocabulary was not given, or grows. */
void text_words_learn(text_words *w, const json_t *counted);

int64_t text_words_size(const text_words *w);       /* numbers are 0 .. size-1 */
void text_words_describe(const text_words *w, buf *ret);
void text_words_tell(const text_words *w, json_t *vocabulary);

/* The numbers of a text's words, of which *ret_n are there already, into ret[most] (NULL: they are counted only), and
 * how many it has behind those too, to *ret_whole. The first `most` are counted into `counts`, unless that is NULL,
 * from `place` on. E_DATA: it is no UTF-8. */
MUST_USE status text_words_take(const text_words *w, const char *text, size_t bytes, size_t most, int64_t *ret,
                                size_t *ret_n, size_t *ret_whole, word_counts *counts, int64_t place, error *err);

#endif
