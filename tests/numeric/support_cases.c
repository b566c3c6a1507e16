#include "numeric/support_cases.h"

#include "common/base/rng.h"
#include "numeric/support_lane.h"
#include "support/window_attrs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const case_frame_names[FRAME_COUNT] = {"bare", "temp", "conv"};

static const case_table *const table_of[OP_COUNT] = {
#define OP(ID, name, fewest, most, outputs, traits, family, ...) [OP_##ID] = &cases_##family,
#define GRADIENT(...)
#include "graph/ops.def"
};

/* Whether an operator in front is of the same family. */
static bool is_met(graph_op op)
{
    for (graph_op o = 0; o < op; o++)
        if (table_of[o] == table_of[op])
            return true;
    return false;
}

const op_case *case_at(size_t i)
{
    for (graph_op op = 0; op < OP_COUNT; op++) {
        if (!table_of[op] || is_met(op))
            continue;
        if (i < table_of[op]->n)
            return &table_of[op]->rows[i];
        i -= table_of[op]->n;
    }
    return NULL;
}

enum { FRAME_CHANNELS = 5, FRAME_MAPS = 19 };
enum { FRAME_MOST = 20000 }; /* elements into a convolution: the reference is slow */

static bool is_image(int32_t rank)
{
    return rank > 2 && rank <= 2 + SPATIAL;
}

bool case_fits(const op_case *c, case_frame frame)
{
    case_fill fill = c->in[0].fill; /* only bare operands keep to where a function is defined */
    bool limited = fill == FILL_POSITIVE || fill == FILL_UNIT || fill == FILL_ABOVE_1;
    if (frame != FRAME_BARE && (c->in[0].type != DT_F32 || limited))
        return false;
    switch (frame) {
    case FRAME_TEMP: /* the reference does not round the temporary to float32 before it is a half */
        return graph_op_of(c->op)->traits & (OP_INPLACE | OP_ALIAS) && c->op != OP_TO_HALF;
    case FRAME_CONV:
        return is_image(c->in[0].shape.rank) && c->in[0].fill < FILL_LABEL &&
               graph_shape_elements(&c->in[0].shape) < FRAME_MOST;
    default:
        return true;
    }
}

static bool has_gradient(const op_case *c, int32_t operand)
{
    switch (c->op) {
    case OP_BATCH_NORMALIZATION:
        return operand < 3;
    case OP_SOFTMAX_CROSS_ENTROPY_LOSS:
        return operand == 0;
    case OP_ATTENTION:
        return operand < 4 && c->in[operand].type == DT_F32;
    case OP_ROTARY_EMBEDDING:
    case OP_ROI_ALIGN:
        return operand == 0;
    case OP_TO_HALF: /* counts as the identity there */
        return false;
    default:
        return c->in[operand].type == DT_F32;
    }
}

static graph_val add_source(graph *g, const char *name, graph_shape shape, dtype t, bool param)
{
    error err = ERROR_INIT;
    graph_val v = GRAPH_NONE;
    tensor_decl decl = {.name = name, .rank = shape.rank};
    memcpy(decl.dim, shape.dim, sizeof shape.dim);
    must(param ? graph_param(g, &decl, &v, &err) : graph_input(g, name, t, shape, &v, &err), &err);
    return v;
}

static graph_val add_node(graph *g, graph_op op, const char *name, const graph_val *in, int32_t n,
                          const void *attr)
{
    error err = ERROR_INIT;
    graph_val out;
    must(graph_add_1(g, op, name, in, n, attr, &out, &err), &err);
    return out;
}

static graph_val add_const(graph *g, const char *name, graph_shape shape, uint64_t stream)
{
    error err = ERROR_INIT;
    graph_val v = GRAPH_NONE;
    int64_t n = graph_shape_elements(&shape);
    float *data = xcalloc((size_t)n + 1, sizeof *data);
    rng r = rng_make(2, RNG_TEST, stream);
    for (int64_t i = 0; i < n; i++)
        data[i] = rng_normal(&r, (uint64_t)i);
    must(graph_const(g, name, DT_F32, shape, data, &v, &err), &err);
    free(data);
    return v;
}

static graph_shape filter(int32_t rank, int64_t maps, int64_t channels, int64_t size)
{
    graph_shape s = {.rank = rank, .dim = {maps, channels}};
    for (int32_t i = 2; i < rank; i++)
        s.dim[i] = size;
    return s;
}

/* Operand 0 as the frame hands it to the operator. */
static graph_val enter_frame(graph *g, const op_case *c, case_frame frame, bool param)
{
    const case_operand *x = &c->in[0];
    if (frame == FRAME_CONV) {
        graph_shape images = x->shape;
        images.dim[1] = FRAME_CHANNELS;
        graph_shape weights = filter(x->shape.rank, x->shape.dim[1], FRAME_CHANNELS, 3);
        graph_val in[] = {add_source(g, "before.x", images, DT_F32, param),
                          add_source(g, "before.w", weights, DT_F32, param)};
        return add_node(g, OP_CONV, "before", in, 2, &CONV_ATTR(.auto_pad = PAD_SAME_UPPER));
    }
    graph_val v = add_source(g, "x0", x->shape, x->type, param && has_gradient(c, 0));
    if (frame == FRAME_BARE)
        return v;
    graph_val in[] = {v, add_const(g, "factor", (graph_shape){1, {1}}, 3)};
    return add_node(g, OP_MUL, "before", in, 2, NULL);
}

static graph_val leave_frame(graph *g, case_frame frame, graph_val y, bool param)
{
    graph_shape shape = graph_value_at(g, y)->shape;
    if (frame != FRAME_CONV || graph_value_at(g, y)->dtype != DT_F32 || !is_image(shape.rank))
        return y;
    graph_shape weights = filter(shape.rank, FRAME_MAPS, shape.dim[1], 1);
    graph_val in[] = {y, add_source(g, "after.w", weights, DT_F32, param)};
    return add_node(g, OP_CONV, "after", in, 2, NULL);
}

/* The sum of y times fixed random factors; `number` tells the losses of one graph apart. */
static graph_val add_loss(graph *g, graph_val y, int32_t number)
{
    graph_shape shape = graph_value_at(g, y)->shape;
    if (shape.rank == 0)
        return y;
    char name[] = {'m', 'i', 'x', (char)('0' + number), '\0'};
    graph_val in[] = {y, add_const(g, name, shape, 4 + (uint64_t)number)};
    graph_val mixed = add_node(g, OP_MUL, NULL, in, 2, NULL);
    return add_node(g, OP_REDUCE_SUM, NULL, &mixed, 1, &(reduce_attr){.drop_dims = true});
}

static bool is_recurrent(graph_op op)
{
    return op == OP_LSTM || op == OP_GRU || op == OP_RNN;
}

bool case_shows(const op_case *c, int32_t output)
{
    switch (c->op) {
    case OP_MAX_POOL:
        return output == 0 || (output == 2 && ((const pool_attr *)c->attr)->indices);
    case OP_SOFTMAX_CROSS_ENTROPY_LOSS:
        return output == 0;
    case OP_BATCH_NORMALIZATION:
        return output == 0 || ((const batch_norm_attr *)c->attr)->training;
    default:
        return !is_recurrent(c->op) || output < 2 || (output == 2 && c->op == OP_LSTM);
    }
}

static graph_val add_operand(graph *g, const char *name, const case_operand *x, bool param)
{
    error err = ERROR_INIT;
    graph_val v = GRAPH_NONE;
    if (!x->constant)
        return add_source(g, name, x->shape, x->type, param);
    must(graph_const(g, name, x->type, x->shape, x->constant, &v, &err), &err);
    return v;
}

static bool can_train(const op_case *c)
{
    bool any = false;
    for (int32_t i = 0; i < c->n_in; i++)
        any |= c->in[i].shape.rank != GRAPH_NONE && !c->in[i].constant && has_gradient(c, i);
    return any;
}

/* A recurrent operator's gradient flows through its last states too. */
static graph_val add_losses(graph *g, const op_case *c, case_frame frame, const case_graph *b)
{
    graph_val loss = add_loss(g, b->last, 0);
    for (int32_t i = 1; is_recurrent(c->op) && frame == FRAME_BARE && case_shows(c, i); i++) {
        graph_val in[] = {loss, add_loss(g, b->out[i], i)};
        loss = add_node(g, OP_ADD, NULL, in, 2, NULL);
    }
    return loss;
}

case_graph case_build(const op_case *c, case_frame frame, bool differentiable)
{
    error err = ERROR_INIT;
    case_graph b = {.loss = GRAPH_NONE};
    must(graph_create(&b.graph, &err), &err);
    graph_val in[CASE_IN];
    in[0] = enter_frame(b.graph, c, frame, differentiable);
    for (int32_t i = 1; i < c->n_in; i++) {
        char name[] = {'x', (char)('0' + i), '\0'};
        in[i] = GRAPH_NONE;
        if (c->in[i].shape.rank == GRAPH_NONE)
            continue;
        in[i] = add_operand(b.graph, name, &c->in[i], differentiable && has_gradient(c, i));
    }
    graph_val y;
    must(graph_add_1(b.graph, c->op, "tested", in, c->n_in, c->attr, &y, &err), &err);
    b.out = graph_node_at(b.graph, graph_value_at(b.graph, y)->def)->out;
    b.last = leave_frame(b.graph, frame, y, differentiable);
    if (differentiable && can_train(c) && graph_value_at(b.graph, y)->dtype == DT_F32) {
        b.loss = add_losses(b.graph, c, frame, &b);
        graph_keep(b.graph, b.loss);
        return b;
    }
    graph_keep(b.graph, b.last);
    for (int32_t i = 0; i < graph_op_of(c->op)->n_out && frame == FRAME_BARE; i++)
        if (case_shows(c, i))
            graph_keep(b.graph, b.out[i]);
    return b;
}

static int sequence_axis(const op_case *c)
{
    return ((const sequence_attr *)c->attr)->batch_first ? 1 : 0;
}

/* Every third label is the ignored one, where there is one. */
static double fill_label(const op_case *c, const rng *r, int64_t i)
{
    const sce_attr *loss = c->op == OP_SOFTMAX_CROSS_ENTROPY_LOSS ? c->attr : NULL;
    const accuracy_attr *count = c->op == OP_ACCURACY ? c->attr : NULL;
    if (loss && loss->has_ignore_index && i % 3 == 1)
        return (double)loss->ignore_index;
    if (count && count->has_ignore_index && i % 3 == 1)
        return (double)count->ignore_index;
    int64_t classes = c->in[0].shape.dim[1];
    return (double)rng_below(r, (uint64_t)i, classes > 1 ? (uint64_t)classes : 2);
}

static double fill_element(const op_case *c, case_fill fill, const rng *r, int64_t i, int64_t n)
{
    uint64_t e = (uint64_t)i;
    switch (fill) {
    case FILL_STEPS:
        return c->in[0].shape.dim[0]
                   ? (double)(1 + rng_below(r, e, (uint64_t)c->in[0].shape.dim[0]))
                   : 0;
    case FILL_POSITIVE:
        return (double)(0.5f + 1.5f * rng_uniform(r, e));
    case FILL_UNIT:
        return (double)(1.8f * rng_uniform(r, e) - 0.9f);
    case FILL_ABOVE_1:
        return (double)(1.1f + 1.9f * rng_uniform(r, e));
    case FILL_OFF_ZERO:
        return (double)((0.2f + rng_uniform(r, e)) * (rng_u32(r, e) & 1 ? 1 : -1));
    case FILL_DISTINCT: /* 7919 is prime: a permutation of 0 .. n-1 when it does not divide n */
        return (double)((float)(i * 7919 % n) * 0.125f - 3.0f);
    case FILL_LABEL:
        return fill_label(c, r, i);
    case FILL_INDEX:
        return (double)case_index(c, r, i);
    case FILL_LENGTH:
        return (double)rng_below(r, e, (uint64_t)c->in[0].shape.dim[sequence_axis(c)] + 1);
    case FILL_BATCH:
        return 41;
    case FILL_WHOLE:
        return (double)rng_below(r, e, 11) - 5;
    case FILL_COUNT:
        return (double)rng_below(r, e, 11);
    case FILL_STRANGE:
        return (double[]){1, NAN, INFINITY, -INFINITY, -3}[rng_below(r, e, 5)];
    case FILL_BIT:
        return rng_u32(r, e) & 1;
    default:
        return (double)rng_normal(r, e);
    }
}

void case_fill_value(const op_case *c, const graph_value *v, double *ret)
{
    bool is_operand = v->name[0] == 'x';
    case_fill fill = is_operand ? c->in[v->name[1] - '0'].fill : FILL_NORMAL;
    uint64_t stream = 0;
    for (const char *s = v->name; *s; s++)
        stream = rng_mix(stream, (unsigned char)*s);
    rng r = rng_make(1, RNG_TEST, stream);
    int64_t n = graph_shape_elements(&v->shape);
    for (int64_t i = 0; i < n; i++)
        ret[i] = fill_element(c, fill, &r, i, n) * (is_operand ? 1 : 0.25);
}
