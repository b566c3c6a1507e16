#include "backend/cpu/dnnl/state.h"

static status describe_batch_norm(shim *s, const shim_layout *data, float epsilon, bool training,
                                  dnnl_primitive_desc_t *ret, error *err)
{
    const char *what = "batch normalization";
    unsigned flags = dnnl_use_scale | dnnl_use_shift | (training ? 0 : dnnl_use_global_stats);
    dnnl_batch_normalization_desc_t op;
    TRY(shim_check(dnnl_batch_normalization_forward_desc_init(&op, dnnl_forward_training,
                                                              &data->desc, epsilon, flags),
                   what, err));
    return shim_describe(s, &op, NULL, what, ret, err);
}

status shim_batch_norm(shim *s, const shim_layout *data, float epsilon, bool training,
                       shim_primitive **ret, error *err)
{
    dnnl_primitive_desc_t desc;
    TRY(describe_batch_norm(s, data, epsilon, training, &desc, err));
    return shim_primitive_new(s, desc, "batch normalization", ret, err);
}

status shim_batch_norm_bwd(shim *s, const shim_layout *data, float epsilon, bool training,
                           shim_primitive **ret, error *err)
{
    const char *what = "batch normalization gradient";
    unsigned flags = dnnl_use_scale | dnnl_use_shift | (training ? 0 : dnnl_use_global_stats);
    dnnl_batch_normalization_desc_t op;
    TRY(shim_check(dnnl_batch_normalization_backward_desc_init(&op, dnnl_backward, &data->desc,
                                                               &data->desc, epsilon, flags),
                   what, err));
    dnnl_primitive_desc_t hint, desc = NULL;
    TRY(describe_batch_norm(s, data, epsilon, training, &hint, err));
    status st = shim_describe(s, &op, hint, what, &desc, err);
    dnnl_primitive_desc_destroy(hint);
    TRY(st);
    return shim_primitive_new(s, desc, what, ret, err);
}
