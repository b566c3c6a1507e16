/* WordLevel: a word is a token, or unknown. */
#include "common/base/alloc.h"
#include "text/model.h"

#include <stdlib.h>
#include <string.h>

static status tokenize(const model *m, model_scratch *s, const char *text, uint32_t bytes, error *err)
{
    int32_t id = vocabulary_find(m->tokens, text, bytes);
    if (id == VOCABULARY_NONE)
        return model_unknown(m, s, bytes, err);
    model_add(s, id, 0, bytes);
    return OK;
}

static void destroy(model *m)
{
    free(m);
}

static const model_ops ops = {tokenize, destroy};

status word_level_load(fields *f, model **ret, error *err)
{
    model *m = xcalloc(1, sizeof *m);
    *m = (model){.ops = &ops, .tokens = vocabulary_create()};
    const char *unk = NULL;
    status st = fields_text(f, "unk_token", "<unk>", &unk, err);
    if (st == OK)
        st = model_load_vocabulary(f, m->tokens, err);
    *ret = m;
    if (st != OK) {
        model_destroy(ret);
        return st;
    }
    m->unk = vocabulary_find(m->tokens, unk, strlen(unk));
    return OK;
}
