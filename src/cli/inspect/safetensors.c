/* safetensors: the range of every tensor, whatever its type. */
#include "cli/inspect/kinds.h"
#include "cli/inspect/stats.h"
#include "cli/inspect/text.h"

#include "common/base/alloc.h"
#include "common/base/json.h"
#include "common/store/safetensors.h"

#include <string.h>

/* --- values of any type, as doubles --- */

/* Powers of two without libm. */
static double scale(double x, int exponent)
{
    for (; exponent > 0; exponent--)
        x *= 2;
    for (; exponent < 0; exponent++)
        x /= 2;
    return x;
}

static double from_half(uint16_t bits)
{
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double magnitude = exponent == 31  ? (fraction ? __builtin_nan("") : __builtin_inf())
                       : exponent == 0 ? scale(fraction, -24)
                                       : scale(1024 + fraction, exponent - 25);
    return bits >> 15 ? -magnitude : magnitude;
}

static double from_bfloat(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float x;
    memcpy(&x, &wide, sizeof x);
    return (double)x;
}

static double safetensors_value_at(const st_tensor *t, size_t i)
{
    union {
        float f32;
        double f64;
        int64_t i64;
        int32_t i32;
        uint16_t u16;
        uint8_t u8;
    } v;
    size_t bytes = dtype_bytes(t->dtype);
    memcpy(&v, (const unsigned char *)t->data + i * bytes, bytes);
    switch (t->dtype) {
    case DT_F32:
        return (double)v.f32;
    case DT_F16:
        return from_half(v.u16);
    case DT_BF16:
        return from_bfloat(v.u16);
    case DT_F64:
        return v.f64;
    case DT_I64:
        return (double)v.i64;
    case DT_I32:
        return v.i32;
    default:
        return v.u8;
    }
}

/* --- report --- */

static json_t *tell_tensor(const st_tensor *t)
{
    json_t *shape = json_array();
    for (int32_t i = 0; i < t->rank; i++)
        json_array_append_new(shape, json_integer(t->dim[i]));
    size_t n = t->bytes / dtype_bytes(t->dtype);
    json_t *o = json_pack("{s:s, s:o, s:s, s:I}", "name", t->name, "shape", shape, "dtype",
                          dtype_name(t->dtype), "elements", (json_int_t)n);
    BUG_ON(!o);
    inspect_stats s = {.n = 0};
    for (size_t i = 0; i < n; i++)
        inspect_stats_add(&s, safetensors_value_at(t, i));
    for (size_t i = 0; i < n; i++)
        inspect_stats_add_again(&s, safetensors_value_at(t, i));
    inspect_stats_tell(&s, o);
    return o;
}

status inspect_look_safetensors(const char *path, json_t **ret, error *err)
{
    st_file *f = NULL;
    TRY(st_open(path, &f, err));
    json_t *metadata = json_object(), *tensors = json_array();
    const char *key;
    for (size_t i = 0; (key = st_metadata_key(f, i)); i++)
        json_object_set_new(metadata, key, json_string(st_metadata(f, key)));
    size_t elements = 0, bytes = 0;
    for (size_t i = 0; i < st_count(f); i++) {
        const st_tensor *t = st_at(f, i);
        elements += t->bytes / dtype_bytes(t->dtype);
        bytes += t->bytes;
        json_array_append_new(tensors, tell_tensor(t));
    }
    *ret = json_pack("{s:s, s:o, s:I, s:I, s:o, s:o}", "kind", "safetensors", "file", json_words(path),
                     "elements", (json_int_t)elements, "bytes", (json_int_t)bytes, "metadata",
                     metadata, "tensors", tensors);
    BUG_ON(!*ret);
    st_close(&f);
    return OK;
}

/* --- text --- */

static void shape_cell(inspect_table *t, const json_t *shape)
{
    buf text = BUF_INIT;
    size_t i;
    json_t *dim;
    buf_adds(&text, "[");
    json_array_foreach((json_t *)(uintptr_t)shape, i, dim)
        buf_addf(&text, "%s%lld", i ? "," : "", (long long)json_integer_value(dim));
    buf_adds(&text, "]");
    inspect_table_cell(t, "%s", text.data);
    buf_fini(&text);
}

static void tensor_row(inspect_table *t, const json_t *tensor)
{
    static const char *const numbers[] = {"min", "max", "mean", "std"};
    inspect_table_cell(t, "%s", inspect_str(tensor, "name"));
    shape_cell(t, json_object_get(tensor, "shape"));
    inspect_table_cell(t, "%s", inspect_str(tensor, "dtype"));
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        inspect_table_number(t, json_object_get(tensor, numbers[i]));
    long long bad = inspect_int(tensor, "not_finite");
    if (bad)
        inspect_table_cell(t, "%lld not finite", bad);
    else
        inspect_table_cell(t, "%s", "");
}

void inspect_print_safetensors(const json_t *report, buf *ret)
{
    static const char *const titles[] = {"tensor", "shape", "dtype", "min",
                                         "max",    "mean",  "std",   ""};
    const json_t *tensors = json_object_get(report, "tensors");
    buf_addf(ret, "%s: safetensors, %zu tensors, %lld elements, ", inspect_str(report, "file"),
             json_array_size(tensors), inspect_int(report, "elements"));
    inspect_add_bytes(ret, (double)inspect_int(report, "bytes"));
    const char *key;
    json_t *value;
    json_object_foreach(json_object_get(report, "metadata"), key, value)
        buf_addf(ret, ", %s=%s", key, json_string_value(value));
    buf_adds(ret, "\n");

    inspect_table t = {.columns = COUNT_OF(titles)};
    for (size_t i = 0; i < COUNT_OF(titles); i++)
        inspect_table_cell(&t, "%s", titles[i]);
    for (size_t i = 0; i < json_array_size(tensors); i++)
        tensor_row(&t, json_array_get(tensors, i));
    inspect_table_flush(&t, ret);
}
