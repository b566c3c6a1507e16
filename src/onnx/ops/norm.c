/*
 * Normalization and Dropout. Whether they learn is the run's decision (onnx_mode), not the file's:
 * exporters write what the model happened to be in.
 */
#include "common/base/hash.h"
#include "onnx/ops.h"

#include <string.h>

static bool batch_norm_trains(call *c)
{
    call_ignore(c, "is_test");
    call_ignore(c, "training_mode");
    if (c->im->request->mode != ONNX_AS_IS)
        return c->im->request->mode == ONNX_TRAIN;
    if (c->version < 7)
        return call_int(c, "is_test") == 0;
    return c->version >= 14 ? call_int(c, "training_mode") != 0 : c->n_out > 1;
}

/* running = momentum * old + (1 - momentum) * batch, as outputs 1 and 2, where somebody reads them.
 * Input 3 or 4 is the old one. */
static status running(call *c, int32_t k, graph_val batch, float momentum, error *err)
{
    graph_val old, keep, add, both[2], sum;
    const float share[2] = {momentum, 1.0f - momentum};
    graph_shape scalar = {.rank = 0};
    TRY(slot_value(c->im, c->in[2 + k], &old, err));
    TRY(graph_const(c->im->g, NULL, DT_F32, scalar, &share[0], &keep, err));
    TRY(graph_const(c->im->g, NULL, DT_F32, scalar, &share[1], &add, err));
    TRY(call_emit(c, OP_MUL, (graph_val[]){old, keep}, 2, NULL, &both[0], err));
    TRY(call_emit(c, OP_MUL, (graph_val[]){batch, add}, 2, NULL, &both[1], err));
    TRY(call_emit(c, OP_ADD, both, 2, NULL, &sum, err));
    call_return(c, k, sum);
    if (c->im->request->mode == ONNX_TRAIN)
        c->out[k].moved = c->in[2 + k];
    return OK;
}

status onnx_op_batch_normalization(call *c, error *err)
{
    graph_val in[5], out[3];
    float momentum = (float)call_float(c, "momentum");
    batch_norm_attr attr;
    TRY(call_fields(c, OP_BATCH_NORMALIZATION, &attr, err));
    attr.training = batch_norm_trains(c);
    if (c->version < 9 && call_int(c, "spatial") == 0)
        return call_refuse(err, "statistics for each element (spatial=0) are not supported; flatten "
                                "its input to [batch, elements]");
    for (int32_t i = 0; i < 5; i++) {
        if (!call_has(c, i))
            return FAIL(err, E_DATA, "its input %d is missing", (int)i);
        TRY(i < 3 ? slot_value(c->im, c->in[i], &in[i], err)
                  : slot_state(c->im, c->in[i], momentum, &in[i], err));
    }
    TRY(graph_add(c->im->g, OP_BATCH_NORMALIZATION, c->name, in, 5, &attr, out, err));
    call_return(c, 0, out[0]);
    for (int32_t k = 1; k < 3 && attr.training; k++)
        if (call_wants(c, k))
            TRY(running(c, k, out[k], momentum, err));
    for (int32_t k = 1; k < 3 && !attr.training; k++)
        if (call_wants(c, k))
            call_return(c, k, in[2 + k]);
    return OK;
}

/* (x - mean) / (deviation + 1e-9), over the axes that are named. */
status onnx_op_mean_variance_normalization(call *c, error *err)
{
    const float least = 1e-9f;
    int64_t axes[GRAPH_RANK] = {0, 2, 3};
    int32_t n = call_ints(c, "axes", axes, GRAPH_RANK);
    reduce_attr over = {.n_axes = n < 0 ? 3 : n, .none = n == 0};
    graph_val x, mean, off, square, in[2];
    for (int32_t i = 0; i < over.n_axes; i++)
        over.axes[i] = call_narrow(axes[i]);
    TRY(call_value(c, 0, &x, err));
    TRY(call_emit(c, OP_REDUCE_MEAN, &x, 1, &over, &mean, err));
    TRY(call_emit(c, OP_SUB, (graph_val[]){x, mean}, 2, NULL, &off, err));
    TRY(call_emit(c, OP_MUL, (graph_val[]){off, off}, 2, NULL, &square, err));
    TRY(call_emit(c, OP_REDUCE_MEAN, &square, 1, &over, &in[0], err));
    TRY(call_emit(c, OP_SQRT, in, 1, NULL, &in[0], err));
    TRY(graph_const(c->im->g, NULL, DT_F32, (graph_shape){.rank = 0}, &least, &in[1], err));
    TRY(call_emit(c, OP_ADD, in, 2, NULL, &in[1], err));
    in[0] = off;
    return call_finish(c, OP_DIV, in, 2, NULL, err);
}

static status ratio_of(call *c, double *ret, error *err)
{
    *ret = call_float(c, "ratio");
    call_ignore(c, "seed"); /* the run has its own */
    if (c->version >= 12)
        TRY(call_known_number(c, 1, 0.5, ret, err));
    if (!(*ret >= 0.0 && *ret < 1.0))
        return FAIL(err, E_DATA, "its ratio is %g, must be in [0,1)", *ret);
    return OK;
}

static status dropout_drops(call *c, bool *ret, error *err)
{
    double training = 0.0;
    *ret = c->im->request->mode == ONNX_TRAIN;
    if (c->im->request->mode == ONNX_AS_IS && c->version >= 12) {
        TRY(call_known_number(c, 2, 0.0, &training, err));
        *ret = training != 0.0;
    }
    *ret = *ret && c->im->batch_id != GRAPH_NONE;
    return OK;
}

/* The mask of who drops nothing. */
static status all_kept(call *c, error *err)
{
    graph_shape shape;
    dtype type;
    host_tensor *mask;
    TRY(call_describe(c, 0, &shape, &type, err));
    TRY(host_create(c->im->a, DT_BOOL, &shape, &mask, err));
    memset(mask->data, 1, (size_t)mask->n);
    call_return_host(c, 1, mask);
    return OK;
}

status onnx_op_dropout(call *c, error *err)
{
    bool drops;
    double ratio;
    graph_val in[2], out[2];
    TRY(ratio_of(c, &ratio, err));
    TRY(dropout_drops(c, &drops, err));
    if (!drops || ratio == 0.0) {
        TRY(call_return_input(c, 0, 0, err));
        return call_wants(c, 1) ? all_kept(c, err) : OK;
    }
    dropout_attr attr = {.ratio = (float)ratio,
                         .seed = c->im->request->seed,
                         .stream = fnv1a(c->name, strlen(c->name))};
    TRY(call_value(c, 0, &in[0], err));
    in[1] = c->im->batch_id;
    TRY(graph_add(c->im->g, OP_DROPOUT, c->name, in, 2, &attr, out, err));
    call_return(c, 0, out[0]);
    if (!call_wants(c, 1))
        return OK;
    TRY(call_emit(c, OP_CAST, &out[1], 1, &(cast_attr){.to = DT_BOOL}, &out[1], err));
    call_return(c, 1, out[1]);
    return OK;
}
