#include "backend/cpu/dnnl/state.h"

static unsigned flags_of(bool training)
{
    return dnnl_use_scale | dnnl_use_shift | (training ? 0u : (unsigned)dnnl_use_global_stats);
}

static status describe(shim *s, const shim_layout *data, float epsilon, bool training,
                       dnnl_primitive_desc_t *ret, error *err)
{
    return shim_check(dnnl_batch_normalization_forward_primitive_desc_create(
                          ret, s->engine, dnnl_forward_training, data->desc, data->desc, epsilon,
                          flags_of(training), s->attr),
                      "batch normalization", err);
}

status shim_batch_norm(shim *s, const shim_layout *data, float epsilon, bool training,
                       shim_primitive **ret, error *err)
{
    dnnl_primitive_desc_t desc;
    TRY(describe(s, data, epsilon, training, &desc, err));
    return shim_primitive_new(s, desc, "batch normalization", ret, err);
}

status shim_batch_norm_bwd(shim *s, const shim_layout *data, float epsilon, bool training,
                           shim_primitive **ret, error *err)
{
    const char *what = "batch normalization gradient";
    dnnl_primitive_desc_t hint, desc = NULL;
    TRY(describe(s, data, epsilon, training, &hint, err));
    status st = shim_check(dnnl_batch_normalization_backward_primitive_desc_create(
                               &desc, s->engine, dnnl_backward, data->desc, data->desc, data->desc,
                               epsilon, flags_of(training), hint, s->attr),
                           what, err);
    dnnl_primitive_desc_destroy(hint);
    TRY(st);
    return shim_primitive_new(s, desc, what, ret, err);
}
