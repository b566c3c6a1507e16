/* See tokenizer.h: the vocabulary, and decoding; open.c and encode.c have the rest. */
#include "text/tokenizer.h"

#include "text/load.h"

#include <stdlib.h>
#include <string.h>

void tokenizer_destroy(tokenizer **t)
{
    if (!*t)
        return;
    normalizer_destroy(&(*t)->normalizer);
    pre_tokenizer_destroy(&(*t)->pre_tokenizer);
    model_destroy(&(*t)->model);
    added_tokens_destroy(&(*t)->added);
    decoder_destroy(&(*t)->decoder);
    free((*t)->blanks);
    free(*t);
    *t = NULL;
}

const char *tokenizer_fingerprint(const tokenizer *t)
{
    return t->fingerprint;
}

int64_t tokenizer_size(const tokenizer *t)
{
    int64_t of_model = vocabulary_size(t->model->tokens);
    int64_t of_added = vocabulary_size(added_tokens_vocabulary(t->added));
    return of_model > of_added ? of_model : of_added;
}

int32_t tokenizer_id(const tokenizer *t, const char *text)
{
    int32_t id = vocabulary_find(added_tokens_vocabulary(t->added), text, strlen(text));
    return id == VOCABULARY_NONE ? vocabulary_find(t->model->tokens, text, strlen(text)) : id;
}

const char *tokenizer_text(const tokenizer *t, int64_t id, size_t *ret_bytes)
{
    const char *text = vocabulary_text(added_tokens_vocabulary(t->added), id, ret_bytes);
    return text ? text : vocabulary_text(t->model->tokens, id, ret_bytes);
}

int32_t tokenizer_special(const tokenizer *t, tokenizer_role role)
{
    return t->roles[role];
}

const tokenizer_truncation *tokenizer_file_truncation(const tokenizer *t)
{
    return &t->truncation;
}

const tokenizer_padding *tokenizer_file_padding(const tokenizer *t)
{
    return &t->padding;
}

bool tokenizer_tells_types(const tokenizer *t)
{
    const post_template *pair = &t->post.templates[1];
    bool any = false;
    for (int i = 0; i < pair->n; i++)
        any = any || (pair->at[i].sequence == 1 && pair->at[i].type_id != 0);
    return any;
}

status tokenizer_decode(const tokenizer *t, const int32_t *ids, size_t n, bool skip_special, buf *ret, error *err)
{
    decode_texts texts = {.n = 0};
    for (size_t i = 0; i < n; i++) {
        size_t bytes;
        const char *text = tokenizer_text(t, ids[i], &bytes);
        if (text && !(skip_special && added_tokens_is_special(t->added, ids[i])))
            decode_texts_add(&texts, text, bytes);
    }
    status st = decoder_apply(t->decoder, &texts, ret, err);
    decode_texts_fini(&texts);
    return st;
}

void tokenizer_library_versions(char *ret_utf8proc, char *ret_pcre2, size_t bytes)
{
    forms_library_version(ret_utf8proc, bytes);
    pattern_library_version(ret_pcre2, bytes);
}
