#include "backend/cpu/dnnl/state.h"

shim_layout *shim_layout_new(shim *s, const dnnl_memory_desc_t *desc)
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
    shim_layout *l = shim_layout_new(s, NULL);
    TRY(shim_check(dnnl_memory_desc_init_by_strides(&l->desc, rank, dims, dnnl_f32, strides),
                   "layout", err));
    *ret = l;
    return OK;
}

status shim_any(shim *s, int rank, const int64_t *dims, const shim_layout **ret, error *err)
{
    shim_layout *l = shim_layout_new(s, NULL);
    TRY(shim_check(
        dnnl_memory_desc_init_by_tag(&l->desc, rank, dims, dnnl_f32, dnnl_format_tag_any), "layout",
        err));
    *ret = l;
    return OK;
}

static const shim_layout *in_type(shim *s, const shim_layout *l, dnnl_data_type_t type)
{
    if (l->desc.data_type == type)
        return l;
    shim_layout *other = shim_layout_new(s, &l->desc);
    other->desc.data_type = type;
    return other;
}

const shim_layout *shim_layout_in_bf16(shim *s, const shim_layout *l)
{
    return in_type(s, l, dnnl_bf16);
}

const shim_layout *shim_layout_in_f32(shim *s, const shim_layout *l)
{
    return in_type(s, l, dnnl_f32);
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
