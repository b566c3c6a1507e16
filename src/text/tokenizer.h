/*
 * Tokenizers: from text to token ids and back, as Hugging Face's `tokenizers` does it, of its tokenizer.json; of
 * BERT's vocab.txt; and of GPT-2's vocab.json and merges.txt (docs/TEXT.md).
 *
 *     tokenizer *t = NULL;
 *     tokenizer_scratch *s = tokenizer_scratch_create();
 *     TRY(tokenizer_open("bert-base-uncased", &t, err));
 *     tokenizer_encodings e;
 *     TRY(tokenizer_encode(t, question, context, NULL, s, &e, err));
 *     for (size_t i = 0; i < e.at[0].n; i++)
 *         use(e.at[0].ids[i], e.at[0].bytes[i]);
 *
 * Errors: E_DATA names the file, and the place in it ("model.dropout"), when a file is damaged or asks for what is
 * not known here; or the text and the byte that is no UTF-8.
 * Threads: a tokenizer does not change once it is loaded; any number of threads encode with one at once, each with
 * a scratch of its own.
 */
#ifndef TEQUIO_TEXT_TOKENIZER_H
#define TEQUIO_TEXT_TOKENIZER_H

#include "common/base/buf.h"
#include "common/base/error.h"
#include "common/base/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tokenizer tokenizer;
typedef struct tokenizer_scratch tokenizer_scratch;

/* A folder, in which tokenizer.json is looked for first; or one of the files. */
MUST_USE status tokenizer_open(const char *path, tokenizer **ret, error *err);
/* A tokenizer.json in memory; `origin` names it. */
MUST_USE status tokenizer_parse(const char *json, size_t bytes, const char *origin, tokenizer **ret, error *err);
void tokenizer_destroy(tokenizer **t);

/* SHA-256 of all that decides what it does: the tokenizer.json that its files amount to, and the tokens that have
 * roles. Neither where the files lie nor how they are laid out makes a difference. Borrowed. */
const char *tokenizer_fingerprint(const tokenizer *t);

/* --- the vocabulary --- */

enum { TOKENIZER_NO_TOKEN = -1 };

typedef enum tokenizer_role {
    TOKENIZER_CLS,
    TOKENIZER_SEP,
    TOKENIZER_PAD,
    TOKENIZER_UNK,
    TOKENIZER_MASK,
    TOKENIZER_BOS,
    TOKENIZER_EOS,
    TOKENIZER_ROLES,
} tokenizer_role;

/* One more than the highest id: what an embedding needs rows. */
int64_t tokenizer_size(const tokenizer *t);
/* TOKENIZER_NO_TOKEN if there is none of that text. */
int32_t tokenizer_id(const tokenizer *t, const char *text);
/* NULL if no token has that id; borrowed from `t`. It may hold a zero byte, so `ret_bytes`, if not NULL, counts. */
const char *tokenizer_text(const tokenizer *t, int64_t id, size_t *ret_bytes);
/* The token of that role, by special_tokens_map.json of the folder, or by its usual spellings ("[CLS]", "<s>");
 * TOKENIZER_NO_TOKEN if there is none. */
int32_t tokenizer_special(const tokenizer *t, tokenizer_role role);

/* --- text to tokens --- */

typedef struct tokenizer_span {
    uint32_t begin, end; /* end is the first one behind */
} tokenizer_span;

typedef enum tokenizer_side { TOKENIZER_RIGHT, TOKENIZER_LEFT } tokenizer_side;

typedef enum tokenizer_strategy {
    TOKENIZER_LONGEST_FIRST,
    TOKENIZER_ONLY_FIRST,
    TOKENIZER_ONLY_SECOND,
} tokenizer_strategy;

typedef struct tokenizer_truncation {
    int64_t max_length; /* tokens, with the special ones; 0: as long as it is */
    int64_t stride;     /* tokens that a window has in common with the one before */
    tokenizer_strategy strategy;
    tokenizer_side side; /* where text is cut off */
    bool first_only;     /* what is cut off makes no windows of its own */
} tokenizer_truncation;

typedef struct tokenizer_padding {
    bool is_on;
    int64_t length;      /* tokens; 0: that of the first window */
    int64_t multiple_of; /* rounded up to; 0: not */
    int32_t id;
    int32_t type_id;
    tokenizer_side side;
} tokenizer_padding;

typedef struct tokenizer_options {
    bool no_special_tokens;                 /* neither [CLS] nor its kin */
    const tokenizer_truncation *truncation; /* NULL: as the file says */
    const tokenizer_padding *padding;       /* NULL: as the file says */
} tokenizer_options;

/* What the file says. Borrowed. */
const tokenizer_truncation *tokenizer_file_truncation(const tokenizer *t);
const tokenizer_padding *tokenizer_file_padding(const tokenizer *t);
/* Whether type ids tell two texts apart, as BERT's do and RoBERTa's do not. */
bool tokenizer_tells_types(const tokenizer *t);

/* One window. All arrays have n elements, and live in the scratch until it encodes again. */
typedef struct tokenizer_encoding {
    size_t n;
    int32_t *ids;
    int32_t *type_ids;
    tokenizer_span *bytes;      /* of the text that the token comes from; 0, 0 where it comes from none */
    tokenizer_span *characters; /* the same in code points */
    int32_t *words;             /* the place of its word in the text; -1: of none */
    int8_t *sequences;          /* 0 the first text, 1 the second, -1 neither */
    uint8_t *special;           /* 1: special tokens and padding */
    uint8_t *attention;         /* 0: padding */
} tokenizer_encoding;

typedef struct tokenizer_encodings {
    size_t n; /* 1, or more where truncation has cut something off */
    const tokenizer_encoding *at;
    size_t whole; /* tokens that it would be without truncation and padding */
} tokenizer_encodings;

tokenizer_scratch *tokenizer_scratch_create(void);
void tokenizer_scratch_destroy(tokenizer_scratch **s);

/* A text of up to 64 MB; `second` may be NULL, `options` too. Zero bytes are characters like any other. */
typedef struct tokenizer_input {
    const char *text;
    size_t bytes;
} tokenizer_input;
MUST_USE status tokenizer_encode(const tokenizer *t, const tokenizer_input *first, const tokenizer_input *second,
                                 const tokenizer_options *options, tokenizer_scratch *s,
                                 tokenizer_encodings *ret, error *err);

/* --- tokens to text --- */

/* Appends to `ret`. Ids that are no token's are left out, as special tokens are where `skip_special`. */
MUST_USE status tokenizer_decode(const tokenizer *t, const int32_t *ids, size_t n, bool skip_special, buf *ret,
                                 error *err);

/* Of the libraries underneath, each into `bytes` bytes. */
void tokenizer_library_versions(char *ret_utf8proc, char *ret_pcre2, size_t bytes);

#endif
