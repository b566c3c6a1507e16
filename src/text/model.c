/* See model.h: what models have in common. */
#include "text/model.h"

#include "common/base/alloc.h"

#include <stdlib.h>
#include <string.h>

void model_destroy(model **m)
{
    if (!*m)
        return;
    vocabulary_destroy(&(*m)->tokens);
    (*m)->ops->destroy(*m);
    *m = NULL;
}

void model_add(model_scratch *s, int32_t id, uint32_t begin, uint32_t end)
{
    GROW(s->tokens, s->cap, s->n + 1);
    s->tokens[s->n++] = (model_token){id, begin, end};
}

void *model_work(model_scratch *s, size_t bytes)
{
    if (bytes > s->work_bytes) {
        free(s->work);
        s->work_bytes = bytes + bytes / 2;
        s->work = xmalloc(s->work_bytes);
    }
    return s->work;
}

status model_unknown(const model *m, model_scratch *s, uint32_t bytes, error *err)
{
    if (m->unk == VOCABULARY_NONE)
        return FAIL(err, E_DATA, "a word is not in the vocabulary, which has no token for unknown ones");
    model_add(s, m->unk, 0, bytes);
    return OK;
}

status model_load_vocabulary(fields *f, vocabulary *v, error *err)
{
    const json_t *list = fields_any(f, "vocab");
    if (!json_is_object(list))
        return FAIL(err, E_DATA, "%s.vocab: must be an object of texts and ids", f->place);
    const char *text;
    size_t bytes;
    json_t *id;
    json_object_keylen_foreach((json_t *)list, text, bytes, id)
    {
        json_int_t number = json_integer_value(id);
        if (!json_is_integer(id) || number < 0 || number >= VOCABULARY_IDS)
            return FAIL(err, E_DATA, "%s.vocab: the id of '%s' must be an integer from 0 to %d", f->place, text,
                        VOCABULARY_IDS - 1);
        vocabulary_add(v, text, bytes, (int32_t)number, false);
    }
    return OK;
}

void model_scratch_fini(model_scratch *s)
{
    free(s->tokens);
    free(s->work);
    *s = (model_scratch){.tokens = NULL};
}
