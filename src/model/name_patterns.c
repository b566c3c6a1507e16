#include "model/name_patterns.h"

#include "model/allennlp_names.h"

#include <stdlib.h>
#include <string.h>

void name_patterns_fini(name_patterns *p)
{
    for (size_t i = 0; p->at && i < p->n; i++)
        pattern_destroy(&p->at[i]);
    free(p->at);
    pattern_scratch_destroy(&p->scratch);
    arena_destroy(&p->memory);
}

status name_patterns_init(name_patterns *p, const json_t *list, const char *place, const config *model, error *err)
{
    error why = ERROR_INIT;
    status st = OK;
    *p = (name_patterns){.list = list,
                         .model = model,
                         .n = json_array_size(list),
                         .scratch = pattern_scratch_create(),
                         .memory = arena_create()};
    p->at = xcalloc(p->n + 1, sizeof *p->at);
    for (size_t i = 0; st == OK && i < p->n; i++)
        st = pattern_regex(json_string_value(json_array_get(list, i)), place, &p->at[i], &why);
    if (st == OK)
        return OK;
    name_patterns_fini(p);
    return FAIL(err, st == E_DATA ? E_CONFIG : st, "%s", why.text);
}

static status found(const name_patterns *p, size_t i, const char *name, bool *ret, error *err)
{
    uint32_t begin, end;
    return pattern_find(p->at[i], p->scratch, name, (uint32_t)strlen(name), 0, ret, &begin, &end, err);
}

status name_patterns_match(const name_patterns *p, size_t i, const char *name, bool *ret, error *err)
{
    TRY(found(p, i, name, ret, err));
    const char *theirs = *ret ? NULL : allennlp_name_of(p->model, name, p->memory);
    return theirs ? found(p, i, theirs, ret, err) : OK;
}

status name_patterns_any(const name_patterns *p, const char *name, bool *ret, error *err)
{
    *ret = false;
    for (size_t i = 0; i < p->n && !*ret; i++)
        TRY(name_patterns_match(p, i, name, ret, err));
    return OK;
}
