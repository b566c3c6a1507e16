#include "model/allennlp_weights.h"

#include "common/store/safetensors.h"
#include "model/allennlp_names.h"
#include "model/encoder.h"
#include "model/weight_files.h"

#include <string.h>

/* Over a table of words tensors are called here as AllenNLP calls them. */
static bool has_its_names(const config *model)
{
    static const char *const types[] = {"basic_classifier", "simple_tagger", "biaffine_parser"};
    for (size_t i = 0; i < COUNT_OF(types); i++)
        if (strcmp(config_str(model, "type"), types[i]) == 0)
            return true;
    return false;
}

/* Those that are weights: positions that torch keeps beside them are not. `names` NULL: they keep theirs. */
static status rename_all(const weight_files *from, const checkpoint_names *names, st_tensor *ret, size_t *ret_n,
                         error *err)
{
    size_t n = 0;
    for (size_t i = 0; i < from->n; i++) {
        const st_tensor *t = from->tensors[i];
        if (t->dtype == DT_I64)
            continue;
        if (t->dtype != DT_F32)
            return FAIL(err, E_DATA, "'%s': tensor '%s' is %s; expected float32", from->path, t->name,
                        dtype_name(t->dtype));
        ret[n] = *t;
        ret[n++].name = names ? allennlp_tensor(t->name, names, from->memory) : t->name;
    }
    *ret_n = n;
    return OK;
}

static status write_all(const st_tensor *tensors, size_t n, const char *path, error *err)
{
    st_writer *w = NULL;
    TRY(st_writer_open(path, tensors, n, NULL, 0, &w, err));
    status st = OK;
    for (size_t i = 0; i < n && st == OK; i++)
        st = st_writer_add(w, tensors[i].data, tensors[i].bytes, err);
    if (st != OK) {
        st_writer_abort(&w);
        return st;
    }
    return st_writer_close(&w, NULL, NULL, err);
}

status allennlp_weights_convert(const char *file, const config *model, const char *safetensors, error *err)
{
    const encoder_family *family = encoder_family_of(model);
    weight_files from;
    size_t n = 0;
    if (!family && !has_its_names(model))
        return FAIL(err, E_CONFIG,
                    "'%s': of AllenNLP's weights those of transformer_qa, basic_classifier, simple_tagger and "
                    "biaffine_parser are read, and %s.type is '%s'",
                    file, config_path(model), config_str(model, "type"));
    status st = weight_files_open(file, &from, err);
    if (st == OK) {
        st_tensor *tensors = arena_alloc(from.memory, (from.n + 1) * sizeof *tensors);
        st = weight_files_check(&from, err);
        if (st == OK)
            st = rename_all(&from, family ? &family->names : NULL, tensors, &n, err);
        if (st == OK)
            st = write_all(tensors, n, safetensors, err);
    }
    weight_files_close(&from);
    return st;
}
