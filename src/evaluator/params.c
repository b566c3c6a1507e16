/* See params.h. */
#include "evaluator/params.h"

#include "graph/graph.h"
#include "model/lora.h"

#include <string.h>

static status check_shape(const tensor_decl *want, const st_tensor *have, const char *origin,
                          const char *hint, error *err)
{
    graph_shape ours = {.rank = want->rank}, theirs = {.rank = have->rank};
    memcpy(ours.dim, want->dim, sizeof ours.dim);
    memcpy(theirs.dim, have->dim, sizeof theirs.dim);
    char a[128], b[128];
    if (graph_shape_equal(&ours, &theirs))
        return OK;
    return FAIL(err, E_DATA, "'%s': tensor '%s' is %s, the model asks for %s%s", origin, want->name,
                graph_shape_text(&theirs, a, sizeof a), graph_shape_text(&ours, b, sizeof b), hint);
}

static status take(const tensor_decl *want, const weights *w, const char *hint, size_t bytes,
                   float *ret, error *err)
{
    const st_tensor *have = weights_find(w, want->name);
    const char *origin = weights_origin(w);
    if (!have)
        return FAIL(err, E_DATA, "'%s': has no tensor '%s', which the model asks for", origin,
                    want->name);
    if (have->dtype != DT_F32)
        return FAIL(err, E_DATA, "'%s': tensor '%s' is %s, the model asks for float32", origin,
                    want->name, dtype_name(have->dtype));
    TRY(check_shape(want, have, origin, hint, err));
    memcpy(ret, have->data, bytes);
    return OK;
}

/* Tensors too many are ignored, but without its adapters a model says something else. */
static status check_adapters(const flat *f, const weights *w, error *err)
{
    for (size_t i = 0; i < weights_count(w); i++) {
        const char *name = weights_at(w, i)->name;
        if (lora_is_adapter(name) && flat_find(f, name) < 0)
            return FAIL(err, E_CONFIG, "'%s': tensor '%s' is an adapter, for which the configuration has no model.lora",
                        weights_origin(w), name);
    }
    return OK;
}

status params_take(const flat *f, const weights *w, const char *hint, float *ret_values,
                   error *err)
{
    TRY(check_adapters(f, w, err));
    for (int32_t t = 0; t < f->n_tensors; t++)
        TRY(take(&f->tensors[t], w, hint, (size_t)f->count[t] * sizeof(float),
                 ret_values + f->offset[t], err));
    return OK;
}
