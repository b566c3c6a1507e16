/*
 * What a loaded tokenizer is made of; of the files beside tokenizer.c alone.
 * Threads: it does not change once it is loaded.
 */
#ifndef TEQUIO_TEXT_LOAD_H
#define TEQUIO_TEXT_LOAD_H

#include "text/added_tokens.h"
#include "text/decode.h"
#include "text/model.h"
#include "text/normalize.h"
#include "text/post_process.h"
#include "text/pre_tokenize.h"
#include "text/tokenizer.h"

typedef struct blanks {
    uint16_t leading, trailing; /* characters of a token's text */
} blanks;

struct tokenizer {
    uint64_t serial; /* no two in a process have the same: what scratches keep is for one of them */
    normalizer *normalizer;
    pre_tokenizer *pre_tokenizer;
    model *model;
    added_tokens *added;
    post_processor post;
    decoder *decoder;
    tokenizer_truncation truncation;
    tokenizer_padding padding;
    blanks *blanks; /* [size] by id, where the post-processor trims; else NULL */
    int32_t roles[TOKENIZER_ROLES];
    char fingerprint[SHA256_HEX];
};

/* Of the parsed tokenizer.json. */
MUST_USE status tokenizer_load_json(const json_t *whole, const char *origin, tokenizer **ret, error *err);

/* The parsed tokenizer.json that a folder or file of another kind amounts to. */
MUST_USE status tokenizer_files_read(const char *path, json_t **ret, char **ret_origin, error *err);
/* Which tokens have roles, as special_tokens_map.json of the folder says; where that is not there, nothing. */
MUST_USE status tokenizer_files_roles(const char *path, tokenizer *t, error *err);

extern const char *const tokenizer_role_keys[TOKENIZER_ROLES]; /* "cls_token", ... */

#endif
