/* What moves a window: convolutions and pooling. */
#include "backend/cpu/dnnl/state.h"

/* A window as oneDNN takes it, which counts the gaps between taps: dense is 0. */
typedef struct dims {
    dnnl_dims_t kernel, stride, gaps, begin, end;
} dims;

static dims dims_of(const shim_window *w)
{
    dims d = {0};
    for (int i = 0; i < w->rank; i++) {
        d.kernel[i] = w->kernel[i];
        d.stride[i] = w->stride[i];
        d.gaps[i] = w->dilation[i] - 1;
        d.begin[i] = w->begin[i];
        d.end[i] = w->end[i];
    }
    return d;
}

static status describe_conv(shim *s, const shim_window *w, const shim_layout *src,
                            const shim_layout *weights, const shim_layout *bias,
                            const shim_layout *dst, dnnl_primitive_desc_t *ret, error *err)
{
    dims d = dims_of(w);
    return shim_check(dnnl_convolution_forward_primitive_desc_create(
                          ret, s->engine, dnnl_forward_training, dnnl_convolution_direct, src->desc,
                          weights->desc, bias ? bias->desc : NULL, dst->desc, d.stride, d.gaps,
                          d.begin, d.end, s->attr),
                      "convolution", err);
}

status shim_conv(shim *s, const shim_window *w, const shim_layout *src, const shim_layout *weights,
                 const shim_layout *bias, const shim_layout *dst, shim_primitive **ret, error *err)
{
    dnnl_primitive_desc_t desc;
    TRY(describe_conv(s, w, src, weights, bias, dst, &desc, err));
    return shim_primitive_new(s, desc, "convolution", ret, err);
}

status shim_conv_bwd_data(shim *s, const shim_window *w, const shim_layout *src,
                          const shim_layout *weights, const shim_layout *dst, shim_primitive **ret,
                          error *err)
{
    const char *what = "convolution gradient (data)";
    dims d = dims_of(w);
    dnnl_primitive_desc_t desc; /* a convolution's gradient needs no hint */
    TRY(shim_check(dnnl_convolution_backward_data_primitive_desc_create(
                       &desc, s->engine, dnnl_convolution_direct, src->desc, weights->desc,
                       dst->desc, d.stride, d.gaps, d.begin, d.end, NULL, s->attr),
                   what, err));
    return shim_primitive_new(s, desc, what, ret, err);
}

status shim_conv_bwd_weights(shim *s, const shim_window *w, const shim_layout *src,
                             const shim_layout *weights, const shim_layout *bias,
                             const shim_layout *dst, shim_primitive **ret, error *err)
{
    const char *what = "convolution gradient (weights)";
    dims d = dims_of(w);
    dnnl_primitive_desc_t desc;
    TRY(shim_check(dnnl_convolution_backward_weights_primitive_desc_create(
                       &desc, s->engine, dnnl_convolution_direct, src->desc, weights->desc,
                       bias ? bias->desc : NULL, dst->desc, d.stride, d.gaps, d.begin, d.end, NULL,
                       s->attr),
                   what, err));
    return shim_primitive_new(s, desc, what, ret, err);
}

static dnnl_alg_kind_t pooling_kind(shim_pooling kind)
{
    static const dnnl_alg_kind_t kinds[] = {
        [SHIM_POOL_MAX] = dnnl_pooling_max,
        [SHIM_POOL_MEAN] = dnnl_pooling_avg_exclude_padding,
        [SHIM_POOL_MEAN_PADDED] = dnnl_pooling_avg_include_padding,
    };
    return kinds[kind];
}

static status describe_pool(shim *s, shim_pooling kind, const shim_window *w,
                            const shim_layout *src, const shim_layout *dst, bool training,
                            dnnl_primitive_desc_t *ret, error *err)
{
    dims d = dims_of(w);
    dnnl_prop_kind_t prop = training ? dnnl_forward_training : dnnl_forward_inference;
    return shim_check(dnnl_pooling_forward_primitive_desc_create(
                          ret, s->engine, prop, pooling_kind(kind), src->desc, dst->desc, d.stride,
                          d.kernel, d.gaps, d.begin, d.end, s->attr),
                      "pooling", err);
}

status shim_pool(shim *s, shim_pooling kind, const shim_window *w, const shim_layout *src,
                 const shim_layout *dst, bool training, shim_primitive **ret, error *err)
{
    dnnl_primitive_desc_t desc;
    TRY(describe_pool(s, kind, w, src, dst, training, &desc, err));
    return shim_primitive_new(s, desc, "pooling", ret, err);
}

static status pool_bwd(shim *s, shim_pooling kind, const shim_window *w, const shim_layout *src,
                       const shim_layout *dst, dnnl_primitive_desc_t hint, shim_primitive **ret,
                       error *err)
{
    const char *what = "pooling gradient";
    dims d = dims_of(w);
    dnnl_primitive_desc_t desc;
    TRY(shim_check(dnnl_pooling_backward_primitive_desc_create(
                       &desc, s->engine, pooling_kind(kind), src->desc, dst->desc, d.stride,
                       d.kernel, d.gaps, d.begin, d.end, hint, s->attr),
                   what, err));
    return shim_primitive_new(s, desc, what, ret, err);
}

status shim_max_pool_bwd(shim *s, const shim_window *w, const shim_primitive *forward,
                         shim_primitive **ret, error *err)
{
    return pool_bwd(s, SHIM_POOL_MAX, w, forward->layout[SHIM_SRC], forward->layout[SHIM_DST],
                    forward->desc, ret, err);
}

status shim_mean_pool_bwd(shim *s, shim_pooling kind, const shim_window *w, const shim_layout *src,
                          const shim_layout *dst, shim_primitive **ret, error *err)
{
    dnnl_primitive_desc_t hint;
    TRY(describe_pool(s, kind, w, src, dst, true, &hint, err));
    status st = pool_bwd(s, kind, w, src, dst, hint, ret, err);
    dnnl_primitive_desc_destroy(hint);
    return st;
}
