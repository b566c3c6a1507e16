#include "backend/cuda/storage.h"

#include "backend/cuda/kernels/cast.h"
#include "backend/cuda/kernels/channels_last.h"
#include "common/base/alloc.h"
#include "graph/plan.h"

#include <stdlib.h>

/* --- what kernels know of halves --- */

typedef enum half_rule {
    NO_HALVES,    /* floats are float32 */
    READS_HALVES, /* makes float32 */
    OF_FACTORS,   /* makes halves of halves that the graph has rounded */
    OF_ANYTHING,  /* makes halves, whatever it reads */
    AS_FIRST,     /* makes what input 0 is of */
    ALIKE,        /* floats it reads and makes are of one type */
    MIXED,        /* reads any types, and makes halves of halves */
} half_rule;

enum { IN_0 = 1, IN_1 = 2, IN_2 = 4, IN_3 = 8, IN_4 = 16, IN_ALL = ~0 };

/* `reads`: which inputs may be halves. Of the outputs number 0 may, of ATTENTION_BWD all. */
typedef struct half_row {
    half_rule rule;
    int reads;
} half_row;

static const half_row rows[OP_COUNT] = {
    [OP_CONV] = {OF_FACTORS, 0},
    [OP_CONV_TRANSPOSE] = {OF_FACTORS, 0},
    [OP_CONV_BWD_DATA] = {OF_FACTORS, 0},
    [OP_GEMM] = {OF_FACTORS, 0},
    [OP_MATMUL] = {OF_FACTORS, 0},
    [OP_ATTENTION] = {OF_FACTORS, 0},
    [OP_ATTENTION_BWD] = {ALIKE, IN_0 | IN_1},
    [OP_ROTARY_EMBEDDING] = {ALIKE, IN_0},
    [OP_BATCH_NORMALIZATION] = {ALIKE, IN_0},
    [OP_BATCH_NORMALIZATION_BWD] = {ALIKE, IN_0 | IN_4},
    [OP_GROUP_NORMALIZATION] = {ALIKE, IN_0},
    [OP_INSTANCE_NORMALIZATION] = {ALIKE, IN_0},
    [OP_GROUP_NORMALIZATION_BWD] = {ALIKE, IN_0 | IN_4},
    [OP_LAYER_NORMALIZATION] = {OF_ANYTHING, IN_0},
    [OP_LAYER_NORMALIZATION_BWD] = {AS_FIRST, IN_0 | IN_4},
    [OP_RMS_NORMALIZATION] = {OF_ANYTHING, IN_0},
    [OP_RMS_NORMALIZATION_BWD] = {AS_FIRST, IN_0 | IN_3},
    [OP_SOFTMAX] = {ALIKE, IN_0},
    [OP_LOG_SOFTMAX] = {ALIKE, IN_0},
    [OP_SOFTMAX_BWD] = {ALIKE, IN_0 | IN_1},
    [OP_LOG_SOFTMAX_BWD] = {ALIKE, IN_0 | IN_1},
    [OP_SOFTMAX_CROSS_ENTROPY_LOSS] = {READS_HALVES, IN_0},
    [OP_SOFTMAX_CROSS_ENTROPY_LOSS_BWD] = {ALIKE, IN_0},
    [OP_ACCURACY] = {READS_HALVES, IN_0},
    [OP_MAX_POOL] = {ALIKE, IN_0},
    [OP_MAX_POOL_BWD] = {ALIKE, IN_0},
    [OP_LP_POOL] = {ALIKE, IN_0},
    [OP_LP_POOL_BWD] = {ALIKE, IN_0 | IN_1 | IN_2},
    [OP_AVERAGE_POOL] = {ALIKE, IN_0},
    [OP_GLOBAL_AVERAGE_POOL] = {ALIKE, IN_0},
    [OP_AVERAGE_POOL_BWD] = {ALIKE, IN_0},
    [OP_DROPOUT] = {ALIKE, IN_0},
    [OP_DROPOUT_BWD] = {MIXED, IN_0},
    [OP_FLATTEN] = {ALIKE, IN_0},
    [OP_RESHAPE] = {ALIKE, IN_0},
    [OP_IDENTITY] = {ALIKE, IN_0},
    [OP_TRANSPOSE] = {ALIKE, IN_0},
    [OP_EXPAND] = {ALIKE, IN_0},
    [OP_SLICE] = {ALIKE, IN_0},
    [OP_SLICE_BWD] = {ALIKE, IN_0},
    [OP_CONCAT] = {ALIKE, IN_ALL},
    [OP_PAD] = {ALIKE, IN_0},
    [OP_TRILU] = {ALIKE, IN_0},
    [OP_REVERSE_SEQUENCE] = {ALIKE, IN_0},
    [OP_GATHER] = {ALIKE, IN_0},
    [OP_GATHER_ELEMENTS] = {ALIKE, IN_0},
    [OP_GATHER_ND] = {ALIKE, IN_0},
    [OP_WHERE] = {ALIKE, IN_1 | IN_2},
    [OP_TO_HALF] = {MIXED, IN_0},
    [OP_ADD] = {MIXED, IN_0 | IN_1},
    [OP_SUB] = {MIXED, IN_0 | IN_1},
    [OP_MUL] = {MIXED, IN_0 | IN_1},
    [OP_DIV] = {MIXED, IN_0 | IN_1},
    [OP_MIN] = {MIXED, IN_0 | IN_1},
    [OP_MAX] = {MIXED, IN_0 | IN_1},
    [OP_PRELU] = {MIXED, IN_0 | IN_1},
    [OP_MOD] = {READS_HALVES, IN_0 | IN_1},
    [OP_POW] = {READS_HALVES, IN_0 | IN_1},
    [OP_SIGMOID_CROSS_ENTROPY] = {READS_HALVES, IN_0 | IN_1},
    [OP_MIN_BWD] = {MIXED, IN_0 | IN_1 | IN_2},
    [OP_MAX_BWD] = {MIXED, IN_0 | IN_1 | IN_2},
    [OP_PRELU_BWD] = {MIXED, IN_0 | IN_1 | IN_2},
    [OP_SIGMOID_CROSS_ENTROPY_BWD] = {MIXED, IN_0 | IN_1 | IN_2},
    [OP_NEG] = {MIXED, IN_0},
#define SMOOTH(ID, name, onnx, reads, attr)                                                        \
    [OP_##ID] = {MIXED, IN_0}, [OP_##ID##_BWD] = {MIXED, IN_0 | IN_1},
#define STEP(ID, name, onnx) [OP_##ID] = {MIXED, IN_0},
#include "graph/unary.def"
    [OP_REDUCE_SUM] = {READS_HALVES, IN_0},
    [OP_REDUCE_MEAN] = {READS_HALVES, IN_0},
    [OP_REDUCE_L1] = {READS_HALVES, IN_0},
    [OP_REDUCE_L2] = {READS_HALVES, IN_0},
    [OP_REDUCE_SUM_SQUARE] = {READS_HALVES, IN_0},
    [OP_SUM_TO] = {READS_HALVES, IN_0},
};

static bool adds_to_base(const graph_node *n)
{
    return graph_op_of(n->op)->traits & OP_ADDS && graph_node_inplace(n) != GRAPH_NONE;
}

/* What grows or shrinks fast is float32, as is what is added to a base or padded by a number. */
static half_row row_of(const graph_node *n)
{
    switch (n->op) {
    case OP_EXP:
    case OP_LOG:
    case OP_RECIPROCAL:
    case OP_SINH:
    case OP_COSH:
    case OP_TAN:
        return (half_row){READS_HALVES, IN_0};
    case OP_PAD:
        return ((const pad_attr *)n->attr)->value == 0 ? rows[n->op] : (half_row){NO_HALVES, 0};
    default:
        return adds_to_base(n) ? (half_row){NO_HALVES, 0} : rows[n->op];
    }
}

static bool may_read(const graph_node *n, int i)
{
    return i < 31 ? row_of(n).reads >> i & 1 : n->op == OP_CONCAT;
}

/* --- who reads what --- */

/* By value. */
typedef struct reader {
    bool needs_float;   /* it stays float32 */
    bool sums_gradient; /* it is a part of a parameter's gradient */
    bool multiplies;    /* a node rounds it to a factor */
    bool looks;         /* somebody reads it who does neither that nor adds it up */
} reader;

typedef struct chooser {
    backend_program *p;
    reader *readers;
    dtype half; /* DT_F32: there are none */
} chooser;

static void note_value(chooser *s, graph_val v)
{
    const graph_value *value = graph_value_at(s->p->g, v);
    if (value->kind != VAL_TEMP || value->dtype != DT_F32 || value->keep)
        s->readers[v].needs_float = true;
    if (value->grad != GRAPH_NONE)
        s->readers[value->grad].sums_gradient = true;
}

/* What a gradient of a parameter is made of by these is as good as a part of it. */
static bool passes_on(graph_op op)
{
    return op == OP_ADD || op == OP_IDENTITY || op == OP_RESHAPE || op == OP_FLATTEN ||
           op == OP_TRANSPOSE || op == OP_CONCAT || op == OP_SLICE_BWD || op == OP_GATHER_BWD;
}

static void note_node(chooser *s, const graph_node *n)
{
    bool sums = n->out[0] != GRAPH_NONE && s->readers[n->out[0]].sums_gradient && passes_on(n->op);
    for (int i = 0; i < n->n_in; i++) {
        if (n->in[i] == GRAPH_NONE)
            continue;
        reader *r = &s->readers[n->in[i]];
        r->sums_gradient |= sums;
        r->needs_float |= !may_read(n, i);
        r->multiplies |= n->op == OP_TO_HALF;
        r->looks |= n->op != OP_TO_HALF && n->op != OP_SUM_TO && n->op != OP_REDUCE_SUM;
    }
}

static void note_readers(chooser *s)
{
    const graph *g = s->p->g;
    s->half = DT_F32;
    for (graph_val v = 0; v < graph_n_values(g); v++)
        note_value(s, v);
    for (int32_t i = graph_n_nodes(g) - 1; i >= 0; i--) {
        const graph_node *n = graph_node_at(g, i);
        note_node(s, n);
        if (n->op == OP_TO_HALF)
            s->half = graph_value_at(g, n->out[0])->dtype;
    }
}

/* --- types --- */

static bool is_half(const chooser *s, graph_val v)
{
    return s->p->storage[v].type != DT_F32 && s->p->storage[v].type == s->half;
}

/* Whether its operands are halves: one at least, and the others too, but for parameters and
 * constants. */
static bool reads_halves(const chooser *s, const graph_node *n)
{
    bool some = false;
    for (int i = 0; i < n->n_in; i++) {
        if (n->in[i] == GRAPH_NONE || !may_read(n, i))
            continue;
        const graph_value *v = graph_value_at(s->p->g, n->in[i]);
        if (is_half(s, n->in[i]))
            some = true;
        else if (v->dtype == DT_F32 && v->kind != VAL_PARAM && v->kind != VAL_CONST)
            return false;
    }
    return some;
}

static bool makes_halves(const chooser *s, const graph_node *n)
{
    graph_val y = n->out[0];
    switch (row_of(n).rule) {
    case OF_FACTORS:
        return is_half(s, n->in[0]);
    case OF_ANYTHING:
        return true;
    case AS_FIRST:
        return is_half(s, n->in[0]);
    case ALIKE:
        return reads_halves(s, n);
    case MIXED:
        return reads_halves(s, n) ||
               (y != GRAPH_NONE && s->readers[y].multiplies && !s->readers[y].looks);
    default:
        return false;
    }
}

static bool can_be_half(const chooser *s, graph_val v)
{
    return v == GRAPH_NONE || (!s->readers[v].needs_float && !s->readers[v].sums_gradient);
}

/* Whether the node makes halves, or is to read them where nobody wants what it would make. */
static bool choose_type(chooser *s, cuda_node *n)
{
    int n_out = n->node->op == OP_ATTENTION_BWD ? n->node->n_out : 1;
    bool halves = s->half != DT_F32 && !cuda_node_is_empty(n) && makes_halves(s, n->node);
    for (int i = 0; i < n_out; i++)
        halves = halves && can_be_half(s, n->node->out[i]);
    for (int i = 0; i < n_out && halves; i++)
        if (n->node->out[i] != GRAPH_NONE)
            s->p->storage[n->node->out[i]].type = s->half;
    return halves;
}

/* What the body finds and leaves: values as they are, but for operands that are to be of one type.
 * A group's kernel takes each as it is. */
static void choose_edges(const chooser *s, cuda_node *n, bool halves)
{
    const graph_node *node = n->node;
    half_rule rule = row_of(node).rule;
    for (int i = 0; i < node->n_out; i++)
        if (node->out[i] != GRAPH_NONE)
            n->out[i].seen = s->p->storage[node->out[i]];
    for (int i = 0; i < node->n_in; i++) {
        if (node->in[i] == GRAPH_NONE)
            continue;
        cuda_storage own = s->p->storage[node->in[i]];
        bool follows = may_read(node, i) && (rule == ALIKE || (rule == AS_FIRST && i == 0));
        n->in[i].seen = own;
        if (follows && cuda_in(n, i)->dtype == DT_F32)
            n->in[i].seen.type = halves ? s->half : DT_F32;
        n->in[i].moves = n->in[i].seen.type != own.type && !s->p->group[n - s->p->nodes];
    }
}

static status measure(backend_program *p, graph_val v, error *err)
{
    const graph_value *value = graph_value_at(p->g, v);
    size_t elements = p->is_fused[v] ? 0 : (size_t)graph_shape_elements(&value->shape);
    if (!size_mul(elements, dtype_bytes(p->storage[v].type), &p->bytes[v]))
        return FAIL(err, E_NOMEM, "value '%s' is too large", value->name);
    return OK;
}

status storage_choose(backend_program *p, error *err)
{
    graph_val n_values = graph_n_values(p->g);
    chooser s = {.p = p, .readers = xcalloc((size_t)n_values + 1, sizeof *s.readers)};
    p->storage = arena_alloc(p->arena, (size_t)n_values * sizeof *p->storage);
    p->bytes = arena_alloc(p->arena, (size_t)n_values * sizeof *p->bytes);
    for (graph_val v = 0; v < n_values; v++)
        p->storage[v].type = graph_value_at(p->g, v)->dtype;
    note_readers(&s);
    for (int32_t i = 0; i < graph_n_nodes(p->g); i++) {
        bool halves = choose_type(&s, &p->nodes[i]);
        choose_edges(&s, &p->nodes[i], halves);
    }
    free(s.readers);
    for (graph_val v = 0; v < n_values; v++)
        TRY(measure(p, v, err));
    return OK;
}

/* --- copies around a body --- */

static void place(cuda_node *n, cuda_edge *e, const graph_value *v)
{
    size_t at = size_round_up(n->scratch_bytes, PLAN_ALIGN);
    if (!e->moves)
        return;
    e->at = at;
    n->scratch_bytes = at + (size_t)graph_shape_elements(&v->shape) * dtype_bytes(e->seen.type);
}

void storage_finish(cuda_node *n)
{
    for (int i = 0; i < n->node->n_in && n->body; i++)
        place(n, &n->in[i], cuda_in(n, i));
    for (int i = 0; i < n->node->n_out && n->body; i++)
        place(n, &n->out[i], cuda_out(n, i));
}

/* y, which lies as `to` says, = x, which lies as `from` does. */
static void copy(cuda_stream stream, const graph_shape *shape, cuda_storage to, void *y,
                 cuda_storage from, const void *x)
{
    launch_types t = {.y = cuda_launch_type(to.type), .a = cuda_launch_type(from.type)};
    launch_round(stream, t, y, x, graph_shape_elements(shape));
}

void storage_bring(const cuda_node *n, cuda_call *c)
{
    for (int i = 0; i < n->node->n_in; i++) {
        const cuda_edge *e = &n->in[i];
        if (!e->moves)
            continue;
        void *to = (char *)c->scratch + e->at;
        copy(c->stream, &cuda_in(n, i)->shape, e->seen, to, n->program->storage[n->node->in[i]],
             c->in[i]);
        c->in[i] = to;
    }
}
