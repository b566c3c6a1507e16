/* See tokenizer.h: loading. */
#include "text/load.h"

#include <stdlib.h>
#include <string.h>

/* Keys are sorted, so their order is not part of it. */
static void take_fingerprint(const json_t *whole, tokenizer *t)
{
    sha256 h;
    char *text = json_text(whole);
    sha256_begin(&h);
    sha256_add(&h, text, strlen(text));
    sha256_add(&h, t->roles, sizeof t->roles);
    sha256_end(&h, t->fingerprint);
    free(text);
}

status tokenizer_parse(const char *json, size_t bytes, const char *origin, tokenizer **ret, error *err)
{
    json_t *whole = NULL;
    tokenizer *t = NULL;
    TRY(json_parse(json, bytes, origin, E_DATA, &whole, err));
    status st = tokenizer_load_json(whole, origin, &t, err);
    if (st == OK)
        take_fingerprint(whole, t);
    json_decref(whole);
    if (st == OK)
        *ret = t;
    return st;
}

status tokenizer_open(const char *path, tokenizer **ret, error *err)
{
    json_t *whole = NULL;
    char *origin = NULL;
    tokenizer *t = NULL;
    TRY(tokenizer_files_read(path, &whole, &origin, err));
    status st = tokenizer_load_json(whole, origin, &t, err);
    if (st == OK)
        st = tokenizer_files_roles(path, t, err);
    if (st == OK)
        take_fingerprint(whole, t);
    json_decref(whole);
    free(origin);
    if (st == OK)
        *ret = t;
    else
        tokenizer_destroy(&t);
    return st;
}
