#include "model/initial.h"

#include "common/base/alloc.h"
#include "model/decoder.h"
#include "model/encoder.h"
#include "model/pretrained.h"
#include "onnx/advice.h"
#include "onnx/import.h"

#include <string.h>

static bool is_onnx(const config *model)
{
    return strcmp(config_str(model, "type"), "onnx") == 0;
}

bool model_brings_weights(const config *model)
{
    return is_onnx(model) || config_has(model, "pretrained");
}

static status read_pushed(const onnx_model *m, const flat *f, float *out, error *err)
{
    for (int32_t t = 0; t < f->n_tensors; t++) {
        const tensor_decl *d = &f->tensors[t];
        onnx_weight w;
        if (d->init.kind != INIT_PUSHED)
            continue;
        if (!onnx_weight_find(m, d->name, &w))
            return FAIL(err, E_DATA, "%s: there is no initializer '%s'", m->path, d->name);
        TRY(onnx_weight_read(m, &w, out + f->offset[t], f->count[t], err));
    }
    return OK;
}

/* A new head, or adapters. */
static status check_whole(const config *model, const flat *f, error *err)
{
    for (int32_t t = 0; t < f->n_tensors; t++)
        if (f->tensors[t].init.kind != INIT_PUSHED)
            return FAIL(err, E_CONFIG, "%s: '%s' is not in '%s' and would be drawn: it has learnt nothing",
                        config_path(model), f->tensors[t].name, config_str(model, "path"));
    return OK;
}

static status read_onnx(const config *model, const flat *f, float *out, buf *report, error *err)
{
    onnx_model *m = NULL;
    size_t n = 0;
    TRY(onnx_open(config_str(model, "path"), &m, err));
    status st = read_pushed(m, f, out, err);
    onnx_close(&m);
    for (int32_t t = 0; t < f->n_tensors; t++)
        n += f->tensors[t].init.kind == INIT_PUSHED;
    buf_addf(report, "from=%s tensors=%zu drawn=%zu", config_str(model, "path"), n,
             (size_t)f->n_tensors - n);
    return st;
}

/* Those of the network; NULL: it is none that others have. */
static const checkpoint_names *names_of(const config *model)
{
    const encoder_family *e = encoder_family_of(model);
    const decoder_family *d = decoder_family_of(model);
    return e ? &e->names : d ? &d->names : NULL;
}

static status fill(const config *model, const flat *f, uint64_t seed, bool is_whole, float *out, buf *report,
                   error *err)
{
    for (int32_t p = 0; p < f->n_parts; p++)
        flat_part_init(f, p, seed, out + f->parts[p].begin);
    if (is_onnx(model) && is_whole)
        TRY(check_whole(model, f, err));
    if (is_onnx(model))
        return read_onnx(model, f, out, report, err);
    if (config_has(model, "pretrained"))
        return pretrained_read(model, names_of(model), is_whole, f, out, report, err);
    return OK;
}

status model_initial(const config *model, const flat *f, uint64_t seed, float *out, buf *report,
                     error *err)
{
    return fill(model, f, seed, false, out, report, err);
}

status model_learnt(const config *model, const flat *f, uint64_t seed, float *out, buf *report, error *err)
{
    return fill(model, f, seed, true, out, report, err);
}

char *model_advice(const config *model)
{
    onnx_model *m = NULL;
    char *advice = NULL;
    if (is_onnx(model) && onnx_open(config_str(model, "path"), &m, NULL) == OK)
        advice = onnx_advice(m);
    onnx_close(&m);
    return advice;
}
