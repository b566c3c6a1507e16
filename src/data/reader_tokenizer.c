#include "data/reader_tokenizer.h"

#include "common/base/alloc.h"
#include "common/base/gcs.h"
#include "text/word_split.h"

#include <stdlib.h>
#include <string.h>

static const char key[] = "tokenizer_sha256";

bool reader_tokenizer_is_path(const char *said)
{
    static const char *const others[] = {"characters", "bytes", "spacy"};
    word_split split;
    for (size_t i = 0; i < COUNT_OF(others); i++)
        if (strcmp(said, others[i]) == 0)
            return false;
    return !word_split_of(said, &split);
}

static status open_path(const reader_tokenizer *w, tokenizer **ret, error *err)
{
    char *file = NULL;
    status st = gcs_path(w->path, &file, err);
    if (st == OK)
        st = tokenizer_open(file, ret, err);
    free(file);
    if (st != OK && w->option)
        error_prepend(err, "%s", w->option);
    return st;
}

static status check(const reader_tokenizer *w, const tokenizer *t, error *err)
{
    const json_t *said = json_object_get(w->vocabulary, key); /* null: nobody knows */
    const char *known = json_string_value(said), *own = tokenizer_fingerprint(t);
    if (!w->vocabulary || json_is_null(said) || (known && strcmp(known, own) == 0))
        return OK;
    if (!known)
        return FAIL(err, E_DATA, "'%s': does not say which tokenizer the training data were read by", w->origin);
    return FAIL(err, E_DATA, "'%s': is another tokenizer than that of '%s': its SHA-256 is %.12s..., expected %.12s...",
                w->path, w->origin, own, known);
}

status reader_tokenizer_open(const reader_tokenizer *which, tokenizer **ret, error *err)
{
    tokenizer *t = NULL;
    TRY(open_path(which, &t, err));
    status st = check(which, t, err);
    if (st == OK)
        *ret = t;
    else
        tokenizer_destroy(&t);
    return st;
}

void reader_tokenizer_tell(const tokenizer *t, json_t *vocabulary)
{
    json_object_set_new(vocabulary, key, json_string(tokenizer_fingerprint(t)));
}

void reader_tokenizer_join(const json_t *vocabularies, json_t *vocabulary)
{
    json_t *first = NULL;
    for (size_t i = 0; i < json_array_size(vocabularies); i++) {
        json_t *one = json_object_get(json_array_get(vocabularies, i), key);
        first = first ? first : one;
        if (one && !json_equal(one, first))
            return;
    }
    if (first)
        json_object_set(vocabulary, key, first);
}
