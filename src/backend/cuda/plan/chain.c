/* Chains of element-wise operators, alone and around other kernels (fuse.h). */
#include "backend/cuda/load/fuse.h"
#include "backend/cuda/load/storage.h"
#include "backend/cuda/plan/plan.h"
#include "common/base/alloc.h"

/* What is alike in how operators become steps. */
typedef enum step_kind {
    NO_STEP,
    UNARY_OF,
    BINARY_OF,
    CHOICE_OF,
    WHERE_OF,
    DROP,
    DROP_BWD,
    ROUND
} step_kind;

static const step_kind kind_of[OP_COUNT] = {
    [OP_NEG] = UNARY_OF,
#define SMOOTH(ID, ...) [OP_##ID] = UNARY_OF, [OP_##ID##_BWD] = UNARY_OF,
#define STEP(ID, ...)   [OP_##ID] = UNARY_OF,
#include "graph/unary.def"
    [OP_ADD] = BINARY_OF,
    [OP_SUB] = BINARY_OF,
    [OP_MUL] = BINARY_OF,
    [OP_DIV] = BINARY_OF,
    [OP_MIN] = BINARY_OF,
    [OP_MAX] = BINARY_OF,
    [OP_POW] = BINARY_OF,
    [OP_PRELU] = BINARY_OF,
    [OP_SIGMOID_CROSS_ENTROPY] = BINARY_OF,
    [OP_MIN_BWD] = CHOICE_OF,
    [OP_MAX_BWD] = CHOICE_OF,
    [OP_PRELU_BWD] = CHOICE_OF,
    [OP_SIGMOID_CROSS_ENTROPY_BWD] = CHOICE_OF,
    [OP_WHERE] = WHERE_OF,
    [OP_DROPOUT] = DROP,
    [OP_DROPOUT_BWD] = DROP_BWD,
    [OP_TO_HALF] = ROUND,
};

/* Rows that are no steps are CHAIN_nothing. */
static const chain_function of_unary[] = {
#define UNARY(name, is_light) [UNARY_##name] = CHAIN_UNARY_##name,
#include "backend/cuda/kernels/chain.def"
};
static const chain_function of_binary[] = {
#define BINARY(name, is_light) [BINARY_##name] = CHAIN_BINARY_##name,
#include "backend/cuda/kernels/chain.def"
};
static const chain_function of_choice[] = {
#define CHOICE(name, is_light) [CHOICE_##name] = CHAIN_CHOICE_##name,
#include "backend/cuda/kernels/chain.def"
};
static const bool is_light[] = {
    [CHAIN_nothing] = true,
    [CHAIN_drop] = true,
    [CHAIN_drop_bwd] = true,
#define UNARY(name, light)  [CHAIN_UNARY_##name] = light,
#define BINARY(name, light) [CHAIN_BINARY_##name] = light,
#define CHOICE(name, light) [CHAIN_CHOICE_##name] = light,
#include "backend/cuda/kernels/chain.def"
};

static const graph_value *value_of(const backend_program *p, graph_val v)
{
    return v == GRAPH_NONE ? NULL : graph_value_at(p->g, v);
}

/* --- what a node is as a step --- */

/* Of element e of y the number e / inner % count of x; false: that does not tell where it is. */
static bool place_operand(const graph_shape *y, bool is_image, const graph_value *x,
                          chain_operand *ret)
{
    graph_shape lies[] = {cuda_channels_last(y, y->rank), cuda_channels_last(&x->shape, y->rank)};
    const graph_shape *of[] = {is_image ? &lies[1] : &x->shape};
    axes a = axes_of_broadcast(is_image ? &lies[0] : y, of, 1);
    int last = a.rank - 1, first = a.rank > 1 && a.stride[0][0] == 0;
    bool stays = a.stride[last][0] == 0;
    *ret = (chain_operand){.type = x->dtype, .inner = stays ? a.dim[last] : 1, .count = 1};
    for (int i = first; i < a.rank - stays; i++)
        ret->count *= a.dim[i];
    return a.rank - stays - first <= 1;
}

static bool is_float(dtype t)
{
    return t == DT_F32 || dtype_is_half(t);
}

static bool is_byte(dtype t)
{
    return t == DT_U8 || t == DT_BOOL;
}

/* The types of what a step reads beside. */
static bool can_read(step_kind kind, int operand, dtype t)
{
    bool of_byte = kind == DROP_BWD || (kind == WHERE_OF && operand == 0);
    return of_byte ? is_byte(t) : is_float(t);
}

static bool place_operands(const backend_program *p, const graph_node *n, int32_t slot,
                           chain_step *s)
{
    chain_operand *next[] = {&s->u, &s->v};
    step_kind kind = kind_of[n->op];
    int k = 0;
    for (int32_t i = 0; i < n->n_in && kind != DROP; i++) {
        const graph_value *x = value_of(p, n->in[i]);
        if (i == slot)
            continue;
        if (!x || !can_read(kind, i - (kind == DROP_BWD), x->dtype) ||
            !place_operand(&value_of(p, n->out[0])->shape, p->storage[n->out[0]].channels_last, x,
                           next[k++]))
            return false;
    }
    return true;
}

static void choose_function(const backend_program *p, const graph_node *n, chain_step *s)
{
    const dropout_attr *a = n->attr;
    switch (kind_of[n->op]) {
    case UNARY_OF:
        s->function = of_unary[cuda_unary_of(n, &s->p, &s->q)];
        break;
    case BINARY_OF:
        s->function = of_binary[cuda_binary_of(p->g, n)];
        break;
    case CHOICE_OF:
        s->function = of_choice[cuda_choice_of(n->op)];
        break;
    case WHERE_OF:
        s->function = CHAIN_where;
        break;
    case DROP:
    case DROP_BWD:
        s->function = kind_of[n->op] == DROP ? CHAIN_drop : CHAIN_drop_bwd;
        s->drop = cuda_dropout(a->ratio, a->seed, a->stream);
        break;
    default:
        break;
    }
}

bool cuda_chain_step(const backend_program *p, int32_t node, int32_t slot, chain_step *ret)
{
    const graph_node *n = graph_node_at(p->g, node);
    const graph_value *held = value_of(p, n->in[slot]), *y = value_of(p, n->out[0]);
    step_kind kind = kind_of[n->op];
    bool is_first = kind == UNARY_OF || kind == DROP || kind == DROP_BWD || kind == ROUND;
    if (kind == NO_STEP || !held || !y || (is_first && slot != 0))
        return false;
    int64_t elements = graph_shape_elements(&y->shape);
    if (held->dtype != DT_F32 || (y->dtype != DT_F32 && kind != ROUND) || elements == 0 ||
        elements >= CHAIN_ELEMENTS || graph_shape_elements(&held->shape) != elements)
        return false;
    if (kind == DROP && value_of(p, n->in[1])->dtype != DT_I64)
        return false;
    if (kind == ROUND && p->storage[n->in[0]].type == y->dtype) /* a view */
        return false;
    *ret = (chain_step){.slot = slot, .y_type = y->dtype};
    choose_function(p, n, ret);
    return (ret->function != CHAIN_nothing || kind == ROUND) && place_operands(p, n, slot, ret);
}

bool cuda_chain_takes(const backend_program *p, int32_t node, int32_t slot, bool light)
{
    chain_step s;
    return !storage_moves(&p->nodes[node]) && cuda_chain_step(p, node, slot, &s) &&
           (!light || is_light[s.function]);
}

/* --- a chain --- */

/* Its place in the call, and how it lies there. */
static int add_read(cuda_node *n, graph_val v, dtype *ret_type)
{
    n->reads[n->n_reads] = v;
    *ret_type = n->program->storage[v].type;
    return n->n_reads++;
}

/* A value that is fused away goes nowhere. */
static int add_write(cuda_node *n, graph_val v, dtype *ret_type)
{
    if (v != GRAPH_NONE)
        *ret_type = n->program->storage[v].type;
    if (v == GRAPH_NONE || n->program->is_fused[v])
        return -1;
    n->writes[n->n_writes] = v;
    return n->n_writes++;
}

static void plan_drop(cuda_node *n, const graph_node *node, struct chain_places *at)
{
    dtype fixed;
    at->batch = add_read(n, node->in[1], &fixed);
    at->mask = add_write(n, node->out[1], &fixed);
}

static void plan_step(cuda_node *n, const fused_step *step, chain_step *ret,
                      struct chain_places *at)
{
    const graph_node *node = graph_node_at(n->program->g, step->node);
    chain_operand *operand[] = {&ret->u, &ret->v};
    int *place[] = {&at->u, &at->v}, k = 0;
    BUG_ON(!cuda_chain_step(n->program, step->node, step->slot, ret));
    *at = (struct chain_places){-1, -1, -1, -1, -1};
    if (node->op == OP_DROPOUT)
        plan_drop(n, node, at);
    for (int32_t i = 0; i < node->n_in && node->op != OP_DROPOUT; i++)
        if (i != step->slot) {
            *place[k] = add_read(n, node->in[i], &operand[k]->type);
            k++;
        }
    at->y = add_write(n, node->out[0], &ret->y_type);
}

const cuda_chain *cuda_chain_plan(backend_program *p, cuda_node *n, const fused_steps *steps,
                                  bool has_source)
{
    if (steps->n == 0)
        return NULL;
    cuda_chain *chain = arena_alloc(p->arena, sizeof *chain);
    const fused_step *first = &steps->at[0];
    graph_val source = graph_node_at(p->g, first->node)->in[first->slot];
    launch_chain_call *c = &chain->call;
    c->elements = graph_shape_elements(&graph_value_at(p->g, source)->shape);
    c->source = (chain_operand){.inner = 1, .count = c->elements};
    c->n = steps->n;
    chain->source = !has_source ? -1 : add_read(n, source, &c->source.type);
    for (int32_t k = 0; k < steps->n; k++)
        plan_step(n, &steps->at[k], &c->step[k], &chain->at[k]);
    return chain;
}

static const void *read_at(const cuda_call *c, int place)
{
    return place < 0 ? NULL : c->in[place];
}

static void *write_at(const cuda_call *c, int place)
{
    return place < 0 ? NULL : c->out[place];
}

const launch_chain_call *cuda_chain_at(const cuda_chain *chain, const cuda_call *c,
                                       launch_chain_call *call)
{
    if (!chain)
        return NULL;
    *call = chain->call;
    call->source.x = read_at(c, chain->source);
    for (int k = 0; k < call->n; k++) {
        chain_step *s = &call->step[k];
        s->u.x = read_at(c, chain->at[k].u);
        s->v.x = read_at(c, chain->at[k].v);
        s->drop.batch = read_at(c, chain->at[k].batch);
        s->y = write_at(c, chain->at[k].y);
        s->mask = write_at(c, chain->at[k].mask);
    }
    return call;
}

static void run_chain(const cuda_node *n, const cuda_call *c)
{
    launch_chain_call call;
    launch_chain(c->stream, cuda_chain_at(n->before, c, &call));
}

status cuda_plan_chain(cuda_node *n)
{
    n->launch = run_chain;
    return OK;
}
