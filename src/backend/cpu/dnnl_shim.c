#include "backend/cpu/dnnl_shim.h"

#include "common/base/alloc.h"

#include <oneapi/dnnl/dnnl.h>
#include <stdio.h>
#include <stdlib.h>

struct shim_layout {
    dnnl_memory_desc_t desc;
};

struct shim_primitive {
    shim_primitive *next; /* the shim's list */
    shim *owner;
    dnnl_primitive_desc_t desc;
    dnnl_primitive_t primitive;
    int n_args;
    dnnl_exec_arg_t args[SHIM_ROLES];
    int arg_of[SHIM_ROLES];        /* index in args or -1 */
    const void *bound[SHIM_ROLES]; /* by index in args */
    const shim_layout *layout[SHIM_ROLES];
};

struct shim {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_primitive_attr_t attr; /* scratch memory is the caller's */
    arena *layouts;
    shim_primitive *primitives;
};

static const int role_arg[SHIM_ROLES] = {
#define X(role, arg) [role] = arg,
    SHIM_ROLE_MAP(X)
#undef X
};

static status check(dnnl_status_t st, const char *what, error *err)
{
    switch (st) {
    case dnnl_success:
        return OK;
    case dnnl_out_of_memory:
        return FAIL(err, E_NOMEM, "oneDNN: %s: out of memory", what);
    case dnnl_unimplemented:
        return FAIL(err, E_UNSUPPORTED, "oneDNN has no %s for these shapes", what);
    case dnnl_invalid_arguments:
        return FAIL(err, E_UNSUPPORTED, "oneDNN refuses the shapes of this %s", what);
    default:
        return FAIL(err, E_DEVICE, "oneDNN: %s failed with status %d", what, (int)st);
    }
}

static status create_attr(shim *s, error *err)
{
    TRY(check(dnnl_primitive_attr_create(&s->attr), "attribute", err));
    return check(dnnl_primitive_attr_set_scratchpad_mode(s->attr, dnnl_scratchpad_mode_user),
                 "attribute", err);
}

status shim_create(shim **ret, error *err)
{
    shim *s = xcalloc(1, sizeof *s);
    s->layouts = arena_create();
    status st;
    TRY_OUT(st, check(dnnl_engine_create(&s->engine, dnnl_cpu, 0), "CPU engine", err));
    TRY_OUT(st, check(dnnl_stream_create(&s->stream, s->engine, dnnl_stream_default_flags),
                      "stream", err));
    TRY_OUT(st, create_attr(s, err));
    *ret = s;
    return OK;
out:
    shim_destroy(&s);
    return st;
}

static void primitive_free(shim_primitive *p)
{
    for (int i = 0; i < p->n_args; i++)
        dnnl_memory_destroy(p->args[i].memory);
    if (p->primitive)
        dnnl_primitive_destroy(p->primitive);
    if (p->desc)
        dnnl_primitive_desc_destroy(p->desc);
    free(p);
}

void shim_destroy(shim **s)
{
    shim *d = *s;
    if (!d)
        return;
    while (d->primitives) {
        shim_primitive *p = d->primitives;
        d->primitives = p->next;
        primitive_free(p);
    }
    if (d->attr)
        dnnl_primitive_attr_destroy(d->attr);
    if (d->stream)
        dnnl_stream_destroy(d->stream);
    if (d->engine)
        dnnl_engine_destroy(d->engine);
    arena_destroy(&d->layouts);
    free(d);
    *s = NULL;
}

void shim_version(char *ret, size_t bytes)
{
    const dnnl_version_t *v = dnnl_version();
    snprintf(ret, bytes, "%d.%d.%d", v->major, v->minor, v->patch);
}

const char *shim_isa(void)
{
    static const struct {
        dnnl_cpu_isa_t isa;
        const char *name;
    } known[] = {
        {dnnl_cpu_isa_sse41, "sse41"},
        {dnnl_cpu_isa_avx, "avx"},
        {dnnl_cpu_isa_avx2, "avx2"},
        {dnnl_cpu_isa_avx2_vnni, "avx2_vnni"},
        {dnnl_cpu_isa_avx512_mic, "avx512_mic"},
        {dnnl_cpu_isa_avx512_mic_4ops, "avx512_mic_4ops"},
        {dnnl_cpu_isa_avx512_core, "avx512_core"},
        {dnnl_cpu_isa_avx512_core_vnni, "avx512_core_vnni"},
        {dnnl_cpu_isa_avx512_core_bf16, "avx512_core_bf16"},
        {dnnl_cpu_isa_avx512_core_amx, "avx512_core_amx"},
    };
    dnnl_cpu_isa_t isa = dnnl_get_effective_cpu_isa();
    for (size_t i = 0; i < COUNT_OF(known); i++)
        if (known[i].isa == isa)
            return known[i].name;
    return "generic";
}

static shim_layout *layout_new(shim *s, const dnnl_memory_desc_t *desc)
{
    shim_layout *l = arena_alloc(s->layouts, sizeof *l);
    if (desc)
        l->desc = *desc;
    return l;
}

status shim_plain(shim *s, int rank, const int64_t *dims, const shim_layout **ret, error *err)
{
    dnnl_dims_t strides;
    int64_t stride = 1;
    for (int i = rank - 1; i >= 0; i--) {
        strides[i] = stride;
        stride *= dims[i] > 0 ? dims[i] : 1;
    }
    shim_layout *l = layout_new(s, NULL);
    TRY(check(dnnl_memory_desc_init_by_strides(&l->desc, rank, dims, dnnl_f32, strides), "layout",
              err));
    *ret = l;
    return OK;
}

static status any_of(shim *s, int rank, const int64_t *dims, dnnl_data_type_t type,
                     const shim_layout **ret, error *err)
{
    shim_layout *l = layout_new(s, NULL);
    TRY(check(dnnl_memory_desc_init_by_tag(&l->desc, rank, dims, type, dnnl_format_tag_any),
              "layout", err));
    *ret = l;
    return OK;
}

status shim_any(shim *s, int rank, const int64_t *dims, const shim_layout **ret, error *err)
{
    return any_of(s, rank, dims, dnnl_f32, ret, err);
}

status shim_any_bf16(shim *s, int rank, const int64_t *dims, const shim_layout **ret, error *err)
{
    return any_of(s, rank, dims, dnnl_bf16, ret, err);
}

/*
 * Row-major bytes come in disguises: axes of size 1 may have any stride, and a blocked axis whose
 * neighbours to the right all have size 1 is dense. So strides are compared as elements see them.
 */
bool shim_layout_is_plain(const shim_layout *l)
{
    const dnnl_memory_desc_t *d = &l->desc;
    if (d->format_kind != dnnl_blocked || shim_layout_is_padded(l) || d->offset0 != 0)
        return false;
    const dnnl_blocking_desc_t *b = &d->format_desc.blocking;
    if (b->inner_nblks > 1)
        return false;
    int64_t expected = 1;
    for (int i = d->ndims - 1; i >= 0; i--) {
        bool blocked = b->inner_nblks == 1 && b->inner_idxs[0] == i;
        int64_t block = blocked ? b->inner_blks[0] : 1;
        if (blocked && expected != 1)
            return false;
        if (d->dims[i] / block > 1 && b->strides[i] != expected * block)
            return false;
        expected *= d->dims[i];
    }
    return true;
}

bool shim_layout_is_padded(const shim_layout *l)
{
    for (int i = 0; i < l->desc.ndims; i++)
        if (l->desc.padded_dims[i] != l->desc.dims[i])
            return true;
    return false;
}

bool shim_layout_same(const shim_layout *a, const shim_layout *b)
{
    if (a == b || dnnl_memory_desc_equal(&a->desc, &b->desc))
        return true;
    return a->desc.data_type == b->desc.data_type && shim_layout_is_plain(a) &&
           shim_layout_is_plain(b);
}

/* Axis i has the stride that dense elements give it, or none because it has one element. */
static bool is_dense(const dnnl_memory_desc_t *d, int i, int64_t stride, int64_t size)
{
    return size == 1 || d->format_desc.blocking.strides[i] == stride;
}

bool shim_layout_channels(const shim_layout *l, shim_channels *ret)
{
    const dnnl_memory_desc_t *d = &l->desc;
    if (d->format_kind != dnnl_blocked || d->ndims < 2 || d->offset0 != 0)
        return false;
    const dnnl_blocking_desc_t *b = &d->format_desc.blocking;
    if (b->inner_nblks > 1 || (b->inner_nblks == 1 && b->inner_idxs[0] != 1))
        return false;
    int64_t block = b->inner_nblks ? b->inner_blks[0] : 1, stride = block;
    for (int i = d->ndims - 1; i >= 2; i--) {
        if (d->padded_dims[i] != d->dims[i] || !is_dense(d, i, stride, d->dims[i]))
            return false;
        stride *= d->dims[i];
    }
    int64_t spatial = stride / block, blocks = d->padded_dims[1] / block;
    bool tight = d->padded_dims[1] == (d->dims[1] + block - 1) / block * block &&
                 d->padded_dims[0] == d->dims[0];
    if (!tight || !is_dense(d, 1, stride, blocks) || !is_dense(d, 0, stride * blocks, d->dims[0]))
        return false;
    *ret = (shim_channels){
        .batch = d->dims[0], .channels = d->dims[1], .spatial = spatial, .block = block};
    return true;
}

size_t shim_layout_bytes(const shim_layout *l)
{
    return dnnl_memory_desc_get_size(&l->desc);
}

/* One memory object for every argument the primitive has. */
static status add_args(shim_primitive *p, error *err)
{
    for (int role = 0; role < SHIM_ROLES; role++) {
        p->arg_of[role] = -1;
        const dnnl_memory_desc_t *desc =
            dnnl_primitive_desc_query_md(p->desc, dnnl_query_exec_arg_md, role_arg[role]);
        if (!desc || desc->ndims == 0)
            continue;
        dnnl_memory_t memory;
        TRY(check(dnnl_memory_create(&memory, desc, p->owner->engine, DNNL_MEMORY_NONE), "memory",
                  err));
        p->layout[role] = layout_new(p->owner, desc);
        p->args[p->n_args] = (dnnl_exec_arg_t){.arg = role_arg[role], .memory = memory};
        p->arg_of[role] = p->n_args++;
    }
    return OK;
}

/* Takes over `desc`. */
static status primitive_new(shim *s, dnnl_primitive_desc_t desc, const char *what,
                            shim_primitive **ret, error *err)
{
    shim_primitive *p = xcalloc(1, sizeof *p);
    p->owner = s;
    p->desc = desc;
    p->next = s->primitives;
    s->primitives = p;
    TRY(check(dnnl_primitive_create(&p->primitive, desc), what, err));
    TRY(add_args(p, err));
    *ret = p;
    return OK;
}

static status describe(shim *s, const void *op, dnnl_primitive_attr_t attr,
                       dnnl_primitive_desc_t hint, const char *what, dnnl_primitive_desc_t *ret,
                       error *err)
{
    return check(dnnl_primitive_desc_create(ret, op, attr, s->engine, hint), what, err);
}

status shim_reorder(shim *s, const shim_layout *from, const shim_layout *to, shim_primitive **ret,
                    error *err)
{
    dnnl_primitive_desc_t desc;
    TRY(check(dnnl_reorder_primitive_desc_create(&desc, &from->desc, s->engine, &to->desc,
                                                 s->engine, s->attr),
              "reorder", err));
    return primitive_new(s, desc, "reorder", ret, err);
}

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
    const char *what = "convolution";
    dims d = dims_of(w);
    dnnl_convolution_desc_t op;
    TRY(check(dnnl_dilated_convolution_forward_desc_init(
                  &op, dnnl_forward_training, dnnl_convolution_direct, &src->desc, &weights->desc,
                  bias ? &bias->desc : NULL, &dst->desc, d.stride, d.gaps, d.begin, d.end),
              what, err));
    return describe(s, &op, s->attr, NULL, what, ret, err);
}

status shim_conv(shim *s, const shim_window *w, const shim_layout *src, const shim_layout *weights,
                 const shim_layout *bias, const shim_layout *dst, shim_primitive **ret, error *err)
{
    dnnl_primitive_desc_t desc;
    TRY(describe_conv(s, w, src, weights, bias, dst, &desc, err));
    return primitive_new(s, desc, "convolution", ret, err);
}

status shim_conv_bwd_data(shim *s, const shim_window *w, const shim_layout *src,
                          const shim_layout *weights, const shim_layout *dst, shim_primitive **ret,
                          error *err)
{
    const char *what = "convolution gradient (data)";
    dims d = dims_of(w);
    dnnl_convolution_desc_t op;
    TRY(check(dnnl_dilated_convolution_backward_data_desc_init(
                  &op, dnnl_convolution_direct, &src->desc, &weights->desc, &dst->desc, d.stride,
                  d.gaps, d.begin, d.end),
              what, err));
    dnnl_primitive_desc_t desc; /* a convolution's gradient needs no hint */
    TRY(describe(s, &op, s->attr, NULL, what, &desc, err));
    return primitive_new(s, desc, what, ret, err);
}

status shim_conv_bwd_weights(shim *s, const shim_window *w, const shim_layout *src,
                             const shim_layout *weights, const shim_layout *bias,
                             const shim_layout *dst, shim_primitive **ret, error *err)
{
    const char *what = "convolution gradient (weights)";
    dims d = dims_of(w);
    dnnl_convolution_desc_t op;
    TRY(check(dnnl_dilated_convolution_backward_weights_desc_init(
                  &op, dnnl_convolution_direct, &src->desc, &weights->desc,
                  bias ? &bias->desc : NULL, &dst->desc, d.stride, d.gaps, d.begin, d.end),
              what, err));
    dnnl_primitive_desc_t desc; /* a convolution's gradient needs no hint */
    TRY(describe(s, &op, s->attr, NULL, what, &desc, err));
    return primitive_new(s, desc, what, ret, err);
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
    const char *what = "pooling";
    dims d = dims_of(w);
    dnnl_prop_kind_t prop = training ? dnnl_forward_training : dnnl_forward_inference;
    dnnl_pooling_v2_desc_t op;
    TRY(check(dnnl_pooling_v2_forward_desc_init(&op, prop, pooling_kind(kind), &src->desc,
                                                &dst->desc, d.stride, d.kernel, d.gaps, d.begin,
                                                d.end),
              what, err));
    return describe(s, &op, s->attr, NULL, what, ret, err);
}

status shim_pool(shim *s, shim_pooling kind, const shim_window *w, const shim_layout *src,
                 const shim_layout *dst, bool training, shim_primitive **ret, error *err)
{
    dnnl_primitive_desc_t desc;
    TRY(describe_pool(s, kind, w, src, dst, training, &desc, err));
    return primitive_new(s, desc, "pooling", ret, err);
}

static status pool_bwd(shim *s, shim_pooling kind, const shim_window *w, const shim_layout *src,
                       const shim_layout *dst, dnnl_primitive_desc_t hint, shim_primitive **ret,
                       error *err)
{
    const char *what = "pooling gradient";
    dims d = dims_of(w);
    dnnl_primitive_desc_t desc;
    dnnl_pooling_v2_desc_t op;
    TRY(check(dnnl_pooling_v2_backward_desc_init(&op, pooling_kind(kind), &src->desc, &dst->desc,
                                                 d.stride, d.kernel, d.gaps, d.begin, d.end),
              what, err));
    TRY(describe(s, &op, s->attr, hint, what, &desc, err));
    return primitive_new(s, desc, what, ret, err);
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

static status describe_batch_norm(shim *s, const shim_layout *data, float epsilon, bool training,
                                  dnnl_primitive_desc_t *ret, error *err)
{
    const char *what = "batch normalization";
    unsigned flags = dnnl_use_scale | dnnl_use_shift | (training ? 0 : dnnl_use_global_stats);
    dnnl_batch_normalization_desc_t op;
    TRY(check(dnnl_batch_normalization_forward_desc_init(&op, dnnl_forward_training, &data->desc,
                                                         epsilon, flags),
              what, err));
    return describe(s, &op, s->attr, NULL, what, ret, err);
}

status shim_batch_norm(shim *s, const shim_layout *data, float epsilon, bool training,
                       shim_primitive **ret, error *err)
{
    dnnl_primitive_desc_t desc;
    TRY(describe_batch_norm(s, data, epsilon, training, &desc, err));
    return primitive_new(s, desc, "batch normalization", ret, err);
}

status shim_batch_norm_bwd(shim *s, const shim_layout *data, float epsilon, bool training,
                           shim_primitive **ret, error *err)
{
    const char *what = "batch normalization gradient";
    unsigned flags = dnnl_use_scale | dnnl_use_shift | (training ? 0 : dnnl_use_global_stats);
    dnnl_batch_normalization_desc_t op;
    TRY(check(dnnl_batch_normalization_backward_desc_init(&op, dnnl_backward, &data->desc,
                                                          &data->desc, epsilon, flags),
              what, err));
    dnnl_primitive_desc_t hint, desc = NULL;
    TRY(describe_batch_norm(s, data, epsilon, training, &hint, err));
    status st = describe(s, &op, s->attr, hint, what, &desc, err);
    dnnl_primitive_desc_destroy(hint);
    TRY(st);
    return primitive_new(s, desc, what, ret, err);
}

const shim_layout *shim_layout_of(const shim_primitive *p, shim_role role)
{
    return p->layout[role];
}

size_t shim_bytes_of(const shim_primitive *p, shim_role role)
{
    return p->layout[role] ? shim_layout_bytes(p->layout[role]) : 0;
}

/* Setting an address may rewrite a padded layout's zeros, so it is done only on a change. */
status shim_set(shim_primitive *p, shim_role role, const void *address, error *err)
{
    int i = p->arg_of[role];
    if (i < 0 || p->bound[i] == address)
        return OK;
    TRY(check(dnnl_memory_set_data_handle(p->args[i].memory, (void *)(uintptr_t)address), "address",
              err));
    p->bound[i] = address;
    return OK;
}

status shim_execute(shim_primitive *p, error *err)
{
    return check(dnnl_primitive_execute(p->primitive, p->owner->stream, p->n_args, p->args),
                 "execution", err);
}

/* oneDNN exports it, but no header of 2.6 declares it; elsewhere it may be missing. */
__attribute__((weak)) dnnl_status_t dnnl_gemm_bf16bf16f32(char transa, char transb, dnnl_dim_t m,
                                                          dnnl_dim_t n, dnnl_dim_t k, float alpha,
                                                          const uint16_t *a, dnnl_dim_t lda,
                                                          const uint16_t *b, dnnl_dim_t ldb,
                                                          float beta, float *c, dnnl_dim_t ldc);

bool shim_has_bf16(void)
{
    return dnnl_gemm_bf16bf16f32 && dnnl_get_effective_cpu_isa() >= dnnl_cpu_isa_avx512_core;
}

status shim_gemm(int64_t m, int64_t n, int64_t k, float alpha, shim_matrix a, shim_matrix b,
                 float beta, float *c, int64_t c_stride, error *err)
{
    if (k == 0) { /* a sum of nothing */
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++)
                c[i * c_stride + j] = beta == 0.0f ? 0.0f : beta * c[i * c_stride + j];
        return OK;
    }
    if (m == 0 || n == 0)
        return OK;
    char ta = a.transposed ? 'T' : 'N', tb = b.transposed ? 'T' : 'N';
    dnnl_status_t st = a.bf16 ? dnnl_gemm_bf16bf16f32(ta, tb, m, n, k, alpha, a.data, a.stride,
                                                      b.data, b.stride, beta, c, c_stride)
                              : dnnl_sgemm(ta, tb, m, n, k, alpha, a.data, a.stride, b.data,
                                           b.stride, beta, c, c_stride);
    return check(st, "matrix product", err);
}
