/*
 * Tensors of files: their values lie in raw_data, in a field of their type, or in another file.
 */
#include "common/base/half.h"
#include "onnx/external.h"
#include "onnx/host.h"

#include <math.h>
#include <string.h>

/* How an element lies in raw_data; in typed fields 32 bits or less lie in int32_data. */
typedef struct element {
    int32_t onnx;
    const char *name;
    size_t bytes;
    dtype ours;
    bool known;
    bool is_signed;
} element;

static const element elements[] = {
    {1, "float32", 4, DT_F32, true, true},       {2, "uint8", 1, DT_U8, true, false},
    {3, "int8", 1, DT_I32, true, true},          {4, "uint16", 2, DT_I32, true, false},
    {5, "int16", 2, DT_I32, true, true},         {6, "int32", 4, DT_I32, true, true},
    {7, "int64", 8, DT_I64, true, true},         {8, "string", 0, DT_U8, false, false},
    {9, "bool", 1, DT_BOOL, true, false},        {10, "float16", 2, DT_F32, true, true},
    {11, "float64", 8, DT_F64, true, true},      {12, "uint32", 4, DT_I64, true, false},
    {13, "uint64", 8, DT_I64, false, false},     {14, "complex64", 8, DT_F32, false, true},
    {15, "complex128", 16, DT_F32, false, true}, {16, "bfloat16", 2, DT_F32, true, true},
};

enum { ONNX_FLOAT = 1, ONNX_FLOAT16 = 10, ONNX_DOUBLE = 11, ONNX_BFLOAT16 = 16 };

static const element *element_of(int32_t data_type)
{
    for (size_t i = 0; i < COUNT_OF(elements); i++)
        if (elements[i].onnx == data_type)
            return &elements[i];
    return NULL;
}

bool host_dtype_of_onnx(int32_t data_type, dtype *ret)
{
    const element *e = element_of(data_type);
    if (!e || !e->known)
        return false;
    *ret = e->ours;
    return true;
}

const char *host_onnx_type_name(int32_t data_type)
{
    const element *e = element_of(data_type);
    return e ? e->name : "a type without name";
}

status host_describe(const Onnx__TensorProto *t, dtype *ret_dtype, graph_shape *ret_shape,
                     error *err)
{
    const char *name = onnx_text(t->name);
    if (!host_dtype_of_onnx(t->data_type, ret_dtype))
        return FAIL(err, E_UNSUPPORTED,
                    "tensor '%s' is of %s (%d); float32, float16, bfloat16, "
                    "float64, bool and integers up to int64 can be read",
                    name, host_onnx_type_name(t->data_type), t->data_type);
    if (t->n_dims > GRAPH_RANK)
        return FAIL(err, E_UNSUPPORTED, "tensor '%s' has %zu axes, more than %d", name, t->n_dims,
                    GRAPH_RANK);
    graph_shape shape = {.rank = (int32_t)t->n_dims};
    for (size_t i = 0; i < t->n_dims; i++)
        shape.dim[i] = t->dims[i];
    *ret_shape = shape;
    return OK;
}

/* An integer of `bytes` bytes, little-endian. */
static int64_t integer(const unsigned char *at, size_t bytes, bool is_signed)
{
    uint64_t value = 0;
    for (size_t i = bytes; i-- > 0;)
        value = value << 8 | at[i];
    unsigned free_bits = 64 - 8 * (unsigned)bytes;
    return is_signed ? (int64_t)(value << free_bits) >> free_bits : (int64_t)value;
}

static void take_raw(const element *e, const unsigned char *raw, host_tensor *h)
{
    if (h->n == 0)
        return; /* there may be no bytes at all */
    if (e->bytes == dtype_bytes(h->dtype) && e->ours != DT_BOOL) {
        memcpy(h->data, raw, (size_t)h->n * e->bytes);
        return;
    }
    for (int64_t i = 0; i < h->n; i++) {
        const unsigned char *at = raw + (size_t)i * e->bytes;
        if (e->ours == DT_F32)
            ((float *)h->data)[i] = half_to_float((uint16_t)(at[0] | at[1] << 8), e->onnx == ONNX_BFLOAT16);
        else
            host_set_int(h, i, integer(at, e->bytes, e->is_signed));
    }
}

/* From the field of the type: 32 bits or less, float16 too, lie in int32_data. */
static void take_typed(const element *e, const Onnx__TensorProto *t, host_tensor *h)
{
    for (int64_t i = 0; i < h->n; i++) {
        if (e->onnx == ONNX_FLOAT)
            ((float *)h->data)[i] = t->float_data[i];
        else if (e->onnx == ONNX_DOUBLE)
            ((double *)h->data)[i] = t->double_data[i];
        else if (e->ours == DT_I64)
            host_set_int(h, i, e->bytes == 4 ? (int64_t)t->uint64_data[i] : t->int64_data[i]);
        else if (e->ours == DT_F32)
            ((float *)h->data)[i] = half_to_float((uint16_t)t->int32_data[i], e->onnx == ONNX_BFLOAT16);
        else
            host_set_int(h, i, t->int32_data[i]);
    }
}

/* The tensor has been checked. */
static status take_values(const onnx_model *m, const Onnx__TensorProto *t, host_tensor *h,
                          error *err)
{
    const element *e = element_of(t->data_type);
    size_t bytes = (size_t)h->n * e->bytes;
    if (t->data_location == 1) {
        fs_map map;
        const unsigned char *raw;
        TRYF(external_open(m, t, bytes, &map, &raw, err), err, "tensor '%s'", onnx_text(t->name));
        take_raw(e, raw, h);
        fs_map_close(&map);
        return OK;
    }
    if (t->has_raw_data)
        take_raw(e, t->raw_data.data, h);
    else
        take_typed(e, t, h);
    return OK;
}

static status elements_of(const Onnx__TensorProto *t, const graph_shape *shape, int64_t *ret,
                          error *err)
{
    int64_t n = 1;
    char text[SHAPE_TEXT];
    bool fits = true, empty = false;
    for (int32_t i = 0; i < shape->rank; i++) {
        empty |= shape->dim[i] == 0;
        fits = fits && shape->dim[i] >= 0 &&
               !__builtin_mul_overflow(n, shape->dim[i] ? shape->dim[i] : 1, &n) && n < FLAT_MAX;
    }
    if (!fits)
        return FAIL(err, E_DATA, "tensor '%s': %s is no shape, or one of more than 2^40 elements",
                    onnx_text(t->name), graph_shape_text(shape, text, sizeof text));
    *ret = empty ? 0 : n;
    return OK;
}

/* How many elements the typed field holds. */
static size_t typed_count(const Onnx__TensorProto *t, const element *e)
{
    return e->onnx == ONNX_FLOAT    ? t->n_float_data
           : e->onnx == ONNX_DOUBLE ? t->n_double_data
           : e->ours == DT_I64      ? (e->bytes == 4 ? t->n_uint64_data : t->n_int64_data)
                                    : t->n_int32_data;
}

status host_check(const onnx_model *m, const Onnx__TensorProto *t, int64_t *ret_n, error *err)
{
    dtype type;
    graph_shape shape;
    int64_t n = 0;
    TRY(host_describe(t, &type, &shape, err));
    TRY(elements_of(t, &shape, &n, err));
    const element *e = element_of(t->data_type);
    size_t bytes = (size_t)n * e->bytes;
    if (t->data_location == 1)
        TRYF(external_check(m, t, bytes, err), err, "tensor '%s'", onnx_text(t->name));
    else if (t->has_raw_data && t->raw_data.len != bytes)
        return FAIL(err, E_DATA, "tensor '%s' holds %zu bytes, its shape and type need %zu",
                    onnx_text(t->name), t->raw_data.len, bytes);
    else if (!t->has_raw_data && typed_count(t, e) != (size_t)n)
        return FAIL(err, E_DATA, "tensor '%s' holds %zu elements, its shape has %lld",
                    onnx_text(t->name), typed_count(t, e), (long long)n);
    if (ret_n)
        *ret_n = n;
    return OK;
}

status host_read(const onnx_model *m, const Onnx__TensorProto *t, arena *a, host_tensor **ret,
                 error *err)
{
    dtype type;
    graph_shape shape;
    host_tensor *h = NULL;
    TRY(host_check(m, t, NULL, err));
    TRY(host_describe(t, &type, &shape, err));
    TRY(host_create(a, type, &shape, &h, err));
    TRY(take_values(m, t, h, err));
    *ret = h;
    return OK;
}

status host_read_weights(const onnx_model *m, const Onnx__TensorProto *t, float *out, int64_t n,
                         error *err)
{
    host_tensor h = {.dtype = DT_F32, .n = n, .data = out};
    int64_t own;
    TRY(host_check(m, t, &own, err));
    TRY(host_describe(t, &h.dtype, &h.shape, err));
    BUG_ON(own != n || h.dtype != DT_F32);
    TRY(take_values(m, t, &h, err));
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(out[i]))
            return FAIL(err, E_DATA, "tensor '%s' is %s at element %lld; weights must be finite",
                        onnx_text(t->name), isnan(out[i]) ? "NaN" : "infinite", (long long)i);
    return OK;
}
