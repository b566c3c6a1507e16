#include "backend/cpu/dnnl/state.h"

#include <stdlib.h>

static void read_blocks(shim_layout *l)
{
    const dnnl_dims_t *strides = NULL, *block = NULL, *axis = NULL;
    dnnl_memory_desc_query(l->desc, dnnl_query_strides, &strides);
    dnnl_memory_desc_query(l->desc, dnnl_query_inner_nblks_s32, &l->n_blocks);
    dnnl_memory_desc_query(l->desc, dnnl_query_inner_blks, &block);
    dnnl_memory_desc_query(l->desc, dnnl_query_inner_idxs, &axis);
    l->strides = *strides;
    l->block = *block;
    l->block_axis = *axis;
}

static void read_desc(shim_layout *l)
{
    const dnnl_dims_t *dims = NULL, *padded = NULL;
    dnnl_format_kind_t kind = dnnl_format_kind_undef;
    dnnl_dim_t offset = 0;
    dnnl_memory_desc_query(l->desc, dnnl_query_ndims_s32, &l->rank);
    dnnl_memory_desc_query(l->desc, dnnl_query_data_type, &l->type);
    dnnl_memory_desc_query(l->desc, dnnl_query_format_kind, &kind);
    dnnl_memory_desc_query(l->desc, dnnl_query_dims, &dims);
    dnnl_memory_desc_query(l->desc, dnnl_query_padded_dims, &padded);
    dnnl_memory_desc_query(l->desc, dnnl_query_submemory_offset_s64, &offset);
    l->dims = *dims;
    l->padded = *padded;
    l->is_offset = offset != 0;
    l->is_blocked = kind == dnnl_blocked;
    l->is_any = kind == dnnl_format_kind_any;
    if (l->is_blocked)
        read_blocks(l);
}

shim_layout *shim_layout_new(shim *s, dnnl_memory_desc_t desc)
{
    shim_layout *l = xcalloc(1, sizeof *l);
    l->desc = desc;
    l->next = s->layouts;
    s->layouts = l;
    read_desc(l);
    return l;
}

void shim_layout_free(shim_layout *l)
{
    dnnl_memory_desc_destroy(l->desc);
    free(l);
}

static status with_strides(shim *s, int rank, const int64_t *dims, dnnl_data_type_t type,
                           const int64_t *strides, const shim_layout **ret, error *err)
{
    dnnl_memory_desc_t desc;
    TRY(shim_check(dnnl_memory_desc_create_with_strides(&desc, rank, dims, type, strides), "layout",
                   err));
    *ret = shim_layout_new(s, desc);
    return OK;
}

static status with_tag(shim *s, int rank, const int64_t *dims, dnnl_data_type_t type,
                       dnnl_format_tag_t tag, const shim_layout **ret, error *err)
{
    dnnl_memory_desc_t desc;
    TRY(shim_check(dnnl_memory_desc_create_with_tag(&desc, rank, dims, type, tag), "layout", err));
    *ret = shim_layout_new(s, desc);
    return OK;
}

status shim_plain(shim *s, int rank, const int64_t *dims, const shim_layout **ret, error *err)
{
    dnnl_dims_t strides;
    int64_t stride = 1;
    for (int i = rank - 1; i >= 0; i--) {
        strides[i] = stride;
        stride *= dims[i] > 0 ? dims[i] : 1;
    }
    return with_strides(s, rank, dims, dnnl_f32, strides, ret, err);
}

status shim_any(shim *s, int rank, const int64_t *dims, const shim_layout **ret, error *err)
{
    return with_tag(s, rank, dims, dnnl_f32, dnnl_format_tag_any, ret, err);
}

/* The name oneDNN has for a blocked order, for it makes none from blocks alone. */
static dnnl_format_tag_t tag_of(const shim_layout *l)
{
    for (int tag = dnnl_format_tag_any + 1; tag < dnnl_format_tag_last; tag++) {
        dnnl_memory_desc_t named;
        if (dnnl_memory_desc_create_with_tag(&named, l->rank, l->dims, l->type,
                                             (dnnl_format_tag_t)tag) != dnnl_success)
            continue;
        bool same = dnnl_memory_desc_equal(named, l->desc);
        dnnl_memory_desc_destroy(named);
        if (same)
            return (dnnl_format_tag_t)tag;
    }
    return dnnl_format_tag_undef;
}

static status in_type(shim *s, const shim_layout *l, dnnl_data_type_t type, const shim_layout **ret,
                      error *err)
{
    if (l->type == type) {
        *ret = l;
        return OK;
    }
    if (l->is_any)
        return with_tag(s, l->rank, l->dims, type, dnnl_format_tag_any, ret, err);
    if (l->is_blocked && l->n_blocks == 0)
        return with_strides(s, l->rank, l->dims, type, l->strides, ret, err);
    dnnl_format_tag_t tag = tag_of(l);
    if (tag == dnnl_format_tag_undef)
        return FAIL(err, E_UNSUPPORTED, "oneDNN: its order of elements has no name");
    return with_tag(s, l->rank, l->dims, type, tag, ret, err);
}

status shim_layout_in_bf16(shim *s, const shim_layout *l, const shim_layout **ret, error *err)
{
    return in_type(s, l, dnnl_bf16, ret, err);
}

status shim_layout_in_f32(shim *s, const shim_layout *l, const shim_layout **ret, error *err)
{
    return in_type(s, l, dnnl_f32, ret, err);
}

/*
 * Row-major bytes come in disguises: axes of size 1 may have any stride, and a blocked axis whose
 * neighbours to the right all have size 1 is dense. So strides are compared as elements see them.
 */
bool shim_layout_is_plain(const shim_layout *l)
{
    if (!l->is_blocked || shim_layout_is_padded(l) || l->is_offset || l->n_blocks > 1)
        return false;
    int64_t expected = 1;
    for (int i = l->rank - 1; i >= 0; i--) {
        bool blocked = l->n_blocks == 1 && l->block_axis[0] == i;
        int64_t block = blocked ? l->block[0] : 1;
        if (blocked && expected != 1)
            return false;
        if (l->dims[i] / block > 1 && l->strides[i] != expected * block)
            return false;
        expected *= l->dims[i];
    }
    return true;
}

bool shim_layout_is_padded(const shim_layout *l)
{
    for (int i = 0; i < l->rank; i++)
        if (l->padded[i] != l->dims[i])
            return true;
    return false;
}

bool shim_layout_same(const shim_layout *a, const shim_layout *b)
{
    if (a == b || dnnl_memory_desc_equal(a->desc, b->desc))
        return true;
    return a->type == b->type && shim_layout_is_plain(a) &&
           shim_layout_is_plain(b);
}

/* Axis i has the stride that dense elements give it, or none because it has one element. */
static bool is_dense(const shim_layout *l, int i, int64_t stride, int64_t size)
{
    return size == 1 || l->strides[i] == stride;
}

bool shim_layout_channels(const shim_layout *l, shim_channels *ret)
{
    if (!l->is_blocked || l->rank < 2 || l->is_offset)
        return false;
    if (l->n_blocks > 1 || (l->n_blocks == 1 && l->block_axis[0] != 1))
        return false;
    int64_t block = l->n_blocks ? l->block[0] : 1, stride = block;
    for (int i = l->rank - 1; i >= 2; i--) {
        if (l->padded[i] != l->dims[i] || !is_dense(l, i, stride, l->dims[i]))
            return false;
        stride *= l->dims[i];
    }
    int64_t spatial = stride / block, blocks = l->padded[1] / block;
    bool tight = l->padded[1] == (l->dims[1] + block - 1) / block * block &&
                 l->padded[0] == l->dims[0];
    if (!tight || !is_dense(l, 1, stride, blocks) || !is_dense(l, 0, stride * blocks, l->dims[0]))
        return false;
    *ret = (shim_channels){
        .batch = l->dims[0], .channels = l->dims[1], .spatial = spatial, .block = block};
    return true;
}

size_t shim_layout_bytes(const shim_layout *l)
{
    return dnnl_memory_desc_get_size(l->desc);
}
