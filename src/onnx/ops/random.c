/*
 * Operators that draw. What they give is decided by the job's seed, the batch's number and a
 * stream, as dropout's masks are, so it is the same on every cluster and on the CPU and a GPU. The
 * stream is that of the node's name; a `seed` in the file names another, which nodes that have the
 * same one share. Evaluation draws too: a network that samples does so whatever it is asked.
 */
#include "common/base/hash.h"
#include "common/base/rng.h"
#include "onnx/ops.h"

#include <inttypes.h>
#include <string.h>

/* Iterations of a loop, and calls of a function, differ in the names around a node. */
static uint64_t stream_of(call *c)
{
    const char *around = c->scope->prefix;
    if (!call_attribute(c, "seed"))
        return fnv1a(c->name, strlen(c->name));
    float seed = (float)call_float_or(c, "seed", 0.0);
    uint32_t bits;
    memcpy(&bits, &seed, sizeof bits);
    return rng_mix(fnv1a(around, strlen(around)), bits);
}

/* The batch's number; 0 where nobody counts batches. */
static status batch_id(call *c, graph_val *ret, error *err)
{
    const int64_t none = 0;
    *ret = c->im->batch_id;
    if (*ret != GRAPH_NONE)
        return OK;
    return graph_const(c->im->g, NULL, DT_I64, (graph_shape){.rank = 1, .dim = {1}}, &none, ret,
                       err);
}

/* Of a kind, a shape, a shift and a scale. */
static status draw(call *c, random_attr attr, graph_val *ret, error *err)
{
    graph_val id;
    attr.seed = c->im->request->seed;
    attr.stream = stream_of(c);
    TRY(batch_id(c, &id, err));
    return call_emit(c, OP_RANDOM, &id, 1, &attr, ret, err);
}

/* What attribute `dtype` says, or the input's type: one of floats, which are float32 in a graph. */
static status float_type(call *c, int32_t *ret, error *err)
{
    int32_t otherwise = call_has(c, 0) ? call_element(c, 0)->onnx : ONNX_FLOAT32;
    const onnx_element *e = element_of(*ret = call_int32_or(c, "dtype", otherwise));
    if (!e || e->kind != ELEMENT_FLOAT || e->bits < 16)
        return call_refuse(err, "it draws %s; draw float32", host_onnx_type_name(*ret));
    return OK;
}

static status attribute_shape(call *c, graph_shape *ret, error *err)
{
    graph_shape s = {.rank = 0};
    s.rank = call_ints(c, "shape", s.dim, GRAPH_RANK);
    if (s.rank < 0)
        return FAIL(err, E_DATA, "it has no shape, or one of more than %d axes", GRAPH_RANK);
    *ret = s;
    return OK;
}

static status input_shape(call *c, graph_shape *ret, error *err)
{
    dtype t;
    return call_describe(c, 0, ret, &t, err);
}

static status uniform(call *c, const graph_shape *shape, error *err)
{
    graph_val y;
    int32_t type;
    float low = (float)call_float(c, "low"), high = (float)call_float(c, "high");
    TRY(float_type(c, &type, err));
    TRY(draw(c,
             (random_attr){
                 .shape = *shape, .kind = RANDOM_UNIFORM, .shift = low, .scale = high - low},
             &y, err));
    call_return(c, 0, y);
    call_type(c, 0, type);
    return OK;
}

static status normal(call *c, const graph_shape *shape, error *err)
{
    graph_val y;
    int32_t type;
    float mean = (float)call_float(c, "mean"), scale = (float)call_float(c, "scale");
    TRY(float_type(c, &type, err));
    TRY(draw(c,
             (random_attr){.shape = *shape, .kind = RANDOM_NORMAL, .shift = mean, .scale = scale},
             &y, err));
    call_return(c, 0, y);
    call_type(c, 0, type);
    return OK;
}

status onnx_op_random_uniform(call *c, error *err)
{
    graph_shape shape;
    TRY(attribute_shape(c, &shape, err));
    return uniform(c, &shape, err);
}

status onnx_op_random_uniform_like(call *c, error *err)
{
    graph_shape shape;
    TRY(input_shape(c, &shape, err));
    return uniform(c, &shape, err);
}

status onnx_op_random_normal(call *c, error *err)
{
    graph_shape shape;
    TRY(attribute_shape(c, &shape, err));
    return normal(c, &shape, err);
}

status onnx_op_random_normal_like(call *c, error *err)
{
    graph_shape shape;
    TRY(input_shape(c, &shape, err));
    return normal(c, &shape, err);
}

/* What attribute `dtype` says of the result, `otherwise` where it is not there. */
static status result_type(call *c, int32_t otherwise, const onnx_element **ret, dtype *ret_held,
                          error *err)
{
    int32_t number = call_int32_or(c, "dtype", otherwise);
    if (!host_dtype_of_onnx(number, ret_held))
        return call_refuse(err, "it makes %s; make float32 or an integer",
                           host_onnx_type_name(number));
    *ret_held = *ret_held == DT_F64 ? DT_F32 : *ret_held;
    *ret = element_of(number);
    return OK;
}

/* 1 where a uniform number is below the input. */
status onnx_op_bernoulli(call *c, error *err)
{
    graph_val in[2];
    const onnx_element *type = NULL;
    dtype to;
    TRY(call_value(c, 0, &in[1], err));
    TRY(result_type(c, call_element(c, 0)->onnx, &type, &to, err));
    random_attr attr = {.shape = call_shape_of(c, in[1]), .scale = 1.0f};
    TRY(draw(c, attr, &in[0], err));
    TRY(call_emit(c, OP_LESS, in, 2, NULL, &in[0], err));
    TRY(call_finish(c, OP_CAST, in, 1, &(cast_attr){.to = to}, err));
    call_type(c, 0, type->onnx);
    return OK;
}

/*
 * By Gumbel's trick (Gumbel, Statistical theory of extreme values, 1954): the class whose logarithm
 * of a probability is largest once -log(-log(u)) is added to each. So the logarithms need no norm,
 * and a sample costs as many numbers as there are classes.
 */
status onnx_op_multinomial(call *c, error *err)
{
    graph_val x, noise, in[2];
    const onnx_element *type = NULL;
    dtype to;
    int64_t n = call_int(c, "sample_size");
    TRY(call_value(c, 0, &x, err));
    TRY(result_type(c, ONNX_INT32, &type, &to, err));
    graph_shape s = call_shape_of(c, x);
    if (s.rank != 2 || n < 1)
        return FAIL(err, E_DATA, "it draws %" PRId64 " times from an input of %" PRId32 " axes", n,
                    s.rank);
    graph_shape apart = {3, {s.dim[0], 1, s.dim[1]}}, all = {3, {s.dim[0], n, s.dim[1]}};
    TRY(draw(c, (random_attr){.shape = all, .scale = 1.0f}, &noise, err));
    for (int i = 0; i < 2; i++) {
        TRY(call_emit(c, OP_LOG, &noise, 1, NULL, &noise, err));
        TRY(call_emit(c, OP_NEG, &noise, 1, NULL, &noise, err));
    }
    TRY(call_emit(c, OP_RESHAPE, &x, 1, &(shape_attr){.shape = apart}, &in[0], err));
    in[1] = noise;
    TRY(call_emit(c, OP_ADD, in, 2, NULL, in, err));
    TRY(call_emit(c, OP_ARG_MAX, in, 1, &(arg_attr){.axis = 2, .drop_dims = true}, in, err));
    TRY(call_finish(c, OP_CAST, in, 1, &(cast_attr){.to = to}, err));
    call_type(c, 0, type->onnx);
    return OK;
}
