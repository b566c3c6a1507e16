/*
 * Files of sentences whose words have tags, a word a line, a sentence a block of lines:
 *
 *   conll2003                 word, part of speech, chunk and name, parted by blanks; empty lines and lines that begin
 *                             with -DOCSTART- part sentences
 *   universal_dependencies    CoNLL-U: ten columns parted by tabs; lines that begin with # are comments, and words
 *                             "3-4" (a contraction of the next ones) and "3.1" (one that is not in the text) are
 *                             left out, as AllenNLP leaves them out. Heads are read on request: of each word the number
 *                             of that which it depends on, 0 of a sentence's root
 *
 * Errors: E_DATA, "'FILE': line 17: what is wrong". Threads: one at a time; any once all are read.
 */
#ifndef TEQUIO_DATA_TAGGING_SENTENCES_H
#define TEQUIO_DATA_TAGGING_SENTENCES_H

#include "data/index/records.h"
#include "data/tagging/coding_scheme.h"

enum { TAG_KINDS = 3, SENTENCE_COLUMNS = 10 };

typedef struct tag_kind {
    const char *name;               /* in a configuration */
    int column;
    bool is_coded;                  /* its tags are of a coding scheme */
} tag_kind;

typedef struct sentence_format {
    const char *type;               /* of the reader */
    int n_columns, word;            /* columns of a line; which is the word */
    bool has_tabs;                  /* columns are parted by one tab; else by blanks */
    bool is_numbered;               /* the first column numbers the words of a sentence */
    int head;                       /* the column of the heads; 0: there are none */
    const char *columns;            /* for messages */
    tag_kind tags[TAG_KINDS];
} sentence_format;

extern const sentence_format sentences_conll2003, sentences_universal_dependencies;

/* NULL: it has none of that name. */
const tag_kind *sentence_format_tag(const sentence_format *f, const char *name);

/* A kind of tags that is read. */
typedef struct tag_column {
    const tag_kind *kind;
    coding_scheme scheme;           /* to which they are turned */
    words *names;                   /* borrowed: that they are numbered by */
    bool are_known;                 /* `names` has all there may be; else new ones are added */
} tag_column;

typedef struct tagged_word {
    const char *text;               /* in the file */
    uint32_t bytes, line;
} tagged_word;

typedef struct sentences {
    tagged_word *words;             /* [n_words] of all */
    int32_t *tags[TAG_KINDS];       /* [n_words] of the columns in their order; NULL: no more are read */
    bool has_heads;                 /* set before the first file, where tags are read */
    int32_t *heads;                 /* [n_words] 0 .. words of its sentence; NULL: they are not read */
    size_t n_words, cap;
    struct sentence {
        const char *file;           /* its name */
        size_t first, n;            /* words */
    } *at;                          /* [n] */
    size_t n, sentences_cap;
} sentences;

/* Appends those of a file, which is kept. With no columns the words' tags need not be there. */
MUST_USE status sentences_add(sentences *s, const sentence_format *f, const record_source *file,
                              const tag_column *columns, size_t n_columns, error *err);
void sentences_fini(sentences *s);

#endif
