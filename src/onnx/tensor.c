/*
 * Tensors of files: their values lie in raw_data, in a field of their type, or in another file.
 */
#include "common/base/half.h"
#include "onnx/external.h"
#include "onnx/host.h"

#include <math.h>
#include <string.h>

bool host_dtype_of_onnx(int32_t data_type, dtype *ret)
{
    const onnx_element *e = element_of(data_type);
    if (!e || e->kind == ELEMENT_NONE)
        return false;
    *ret = e->ours;
    return true;
}

const char *host_onnx_type_name(int32_t data_type)
{
    const onnx_element *e = element_of(data_type);
    return e ? e->name : "a type without name";
}

status host_describe(const Onnx__TensorProto *t, dtype *ret_dtype, graph_shape *ret_shape,
                     error *err)
{
    const char *name = onnx_text(t->name);
    if (!host_dtype_of_onnx(t->data_type, ret_dtype))
        return FAIL(err, E_UNSUPPORTED,
                    "tensor '%s' is of %s (%d); floats, integers and bool can be read",
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

/* How many bytes `n` elements take: those of less than 8 bits share them, the first one lowest. */
static size_t bytes_of(const onnx_element *e, int64_t n)
{
    return e->bits < 8 ? ((size_t)n * (size_t)e->bits + 7) / 8 : (size_t)n * (size_t)e->bits / 8;
}

/* How many numbers a typed field has for them. */
static size_t numbers_of(const onnx_element *e, int64_t n)
{
    return e->bits < 8 ? bytes_of(e, n) : (size_t)n;
}

/* The bits of element i, little-endian. */
static uint64_t bits_at(const onnx_element *e, const unsigned char *raw, int64_t i)
{
    uint64_t value = 0;
    size_t bytes = (size_t)e->bits / 8;
    if (e->bits < 8) {
        int64_t bit = i * e->bits;
        return (uint64_t)raw[bit / 8] >> bit % 8 & (((uint64_t)1 << e->bits) - 1);
    }
    for (size_t k = bytes; k-- > 0;)
        value = value << 8 | raw[(size_t)i * bytes + k];
    return value;
}

static void set_bits(const onnx_element *e, uint64_t bits, host_tensor *h, int64_t i)
{
    if (e->kind == ELEMENT_INTEGER)
        host_set_int(h, i, element_wrap(e, (int64_t)bits));
    else if (e->bits == 16)
        ((float *)h->data)[i] = half_to_float((uint16_t)bits, e->onnx == ONNX_BFLOAT16);
    else
        host_set(h, i, element_decode(e, bits));
}

static void take_raw(const onnx_element *e, const unsigned char *raw, host_tensor *h)
{
    if (h->n == 0)
        return; /* there may be no bytes at all */
    if ((size_t)e->bits == 8 * dtype_bytes(h->dtype) && e->ours != DT_BOOL) {
        memcpy(h->data, raw, bytes_of(e, h->n));
        return;
    }
    for (int64_t i = 0; i < h->n; i++)
        set_bits(e, bits_at(e, raw, i), h, i);
}

/* From the field of the type: 32 bits or less, float16 too, lie in int32_data. */
static void take_typed(const onnx_element *e, const Onnx__TensorProto *t, host_tensor *h)
{
    for (int64_t i = 0; i < h->n; i++) {
        if (e->onnx == ONNX_FLOAT32)
            ((float *)h->data)[i] = t->float_data[i];
        else if (e->onnx == ONNX_FLOAT64)
            ((double *)h->data)[i] = t->double_data[i];
        else if (e->onnx == ONNX_INT64)
            host_set_int(h, i, t->int64_data[i]);
        else if (e->onnx == ONNX_UINT32 || e->onnx == ONNX_UINT64)
            host_set_int(h, i, (int64_t)t->uint64_data[i]);
        else if (e->bits < 8) {
            int64_t bit = i * e->bits;
            uint64_t byte = (uint32_t)t->int32_data[bit / 8];
            set_bits(e, byte >> bit % 8 & (((uint64_t)1 << e->bits) - 1), h, i);
        } else
            set_bits(e, (uint64_t)(int64_t)t->int32_data[i], h, i);
    }
}

/* The tensor has been checked. */
static status take_values(const onnx_model *m, const Onnx__TensorProto *t, host_tensor *h,
                          error *err)
{
    const onnx_element *e = element_of(t->data_type);
    size_t bytes = bytes_of(e, h->n);
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

/* How many numbers the typed field holds. */
static size_t typed_count(const Onnx__TensorProto *t, const onnx_element *e)
{
    return e->onnx == ONNX_FLOAT32                                 ? t->n_float_data
           : e->onnx == ONNX_FLOAT64                               ? t->n_double_data
           : e->onnx == ONNX_INT64                                 ? t->n_int64_data
           : e->onnx == ONNX_UINT32 || e->onnx == ONNX_UINT64      ? t->n_uint64_data
                                                                   : t->n_int32_data;
}

status host_check(const onnx_model *m, const Onnx__TensorProto *t, int64_t *ret_n, error *err)
{
    dtype type;
    graph_shape shape;
    int64_t n = 0;
    TRY(host_describe(t, &type, &shape, err));
    TRY(elements_of(t, &shape, &n, err));
    const onnx_element *e = element_of(t->data_type);
    size_t bytes = bytes_of(e, n);
    if (t->data_location == 1)
        TRYF(external_check(m, t, bytes, err), err, "tensor '%s'", onnx_text(t->name));
    else if (t->has_raw_data && t->raw_data.len != bytes)
        return FAIL(err, E_DATA, "tensor '%s' holds %zu bytes, its shape and type need %zu",
                    onnx_text(t->name), t->raw_data.len, bytes);
    else if (!t->has_raw_data && typed_count(t, e) != numbers_of(e, n))
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
    h->element = t->data_type;
    for (int64_t i = 0; t->data_type == ONNX_UINT64 && i < h->n; i++)
        if (host_get_int(h, i) < 0)
            return FAIL(err, E_UNSUPPORTED,
                        "tensor '%s' holds a number of 2^63 or more at element %lld",
                        onnx_text(t->name), (long long)i);
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
