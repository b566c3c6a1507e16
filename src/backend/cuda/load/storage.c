#include "backend/cuda/load/storage.h"

#include "backend/cuda/kernels/cast.h"
#include "backend/cuda/kernels/channels_last.h"
#include "backend/cuda/plan/plan.h"
#include "common/base/alloc.h"
#include "graph/plan.h"

#include <stdlib.h>

/* --- what kernels know of halves --- */

/* The column `halves` of ops.def, which says what they mean. */
typedef enum half_rule {
    HALVES_NONE,
    HALVES_READS,
    HALVES_OF_FACTORS,
    HALVES_OF_ANYTHING,
    HALVES_AS_FIRST,
    HALVES_ALIKE,
    HALVES_MIXED,
} half_rule;

enum { IN_0 = 1, IN_1 = 2, IN_2 = 4, IN_3 = 8, IN_4 = 16, IN_ALL = ~0 };

/* `reads`: which inputs may be halves. Of the outputs number 0 may, of ATTENTION_BWD all
 * but the mask's. */
typedef struct half_row {
    half_rule rule;
    int reads;
} half_row;

static const half_row rows[OP_COUNT] = {
#define OP(ID, name, fewest, most, outputs, traits, family, halves, reads, empty)                  \
    [OP_##ID] = {HALVES_##halves, reads},
#include "graph/ops.def"
};

static bool adds_to_base(const graph_node *n)
{
    return graph_op_of(n->op)->traits & OP_ADDS && graph_node_inplace(n) != GRAPH_NONE;
}

/* What is added to a base or padded by a number is float32. */
static half_row row_of(const graph_node *n)
{
    bool pads = n->op == OP_PAD && ((const pad_attr *)n->attr)->value != 0;
    return pads || adds_to_base(n) ? (half_row){HALVES_NONE, 0} : rows[n->op];
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
    bool looks;         /* a node reads it that does neither that nor adds it up */
} reader;

typedef struct chooser {
    backend_program *p;
    reader *readers;
    dtype half;     /* DT_F32: there are none */
    bool some_last; /* some image lies channels last already */
} chooser;

/* A value and what is computed again of it lie alike, so all who read either count. */
static reader *readers_of(const chooser *s, graph_val v)
{
    return &s->readers[graph_original(s->p->g, v)];
}

static void note_value(chooser *s, graph_val v)
{
    const graph_value *value = graph_value_at(s->p->g, v);
    if (value->kind != VAL_TEMP || value->dtype != DT_F32 || value->keep)
        readers_of(s, v)->needs_float = true;
    if (value->grad != GRAPH_NONE)
        readers_of(s, value->grad)->sums_gradient = true;
}

/* What a gradient of a parameter is made of by these is as good as a part of it. */
static bool passes_on(graph_op op)
{
    return op == OP_ADD || op == OP_IDENTITY || op == OP_RESHAPE || op == OP_FLATTEN ||
           op == OP_TRANSPOSE || op == OP_CONCAT || op == OP_SLICE_BWD || op == OP_GATHER_BWD;
}

static void note_node(chooser *s, const graph_node *n)
{
    bool sums = n->out[0] != GRAPH_NONE && readers_of(s, n->out[0])->sums_gradient && passes_on(n->op);
    for (int i = 0; i < n->n_in; i++) {
        if (n->in[i] == GRAPH_NONE)
            continue;
        reader *r = readers_of(s, n->in[i]);
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
        else if (v->dtype == DT_F32 && !v->param && v->kind != VAL_CONST)
            return false;
    }
    return some;
}

static bool makes_halves(const chooser *s, const graph_node *n)
{
    graph_val y = n->out[0];
    switch (row_of(n).rule) {
    case HALVES_OF_FACTORS:
        return is_half(s, n->in[0]);
    case HALVES_OF_ANYTHING:
        return true;
    case HALVES_AS_FIRST:
        return is_half(s, n->in[0]);
    case HALVES_ALIKE:
        return reads_halves(s, n);
    case HALVES_MIXED:
        return reads_halves(s, n) ||
               (y != GRAPH_NONE && readers_of(s, y)->multiplies && !readers_of(s, y)->looks);
    default:
        return false;
    }
}

static bool can_be_half(const chooser *s, graph_val v)
{
    return v == GRAPH_NONE || (!readers_of(s, v)->needs_float && !readers_of(s, v)->sums_gradient);
}

/* Whether the node makes halves, or is to read them where nobody wants what it would make. */
static bool choose_type(chooser *s, cuda_node *n)
{
    int n_out = n->node->op == OP_ATTENTION_BWD ? 3 : 1;
    bool halves = s->half != DT_F32 && !cuda_node_is_empty(n) && makes_halves(s, n->node);
    for (int i = 0; i < n_out; i++)
        halves = halves && can_be_half(s, n->node->out[i]);
    for (int i = 0; i < n_out && halves; i++)
        if (n->node->out[i] != GRAPH_NONE)
            s->p->storage[n->node->out[i]].type = s->half;
    return halves;
}

/* --- orders of images --- */

static bool makes_images(graph_op op)
{
    return op == OP_CONV || op == OP_CONV_TRANSPOSE || op == OP_CONV_BWD_DATA;
}

/* Their kernels read images in either order. */
static bool is_conv(graph_op op)
{
    return makes_images(op) || op == OP_CONV_BWD_WEIGHTS;
}

static bool is_elementwise(const graph_node *n)
{
    return row_of(n).rule == HALVES_MIXED && n->op != OP_DROPOUT_BWD; /* its mask counts elements */
}

/* Whether the two orders differ. */
static bool has_orders(const graph_shape *s)
{
    int64_t positions = 1;
    for (int i = 2; i < s->rank; i++)
        positions *= s->dim[i];
    return s->rank > 2 && s->dim[0] > 0 && s->dim[1] > 1 && positions > 1;
}

/* ... of an operand that broadcasts to this rank. */
static bool has_orders_in(const graph_shape *s, int32_t rank)
{
    graph_shape whole = {.rank = rank};
    for (int i = 0; i < rank; i++)
        whole.dim[i] = i < rank - s->rank ? 1 : s->dim[i - rank + s->rank];
    return has_orders(&whole);
}

/* Whether all operands are images of one shape, or numbers by channel or by position. */
static bool can_walk_last(const cuda_node *n)
{
    const graph_shape *y = &cuda_out(n, 0)->shape;
    for (int i = 0; i < n->node->n_in; i++)
        if (!graph_shape_equal(&cuda_in(n, i)->shape, y) &&
            has_orders_in(&cuda_in(n, i)->shape, y->rank))
            return false;
    return true;
}

static bool can_work_last(const cuda_node *n)
{
    switch (n->node->op) {
    case OP_BATCH_NORMALIZATION:
    case OP_BATCH_NORMALIZATION_BWD:
    case OP_AVERAGE_POOL:
    case OP_GLOBAL_AVERAGE_POOL:
    case OP_AVERAGE_POOL_BWD:
    case OP_IDENTITY:
        return true;
    case OP_MAX_POOL:
        return n->node->out[2] == GRAPH_NONE; /* they count in the other order */
    default:
        return is_elementwise(n->node) && can_walk_last(n);
    }
}

/* Whether the body takes images channels last: where one comes so. What MaxPool remembers lies as
 * its result does; the gradient of an average over all positions comes in both orders. */
static bool works_last(const chooser *s, const cuda_node *n)
{
    const graph_value *taps = n->node->op == OP_MAX_POOL_BWD ? cuda_in(n, 1) : NULL;
    if (taps)
        return taps->def != GRAPH_NONE && s->p->nodes[taps->def].in[0].seen.channels_last;
    if (n->node->op == OP_AVERAGE_POOL_BWD && !has_orders(&cuda_in(n, 0)->shape))
        return s->some_last;
    bool some = false;
    for (int i = 0; i < n->node->n_in; i++)
        some |= n->node->in[i] != GRAPH_NONE && may_read(n->node, i) &&
                s->p->storage[n->node->in[i]].channels_last;
    return some && can_work_last(n);
}

static bool can_be_last(const chooser *s, graph_val v)
{
    const graph_value *value = graph_value_at(s->p->g, v);
    return value->kind == VAL_TEMP && !value->keep && !readers_of(s, v)->sums_gradient &&
           has_orders(&value->shape);
}

/* --- what the body finds and leaves --- */

/* Values as they are, but for operands that are to be of one type or in one order. */
static void choose_in(const chooser *s, cuda_node *n, int i, bool halves, bool last)
{
    const graph_node *node = n->node;
    half_rule rule = row_of(node).rule;
    cuda_storage own = s->p->storage[node->in[i]], seen = own;
    const graph_value *v = cuda_in(n, i);
    bool is_data = may_read(node, i);
    bool is_chosen = rule == HALVES_ALIKE || (rule == HALVES_AS_FIRST && i == 0);
    if (is_data && is_chosen && v->dtype == DT_F32)
        seen.type = halves ? s->half : DT_F32;
    if (!is_conv(node->op))
        seen.channels_last = last && is_data && has_orders(&v->shape);
    bool moves = seen.type != own.type || seen.channels_last != own.channels_last;
    n->in[i] = (cuda_edge){.seen = seen, .moves = moves};
}

static void choose_edges(chooser *s, cuda_node *n, bool halves)
{
    const graph_node *node = n->node;
    bool last = works_last(s, n);
    for (int i = 0; i < node->n_in; i++)
        if (node->in[i] != GRAPH_NONE)
            choose_in(s, n, i, halves, last);
    for (int i = 0; i < node->n_out; i++) {
        if (node->out[i] == GRAPH_NONE)
            continue;
        cuda_storage *own = &s->p->storage[node->out[i]];
        bool can = i == 0 && can_be_last(s, node->out[i]);
        own->channels_last = can && (last || makes_images(node->op));
        s->some_last |= own->channels_last;
        n->out[i].seen = *own;
        if (i == 0 && last)
            n->out[i].seen.channels_last = has_orders(&cuda_out(n, i)->shape);
        n->out[i].moves = n->out[i].seen.channels_last != own->channels_last;
    }
}

void storage_choose(backend_program *p)
{
    graph_val n_values = graph_n_values(p->g);
    chooser s = {.p = p, .readers = xcalloc((size_t)n_values + 1, sizeof *s.readers)};
    p->storage = arena_alloc(p->arena, (size_t)n_values * sizeof *p->storage);
    for (graph_val v = 0; v < n_values; v++)
        p->storage[v].type = graph_value_at(p->g, v)->dtype;
    note_readers(&s);
    for (int32_t i = 0; i < graph_n_nodes(p->g); i++) {
        bool halves = choose_type(&s, &p->nodes[i]);
        choose_edges(&s, &p->nodes[i], halves);
    }
    free(s.readers);
}

status storage_measure(backend_program *p, error *err)
{
    p->bytes = arena_alloc(p->arena, (size_t)graph_n_values(p->g) * sizeof *p->bytes);
    for (graph_val v = 0; v < graph_n_values(p->g); v++) {
        const graph_value *value = graph_value_at(p->g, v);
        size_t elements =
            p->is_fused[v] ? 0 : (size_t)cuda_span(&value->shape, p->storage[v].pitch);
        if (!size_mul(elements, dtype_bytes(p->storage[v].type), &p->bytes[v]))
            return FAIL(err, E_NOMEM, "value '%s' is too large", value->name);
    }
    return OK;
}

bool storage_moves(const cuda_node *n)
{
    bool moves = false;
    for (int i = 0; i < n->node->n_in; i++)
        moves |= n->in[i].moves;
    for (int i = 0; i < n->node->n_out; i++)
        moves |= n->out[i].moves;
    return moves;
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
    for (int i = 0; i < n->node->n_in && cuda_node_computes(n); i++)
        place(n, &n->in[i], cuda_in(n, i));
    for (int i = 0; i < n->node->n_out && cuda_node_computes(n); i++)
        place(n, &n->out[i], cuda_out(n, i));
}

/* y, which lies as `to` says, = x, which lies as `from` does. */
static void copy(cuda_stream stream, const graph_shape *shape, cuda_storage to, void *y,
                 cuda_storage from, const void *x)
{
    launch_types t = {.y = cuda_launch_type(to.type), .a = cuda_launch_type(from.type)};
    int64_t n = graph_shape_elements(shape);
    if (to.channels_last == from.channels_last) {
        launch_round(stream, t, y, x, n);
        return;
    }
    int64_t channels = shape->dim[1], positions = n / (shape->dim[0] * channels);
    launch_channels_last(stream, t, y, x, shape->dim[0], to.channels_last ? channels : positions,
                         to.channels_last ? positions : channels);
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
    for (int i = 0; i < n->node->n_out; i++)
        if (n->out[i].moves)
            c->out[i] = (char *)c->scratch + n->out[i].at;
}

void storage_leave(const cuda_node *n, const cuda_call *c, void *const *addresses)
{
    for (int i = 0; i < n->node->n_out; i++) {
        graph_val v = n->node->out[i];
        if (n->out[i].moves)
            copy(c->stream, &cuda_out(n, i)->shape, n->program->storage[v], addresses[v],
                 n->out[i].seen, c->out[i]);
    }
}
