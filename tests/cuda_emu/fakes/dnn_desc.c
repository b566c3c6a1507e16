/*
 * Rules are those of cuDNN's documentation (docs.nvidia.com/deeplearning/cudnn, "Backend API"): an
 * attribute has one type and so many values, what is required is set before a descriptor is
 * finalized, nothing afterwards.
 */
#include "cuda_emu/fakes/dnn_desc.h"

#include "common/base/alloc.h"
#include "cuda_emu/machine.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPERATIONS = 32, OPERANDS = 32, AXES = 8 };

static atomic_int n_descs; /* that live */
static _Thread_local char last_error[128];

int desc_count(void)
{
    return n_descs;
}

unsigned desc_refuse(unsigned result, const char *why)
{
    snprintf(last_error, sizeof last_error, "%s", why);
    return result;
}

void desc_last_error(char *ret, size_t bytes)
{
    snprintf(ret, bytes, "%s", last_error);
    *last_error = 0;
}

/* --- what may be set --- */

enum { ANY = -1, NEEDED = 1 };

static const struct rule {
    unsigned kind, attribute, type;
    int64_t most;
    int needed;
    int of; /* descriptors: of this kind */
} rules[] = {
    {DNN_TENSOR, DNN_TENSOR_TYPE, DNN_IS_TYPE, 1, NEEDED, ANY},
    {DNN_TENSOR, DNN_TENSOR_SHAPE, DNN_IS_INT64, AXES, NEEDED, ANY},
    {DNN_TENSOR, DNN_TENSOR_STRIDES, DNN_IS_INT64, AXES, NEEDED, ANY},
    {DNN_TENSOR, DNN_TENSOR_ID, DNN_IS_INT64, 1, NEEDED, ANY},
    {DNN_TENSOR, DNN_TENSOR_ALIGNMENT, DNN_IS_INT64, 1, NEEDED, ANY},
    {DNN_TENSOR, DNN_TENSOR_IS_VIRTUAL, DNN_IS_BOOL, 1, 0, ANY},
    {DNN_TENSOR, DNN_TENSOR_IS_BY_VALUE, DNN_IS_BOOL, 1, 0, ANY},
    {DNN_CONV, DNN_CONV_TYPE, DNN_IS_TYPE, 1, NEEDED, ANY},
    {DNN_CONV, DNN_CONV_MODE, DNN_IS_CONV_MODE, 1, NEEDED, ANY},
    {DNN_CONV, DNN_CONV_AXES, DNN_IS_INT64, 1, NEEDED, ANY},
    {DNN_CONV, DNN_CONV_PADS_BEGIN, DNN_IS_INT64, AXES, NEEDED, ANY},
    {DNN_CONV, DNN_CONV_PADS_END, DNN_IS_INT64, AXES, NEEDED, ANY},
    {DNN_CONV, DNN_CONV_STRIDES, DNN_IS_INT64, AXES, NEEDED, ANY},
    {DNN_CONV, DNN_CONV_DILATIONS, DNN_IS_INT64, AXES, NEEDED, ANY},
    {DNN_POINTWISE, DNN_POINTWISE_MODE, DNN_IS_POINTWISE_MODE, 1, NEEDED, ANY},
    {DNN_POINTWISE, DNN_POINTWISE_PRECISION, DNN_IS_TYPE, 1, NEEDED, ANY},
    {DNN_POINTWISE, DNN_POINTWISE_AXIS, DNN_IS_INT64, 1, 0, ANY},
    {DNN_MATMUL, DNN_MATMUL_TYPE, DNN_IS_TYPE, 1, NEEDED, ANY},
    {DNN_REDUCTION, DNN_REDUCTION_OPERATOR, DNN_IS_REDUCTION, 1, NEEDED, ANY},
    {DNN_REDUCTION, DNN_REDUCTION_TYPE, DNN_IS_TYPE, 1, NEEDED, ANY},
    {DNN_REDUCTION, DNN_REDUCTION_IS_DETERMINISTIC, DNN_IS_BOOL, 1, 0, ANY},
    {DNN_OP_CONV, DNN_OP_CONV_CONV, DNN_IS_DESCRIPTOR, 1, NEEDED, DNN_CONV},
    {DNN_OP_CONV, DNN_OP_CONV_X, DNN_IS_DESCRIPTOR, 1, NEEDED, DNN_TENSOR},
    {DNN_OP_CONV, DNN_OP_CONV_W, DNN_IS_DESCRIPTOR, 1, NEEDED, DNN_TENSOR},
    {DNN_OP_CONV, DNN_OP_CONV_Y, DNN_IS_DESCRIPTOR, 1, NEEDED, DNN_TENSOR},
    {DNN_OP_CONV, DNN_OP_CONV_ALPHA, DNN_IS_FLOAT, 1, NEEDED, ANY},
    {DNN_OP_CONV, DNN_OP_CONV_BETA, DNN_IS_FLOAT, 1, NEEDED, ANY},
    {DNN_OP_CONV_BWD_DATA, DNN_OP_CONV_BWD_DATA_CONV, DNN_IS_DESCRIPTOR, 1, NEEDED, DNN_CONV},
    {DNN_OP_CONV_BWD_DATA, DNN_OP_CONV_BWD_DATA_DX, DNN_IS_DESCRIPTOR, 1, NEEDED, DNN_TENSOR},
    {DNN_OP_CONV_BWD_DATA, DNN_OP_CONV_BWD_DATA_W, DNN_IS_DESCRIPTOR, 1, NEEDED, DNN_TENSOR},
    {DNN_OP_CONV_BWD_DATA, DNN_OP_CONV_BWD_DATA_DY, DNN_IS_DESCRIPTOR, 1, NEEDED, DNN_TENSOR},
    {DNN_OP_CONV_BWD_DATA, DNN_OP_CONV_BWD_DATA_ALPHA, DNN_IS_FLOAT, 1, NEEDED, ANY},
    {DNN_OP_CONV_BWD_DATA, DNN_OP_CONV_BWD_DATA_BETA, DNN_IS_FLOAT, 1, NEEDED, ANY},
    {DNN_OP_CONV_BWD_WEIGHTS, DNN_OP_CONV_BWD_WEIGHTS_CONV, DNN_IS_DESCRIPTOR, 1, NEEDED, DNN_CONV},
    {DNN_OP_CONV_BWD_WEIGHTS, DNN_OP_CONV_BWD_WEIGHTS_X, DNN_IS_DESCRIPTOR, 1, NEEDED, DNN_TENSOR},
    {DNN_OP_CONV_BWD_WEIGHTS, DNN_OP_CONV_BWD_WEIGHTS_DW, DNN_IS_DESCRIPTOR, 1, NEEDED, DNN_TENSOR},
    {DNN_OP_CONV_BWD_WEIGHTS, DNN_OP_CONV_BWD_WEIGHTS_DY, DNN_IS_DESCRIPTOR, 1, NEEDED, DNN_TENSOR},
    {DNN_OP_CONV_BWD_WEIGHTS, DNN_OP_CONV_BWD_WEIGHTS_ALPHA, DNN_IS_FLOAT, 1, NEEDED, ANY},
    {DNN_OP_CONV_BWD_WEIGHTS, DNN_OP_CONV_BWD_WEIGHTS_BETA, DNN_IS_FLOAT, 1, NEEDED, ANY},
    {DNN_OP_POINTWISE, DNN_OP_POINTWISE_HOW, DNN_IS_DESCRIPTOR, 1, NEEDED, DNN_POINTWISE},
    {DNN_OP_POINTWISE, DNN_OP_POINTWISE_X, DNN_IS_DESCRIPTOR, 1, NEEDED, DNN_TENSOR},
    {DNN_OP_POINTWISE, DNN_OP_POINTWISE_Y, DNN_IS_DESCRIPTOR, 1, NEEDED, DNN_TENSOR},
    {DNN_OP_POINTWISE, DNN_OP_POINTWISE_B, DNN_IS_DESCRIPTOR, 1, 0, DNN_TENSOR},
    {DNN_OP_POINTWISE, DNN_OP_POINTWISE_T, DNN_IS_DESCRIPTOR, 1, 0, DNN_TENSOR},
    {DNN_OP_MATMUL, DNN_OP_MATMUL_HOW, DNN_IS_DESCRIPTOR, 1, NEEDED, DNN_MATMUL},
    {DNN_OP_MATMUL, DNN_OP_MATMUL_A, DNN_IS_DESCRIPTOR, 1, NEEDED, DNN_TENSOR},
    {DNN_OP_MATMUL, DNN_OP_MATMUL_B, DNN_IS_DESCRIPTOR, 1, NEEDED, DNN_TENSOR},
    {DNN_OP_MATMUL, DNN_OP_MATMUL_C, DNN_IS_DESCRIPTOR, 1, NEEDED, DNN_TENSOR},
    {DNN_OP_REDUCTION, DNN_OP_REDUCTION_HOW, DNN_IS_DESCRIPTOR, 1, NEEDED, DNN_REDUCTION},
    {DNN_OP_REDUCTION, DNN_OP_REDUCTION_X, DNN_IS_DESCRIPTOR, 1, NEEDED, DNN_TENSOR},
    {DNN_OP_REDUCTION, DNN_OP_REDUCTION_Y, DNN_IS_DESCRIPTOR, 1, NEEDED, DNN_TENSOR},
    {DNN_OP_RESHAPE, DNN_OP_RESHAPE_X, DNN_IS_DESCRIPTOR, 1, NEEDED, DNN_TENSOR},
    {DNN_OP_RESHAPE, DNN_OP_RESHAPE_Y, DNN_IS_DESCRIPTOR, 1, NEEDED, DNN_TENSOR},
    {DNN_RNG, DNN_RNG_DISTRIBUTION, DNN_IS_RNG_DISTRIBUTION, 1, NEEDED, ANY},
    {DNN_RNG, DNN_RNG_PROBABILITY, DNN_IS_DOUBLE, 1, NEEDED, ANY},
    {DNN_OP_RNG, DNN_OP_RNG_HOW, DNN_IS_DESCRIPTOR, 1, NEEDED, DNN_RNG},
    {DNN_OP_RNG, DNN_OP_RNG_SEED, DNN_IS_DESCRIPTOR, 1, NEEDED, DNN_TENSOR},
    {DNN_OP_RNG, DNN_OP_RNG_OFFSET, DNN_IS_DESCRIPTOR, 1, NEEDED, DNN_TENSOR},
    {DNN_OP_RNG, DNN_OP_RNG_Y, DNN_IS_DESCRIPTOR, 1, NEEDED, DNN_TENSOR},
    {DNN_OP_SDPA, DNN_OP_SDPA_Q, DNN_IS_DESCRIPTOR, 1, NEEDED, DNN_TENSOR},
    {DNN_OP_SDPA, DNN_OP_SDPA_K, DNN_IS_DESCRIPTOR, 1, NEEDED, DNN_TENSOR},
    {DNN_OP_SDPA, DNN_OP_SDPA_V, DNN_IS_DESCRIPTOR, 1, NEEDED, DNN_TENSOR},
    {DNN_OP_SDPA, DNN_OP_SDPA_Y, DNN_IS_DESCRIPTOR, 1, NEEDED, DNN_TENSOR},
    {DNN_OP_SDPA, DNN_OP_SDPA_STATISTICS, DNN_IS_DESCRIPTOR, 1, 0, DNN_TENSOR},
    {DNN_OP_SDPA, DNN_OP_SDPA_SCALE, DNN_IS_DESCRIPTOR, 1, 0, DNN_TENSOR},
    {DNN_GRAPH, DNN_GRAPH_OPERATIONS, DNN_IS_DESCRIPTOR, OPERATIONS, NEEDED, ANY},
    {DNN_DEVICE, DNN_DEVICE_HANDLE, DNN_IS_HANDLE, 1, NEEDED, ANY},
    {DNN_HEURISTICS, DNN_HEURISTICS_GRAPH, DNN_IS_DESCRIPTOR, 1, NEEDED, DNN_GRAPH},
    {DNN_HEURISTICS, DNN_HEURISTICS_MODE, DNN_IS_HEURISTICS_MODE, 1, NEEDED, ANY},
    {DNN_HEURISTICS, DNN_HEURISTICS_DEVICE, DNN_IS_DESCRIPTOR, 1, 0, DNN_DEVICE},
    {DNN_PLAN, DNN_PLAN_CONFIG, DNN_IS_DESCRIPTOR, 1, NEEDED, DNN_CONFIG},
    {DNN_PLAN, DNN_PLAN_DEVICE, DNN_IS_DESCRIPTOR, 1, NEEDED, DNN_DEVICE},
    {DNN_PACK, DNN_PACK_IDS, DNN_IS_INT64, OPERANDS, NEEDED, ANY},
    {DNN_PACK, DNN_PACK_POINTERS, DNN_IS_POINTER, OPERANDS, NEEDED, ANY},
    {DNN_PACK, DNN_PACK_WORKSPACE, DNN_IS_POINTER, 1, NEEDED, ANY},
};

static const struct rule *rule_of(unsigned kind, unsigned attribute)
{
    for (size_t i = 0; i < COUNT_OF(rules); i++)
        if (rules[i].kind == kind && rules[i].attribute == attribute)
            return &rules[i];
    return NULL;
}

static size_t bytes_of(unsigned type)
{
    return type == DNN_IS_BOOL                                  ? 1
           : type == DNN_IS_INT64 || type == DNN_IS_DOUBLE      ? 8
           : type == DNN_IS_POINTER                             ? sizeof(void *)
           : type == DNN_IS_DESCRIPTOR || type == DNN_IS_HANDLE ? sizeof(dnn_desc)
                                                                : sizeof(unsigned);
}

/* --- what was set --- */

static const set *find(const desc *d, unsigned attribute)
{
    for (int i = 0; i < d->n_set; i++)
        if (d->sets[i].attribute == attribute)
            return &d->sets[i];
    return NULL;
}

unsigned told_kind(dnn_desc d)
{
    return ((const desc *)d)->kind;
}

const void *told_values(dnn_desc d, unsigned attribute, int64_t *ret_n)
{
    const set *s = find(d, attribute);
    *ret_n = s ? s->n : 0;
    return s ? s->values : NULL;
}

static void take(dnn_desc d, unsigned attribute, void *ret, size_t bytes)
{
    const set *s = find(d, attribute);
    memset(ret, 0, bytes);
    if (s)
        memcpy(ret, s->values, bytes);
}

unsigned told_word(dnn_desc d, unsigned attribute)
{
    unsigned x;
    take(d, attribute, &x, sizeof x);
    return x;
}

bool told_flag(dnn_desc d, unsigned attribute)
{
    unsigned char x;
    take(d, attribute, &x, sizeof x);
    return x;
}

int64_t told_number(dnn_desc d, unsigned attribute)
{
    int64_t x;
    take(d, attribute, &x, sizeof x);
    return x;
}

double told_double(dnn_desc d, unsigned attribute)
{
    double x;
    take(d, attribute, &x, sizeof x);
    return x;
}

float told_float(dnn_desc d, unsigned attribute)
{
    float x;
    take(d, attribute, &x, sizeof x);
    return x;
}

dnn_desc told_part(dnn_desc d, unsigned attribute)
{
    dnn_desc x;
    take(d, attribute, &x, sizeof x);
    return x;
}

static size_t element_bytes(unsigned type)
{
    return type == DNN_INT64 ? 8 : type == DNN_F32 || type == DNN_INT32 ? 4 : type == DNN_BOOL ? 1 : 2;
}

size_t tensor_extent(dnn_desc tensor)
{
    int64_t rank = 0, n = 0, last = 0;
    const int64_t *size = told_values(tensor, DNN_TENSOR_SHAPE, &rank);
    const int64_t *stride = told_values(tensor, DNN_TENSOR_STRIDES, &n);
    for (int64_t i = 0; i < rank; i++)
        last += (size[i] - 1) * stride[i];
    return (size_t)(last + 1) * element_bytes(told_word(tensor, DNN_TENSOR_TYPE));
}

/* --- descriptors --- */

static desc *made(unsigned kind)
{
    desc *d = calloc(1, sizeof *d);
    if (!d)
        abort();
    d->kind = kind;
    n_descs++;
    return d;
}

unsigned desc_create(unsigned kind, dnn_desc *ret)
{
    bool is_known = kind == DNN_ENGINE || kind == DNN_CONFIG;
    for (size_t i = 0; i < COUNT_OF(rules); i++)
        is_known |= rules[i].kind == kind;
    if (!is_known) {
        emu_fault("cuDNN: nobody plays a descriptor of kind %u", kind);
        return DNN_BAD_PARAM;
    }
    *ret = made(kind);
    return API_SUCCESS;
}

unsigned desc_destroy(dnn_desc x)
{
    desc *d = x;
    if (!d) {
        emu_fault("cuDNN: NULL is destroyed");
        return DNN_BAD_PARAM;
    }
    for (int i = 0; i < d->n_set; i++)
        free(d->sets[i].values);
    free(d);
    n_descs--;
    return API_SUCCESS;
}

static const char *wrong_parts(const struct rule *r, int64_t n, const dnn_desc *parts)
{
    for (int64_t i = 0; r->type == DNN_IS_DESCRIPTOR && i < n; i++) {
        const desc *d = parts[i];
        if (!d || !d->is_final)
            return "is a descriptor that is not finalized";
        if (r->of != ANY && d->kind != (unsigned)r->of)
            return "is a descriptor of another kind";
    }
    return NULL;
}

unsigned desc_set(dnn_desc x, unsigned attribute, unsigned type, int64_t n, const void *values)
{
    desc *d = x;
    const struct rule *r = rule_of(d->kind, attribute);
    const char *wrong = !r                     ? "is not one of it"
                        : r->type != type      ? "has another type"
                        : n < 1 || n > r->most ? "has another number of values"
                        : !values              ? "has no values"
                        : d->is_final          ? "comes too late, it is finalized"
                        : find(d, attribute)   ? "is set twice"
                                               : wrong_parts(r, n, values);
    if (wrong) {
        emu_fault("cuDNN: attribute %u of a descriptor of kind %u %s", attribute, d->kind, wrong);
        return desc_refuse(DNN_BAD_PARAM, wrong);
    }
    set *s = &d->sets[d->n_set++];
    *s = (set){attribute, n, malloc((size_t)n * bytes_of(type))};
    if (!s->values)
        abort();
    memcpy(s->values, values, (size_t)n * bytes_of(type));
    return API_SUCCESS;
}

bool desc_lacks(const desc *d)
{
    for (size_t i = 0; i < COUNT_OF(rules); i++)
        if (rules[i].kind == d->kind && rules[i].needed && !find(d, rules[i].attribute))
            return true;
    return false;
}
