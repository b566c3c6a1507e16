#include "numeric/support_reference.h"

#include "numeric/support_reference_ops.h"
#include "numeric/support_values.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct reference {
    const graph *graph;
    ref_tensor *values;
};

void ref_unravel(const graph_shape *s, int64_t i, int64_t *ret_at)
{
    for (int32_t d = s->rank - 1; d >= 0; d--) {
        ret_at[d] = i % s->dim[d];
        i /= s->dim[d];
    }
}

void ref_advance(const graph_shape *s, int64_t *at)
{
    for (int32_t d = s->rank - 1; d >= 0; d--) {
        if (++at[d] < s->dim[d])
            return;
        at[d] = 0;
    }
}

int64_t ref_ravel(const graph_shape *s, const int64_t *at)
{
    int64_t i = 0;
    for (int32_t d = 0; d < s->rank; d++)
        i = i * s->dim[d] + at[d];
    return i;
}

ref_axis ref_split(const graph_shape *s, int32_t axis)
{
    axis += axis < 0 ? s->rank : 0;
    ref_axis a = {.outer = 1, .n = s->dim[axis], .inner = 1};
    for (int32_t d = 0; d < axis; d++)
        a.outer *= s->dim[d];
    for (int32_t d = axis + 1; d < s->rank; d++)
        a.inner *= s->dim[d];
    return a;
}

static void gemm(const ref_tensor *in, int32_t n_in, const ref_tensor *out, const void *attr)
{
    const gemm_attr *a = attr;
    double alpha = (double)a->alpha, beta = (double)a->beta;
    int64_t m = out->shape.dim[0], n = out->shape.dim[1];
    int64_t depth = in[0].shape.dim[a->trans_a ? 0 : 1];
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t k = 0; k < depth; k++)
                sum += in[0].x[a->trans_a ? k * m + i : i * depth + k] *
                       in[1].x[a->trans_b ? j * depth + k : k * n + j];
            double c = 0;
            if (n_in > 2 && in[2].x)
                c = in[2].x[ref_broadcast_from(&in[2].shape, &out->shape, (int64_t[]){i, j})];
            out->x[i * n + j] = alpha * sum + beta * c;
        }
    }
}

/* A vector is a row on the left and a column on the right. */
static graph_shape as_matrices(const graph_shape *s, bool left)
{
    if (s->rank > 1)
        return *s;
    return left ? (graph_shape){2, {1, s->dim[0]}} : (graph_shape){2, {s->dim[0], 1}};
}

/* Row-major matrices below the leading axes, which broadcast. */
static const double *matrix_at(const double *x, const graph_shape *shape, const graph_shape *to,
                               const int64_t *at)
{
    graph_shape lead = *shape, to_lead = *to;
    lead.rank -= 2;
    to_lead.rank -= 2;
    return x + ref_broadcast_from(&lead, &to_lead, at) * shape->dim[lead.rank] *
                   shape->dim[lead.rank + 1];
}

/* The product's shape before the axes that vectors brought are dropped. */
static graph_shape product_shape(const graph_shape *a, const graph_shape *b, const void *attr)
{
    const matmul_attr *t = attr;
    const graph_shape *longer = a->rank > b->rank ? a : b;
    graph_shape y = *longer;
    for (int32_t d = 0; d < y.rank - 2; d++) {
        int32_t i = d - (y.rank - a->rank), j = d - (y.rank - b->rank);
        int64_t da = i >= 0 ? a->dim[i] : 1, db = j >= 0 ? b->dim[j] : 1;
        y.dim[d] = da > db ? da : db;
    }
    y.dim[y.rank - 2] = a->dim[a->rank - (t->trans_a ? 1 : 2)];
    y.dim[y.rank - 1] = b->dim[b->rank - (t->trans_b ? 2 : 1)];
    return y;
}

static void matmul(const ref_tensor *in, const ref_tensor *out, const void *attr)
{
    const matmul_attr *t = attr;
    graph_shape a = as_matrices(&in[0].shape, true), b = as_matrices(&in[1].shape, false);
    graph_shape y = product_shape(&a, &b, attr);
    int64_t m = y.dim[y.rank - 2], n = y.dim[y.rank - 1];
    int64_t depth = a.dim[a.rank - (t->trans_a ? 2 : 1)];
    int64_t at[GRAPH_RANK];
    for (int64_t element = 0; element < out->n; element++) {
        ref_unravel(&y, element, at);
        const double *left = matrix_at(in[0].x, &a, &y, at);
        const double *right = matrix_at(in[1].x, &b, &y, at);
        int64_t i = at[y.rank - 2], j = at[y.rank - 1];
        double sum = 0;
        for (int64_t k = 0; k < depth; k++)
            sum += left[t->trans_a ? k * m + i : i * depth + k] *
                   right[t->trans_b ? j * depth + k : k * n + j];
        out->x[element] = sum;
    }
}

static void transpose(const ref_tensor *in, const ref_tensor *out, const void *attr)
{
    const transpose_attr *a = attr;
    int32_t rank = in->shape.rank;
    int64_t from[GRAPH_RANK], to[GRAPH_RANK];
    for (int64_t i = 0; i < in->n; i++) {
        ref_unravel(&in->shape, i, from);
        for (int32_t d = 0; d < rank; d++)
            to[d] = from[a->reverse ? rank - 1 - d : a->perm[d]];
        out->x[ref_ravel(&out->shape, to)] = in->x[i];
    }
}

static void concat(const ref_tensor *in, int32_t n_in, const ref_tensor *out, const void *attr)
{
    int32_t axis = ((const axis_attr *)attr)->axis;
    ref_axis whole = ref_split(&out->shape, axis);
    int64_t begin = 0;
    for (int32_t k = 0; k < n_in; k++) {
        ref_axis part = ref_split(&in[k].shape, axis);
        int64_t run = part.n * part.inner;
        for (int64_t o = 0; o < part.outer; o++)
            memcpy(out->x + (o * whole.n + begin) * whole.inner, in[k].x + o * run,
                   (size_t)run * sizeof(double));
        begin += part.n;
    }
}

static void expand(const ref_tensor *in, const ref_tensor *out)
{
    int64_t at[GRAPH_RANK];
    for (int64_t i = 0; i < out->n; i++) {
        ref_unravel(&out->shape, i, at);
        out->x[i] = in->x[ref_broadcast_from(&in->shape, &out->shape, at)];
    }
}

static void run_plain(graph_op op, const ref_tensor *in, int32_t n_in, const ref_tensor *out,
                      const void *attr)
{
    switch (op) {
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_DIV:
    case OP_MIN:
    case OP_MAX:
    case OP_MOD:
    case OP_POW:
    case OP_PRELU:
    case OP_SIGMOID_CROSS_ENTROPY:
    case OP_EQUAL:
    case OP_LESS:
    case OP_LESS_OR_EQUAL:
    case OP_GREATER:
    case OP_GREATER_OR_EQUAL:
    case OP_AND:
    case OP_OR:
    case OP_XOR:
    case OP_NOT:
    case OP_IS_NAN:
    case OP_IS_INF:
    case OP_WHERE:
    case OP_CAST:
        return ref_broadcast(op, in, n_in, out, attr);
    case OP_GEMM:
        return gemm(in, n_in, out, attr);
    case OP_MATMUL:
        return matmul(in, out, attr);
    case OP_TRANSPOSE:
        return transpose(in, out, attr);
    case OP_CONCAT:
        return concat(in, n_in, out, attr);
    case OP_REDUCE_MEAN:
    case OP_REDUCE_SUM:
    case OP_REDUCE_MAX:
    case OP_REDUCE_MIN:
    case OP_REDUCE_PROD:
    case OP_REDUCE_L1:
    case OP_REDUCE_L2:
    case OP_REDUCE_SUM_SQUARE:
    case OP_REDUCE_LOG_SUM:
    case OP_REDUCE_LOG_SUM_EXP:
        return ref_reduce(op, in, out, attr);
    case OP_ARG_MAX:
    case OP_ARG_MIN:
    case OP_HARDMAX:
    case OP_CUM_SUM:
        return ref_along(op, in, out, attr);
    case OP_EXPAND:
        return expand(in, out);
    case OP_IDENTITY:
    case OP_FLATTEN:
    case OP_RESHAPE:
        memcpy(out->x, in->x, (size_t)out->n * sizeof(double));
        return;
#define SMOOTH(ID, ...) case OP_##ID:
#define STEP(ID, ...)   case OP_##ID:
#include "graph/unary.def"
    case OP_NEG:
        return ref_unary(op, in, out, attr);
    default:
        BUG("the reference knows no %s", graph_op_of(op)->name);
    }
}

/* The operators of support_reference_nn.c and support_reference_move.c. */
static ref_op *network_op(graph_op op)
{
    switch (op) {
    case OP_CONV:
        return ref_conv;
    case OP_CONV_TRANSPOSE:
        return ref_conv_transpose;
    case OP_GROUP_NORMALIZATION:
    case OP_INSTANCE_NORMALIZATION:
        return ref_group_norm;
    case OP_LRN:
        return ref_lrn;
    case OP_MAX_POOL:
        return ref_max_pool;
    case OP_AVERAGE_POOL:
        return ref_average_pool;
    case OP_LSTM:
    case OP_GRU:
    case OP_RNN:
        return ref_recurrent;
    case OP_LP_POOL:
        return ref_lp_pool;
    case OP_GLOBAL_AVERAGE_POOL:
        return ref_global_average_pool;
    case OP_SOFTMAX:
        return ref_softmax;
    case OP_LOG_SOFTMAX:
        return ref_log_softmax;
    case OP_SOFTMAX_CROSS_ENTROPY_LOSS:
        return ref_cross_entropy;
    case OP_ACCURACY:
        return ref_accuracy;
    case OP_BATCH_NORMALIZATION:
        return ref_batch_norm;
    case OP_LAYER_NORMALIZATION:
        return ref_layer_norm;
    case OP_RMS_NORMALIZATION:
        return ref_rms_norm;
    case OP_ATTENTION:
        return ref_attention;
    case OP_ROTARY_EMBEDDING:
        return ref_rotary;
    case OP_TO_HALF:
        return ref_to_half;
    case OP_DROPOUT:
        return ref_dropout;
    case OP_RANDOM:
        return ref_random;
    case OP_GATHER:
        return ref_gather;
    case OP_SLICE:
        return ref_slice;
    case OP_GATHER_ELEMENTS:
        return ref_gather_elements;
    case OP_GATHER_ND:
        return ref_gather_nd;
    case OP_SCATTER_ELEMENTS:
        return ref_scatter_elements;
    case OP_SCATTER_ND:
        return ref_scatter_nd;
    case OP_PAD:
        return ref_pad;
    case OP_RESIZE:
        return ref_resize;
    case OP_GRID_SAMPLE:
        return ref_grid_sample;
    case OP_ROI_ALIGN:
        return ref_roi_align;
    case OP_TRILU:
        return ref_trilu;
    case OP_ONE_HOT:
        return ref_one_hot;
    case OP_REVERSE_SEQUENCE:
        return ref_reverse_sequence;
    case OP_TOP_K:
        return ref_top_k;
    default:
        return NULL;
    }
}

reference *reference_create(const graph *g)
{
    reference *r = xcalloc(1, sizeof *r);
    r->graph = g;
    r->values = xcalloc((size_t)graph_n_values(g) + 1, sizeof *r->values);
    for (graph_val v = 0; v < graph_n_values(g); v++) {
        const graph_value *value = graph_value_at(g, v);
        ref_tensor *t = &r->values[v];
        t->shape = value->shape;
        t->type = value->dtype;
        t->n = graph_shape_elements(&value->shape);
        t->x = xcalloc((size_t)t->n + 1, sizeof *t->x);
        if (value->kind == VAL_CONST)
            values_load(value->dtype, t->n, value->data, t->x);
    }
    return r;
}

void reference_destroy(reference **r)
{
    if (!r || !*r)
        return;
    for (graph_val v = 0; v < graph_n_values((*r)->graph); v++)
        free((*r)->values[v].x);
    free((*r)->values);
    free(*r);
    *r = NULL;
}

double *reference_value(reference *r, graph_val v)
{
    return r->values[v].x;
}

double *reference_named(reference *r, const char *name)
{
    graph_val v = graph_find(r->graph, name);
    BUG_ON(v == GRAPH_NONE);
    return r->values[v].x;
}

int64_t reference_elements(const reference *r, graph_val v)
{
    return r->values[v].n;
}

static ref_tensor *operands(const reference *r, const graph_val *v, int32_t n)
{
    ref_tensor *t = xcalloc((size_t)n + 1, sizeof *t);
    for (int32_t k = 0; k < n; k++)
        if (v[k] != GRAPH_NONE)
            t[k] = r->values[v[k]];
    return t;
}

/* Otherwise there is nothing to compute, and perhaps to divide by. */
static bool makes_elements(const reference *r, const graph_node *n)
{
    for (int32_t k = 0; k < n->n_out; k++)
        if (n->out[k] != GRAPH_NONE && r->values[n->out[k]].n > 0)
            return true;
    return false;
}

void reference_run(reference *r)
{
    for (int32_t i = 0; i < graph_n_nodes(r->graph); i++) {
        const graph_node *node = graph_node_at(r->graph, i);
        if (!makes_elements(r, node))
            continue;
        ref_tensor *in = operands(r, node->in, graph_node_slots(node));
        ref_tensor *out = operands(r, node->out, node->n_out);
        ref_op *op = network_op(node->op);
        if (op)
            op(in, node->n_in, out, node->attr);
        else
            run_plain(node->op, in, node->n_in, out, node->attr);
        free(in);
        free(out);
    }
}

static double loss_at(reference *r, graph_val loss, ref_tensor *x, const double *from, double step,
                      const double *direction)
{
    for (int64_t i = 0; i < x->n; i++)
        x->x[i] = from[i] + step * direction[i];
    reference_run(r);
    return r->values[loss].x[0];
}

/* With h = 1e-5 truncation is about 1e-10 of the third derivative and rounding 1e-11 of the loss:
 * far below what float kernels show. */
double reference_slope(reference *r, graph_val loss, graph_val x, const double *direction)
{
    const double h = 1e-5;
    ref_tensor *t = &r->values[x];
    double *before = xcalloc((size_t)t->n + 1, sizeof *before);
    memcpy(before, t->x, (size_t)t->n * sizeof *before);
    double above = loss_at(r, loss, t, before, h, direction);
    double below = loss_at(r, loss, t, before, -h, direction);
    memcpy(t->x, before, (size_t)t->n * sizeof *before);
    free(before);
    return (above - below) / (2 * h);
}
