/* See tokenizer.h: loading. */
#include "text/load.h"

#include <stdlib.h>
#include <string.h>

status tokenizer_parse(const char *json, size_t bytes, const char *origin, tokenizer **ret, error *err)
{
    json_t *whole = NULL;
    tokenizer *t = NULL;
    TRY(json_parse(json, bytes, origin, E_DATA, &whole, err));
    status st = tokenizer_load_json(whole, origin, &t, err);
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
    json_decref(whole);
    free(origin);
    if (st == OK)
        *ret = t;
    else
        tokenizer_destroy(&t);
    return st;
}
