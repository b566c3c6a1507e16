/* Gemm and MatMul, and what they end with. Factors and results are floats or halves, sums floats.
 */
#include "backend/cuda/load/fuse.h"
#include "backend/cuda/plan/matmul.h"
#include "backend/cuda/plan/plan.h"
#include "common/base/alloc.h"
#include "graph/matmul.h"
#include "graph/plan.h"

/* --- what an operator multiplies --- */

static tile_matrix factor(int64_t pitch, bool transposed, int64_t batch)
{
    return (tile_matrix){
        .row = transposed ? 1 : pitch, .column = transposed ? pitch : 1, .batch = batch};
}

/* c: a scalar, a row, a column or all of y. */
static void broadcast_c(tile_end *end, const graph_value *c, float beta)
{
    const graph_shape *s = &c->shape;
    int64_t columns = s->rank >= 1 ? s->dim[s->rank - 1] : 1;
    int64_t rows = s->rank >= 2 ? s->dim[s->rank - 2] : 1;
    end->beta = beta;
    end->c = c;
    end->c_type = c->dtype;
    end->c_column = columns > 1 ? 1 : 0;
    end->c_row = rows > 1 ? columns : 0;
}

static gemm_task gemm_of(const cuda_node *n)
{
    const gemm_attr *attr = n->node->attr;
    const graph_shape *a = &cuda_in(n, 0)->shape;
    const graph_shape *y = &cuda_out(n, 0)->shape;
    gemm_task t = {.batches = 1,
                   .m = y->dim[0],
                   .n = y->dim[1],
                   .k = a->dim[attr->trans_a ? 0 : 1],
                   .a = factor(cuda_in_pitch(n, 0), attr->trans_a, 0),
                   .b = factor(cuda_in_pitch(n, 1), attr->trans_b, 0),
                   .y_row = cuda_out_pitch(n, 0),
                   .end = {.alpha = attr->alpha}};
    if (cuda_in(n, 2))
        broadcast_c(&t.end, cuda_in(n, 2), attr->beta);
    return t;
}

/* Makes one axis of neighbours that lie like one, in a, b and, as always, y. */
static void merge_axes(matmul_shape *s)
{
    int32_t rank = 0;
    for (int32_t j = 0; j < s->rank; j++) {
        if (s->dim[j] == 1)
            continue;
        bool joins = rank > 0 && s->a_step[rank - 1] == s->a_step[j] * s->dim[j] &&
                     s->b_step[rank - 1] == s->b_step[j] * s->dim[j];
        int32_t to = joins ? rank - 1 : rank++;
        s->dim[to] = joins ? s->dim[to] * s->dim[j] : s->dim[j];
        s->a_step[to] = s->a_step[j];
        s->b_step[to] = s->b_step[j];
        s->y_step[to] = s->y_step[j];
    }
    s->rank = rank;
}

/* Takes the longest axis out of the batches: the one that a call does. */
static void take_axis(matmul_shape *s, gemm_task *t)
{
    int32_t last = s->rank - 1, longest = last;
    t->batches = 1;
    if (s->rank == 0)
        return;
    for (int32_t j = last; j >= 0; j--)
        longest = s->dim[j] > s->dim[longest] ? j : longest;
    t->batches = s->dim[longest];
    t->a.batch = s->a_step[longest];
    t->b.batch = s->b_step[longest];
    t->y_batch = s->y_step[longest];
    s->rank--;
    s->dim[longest] = s->dim[last]; /* in any order: each place is a call */
    s->a_step[longest] = s->a_step[last];
    s->b_step[longest] = s->b_step[last];
    s->y_step[longest] = s->y_step[last];
}

static gemm_task matmul_of(const cuda_node *n, matmul_shape *ret_calls)
{
    matmul_shape shape =
        matmul_shape_of(&cuda_in(n, 0)->shape, &cuda_in(n, 1)->shape, n->node->attr);
    gemm_task t = {.m = shape.m,
                   .n = shape.n,
                   .k = shape.k,
                   .a = factor(shape.a_pitch, shape.trans_a, 0),
                   .b = factor(shape.b_pitch, shape.trans_b, 0),
                   .y_row = shape.n,
                   .end = {.alpha = 1.0f}};
    merge_axes(&shape);
    take_axis(&shape, &t);
    *ret_calls = shape;
    return t;
}

/* The axes of the batches that one stride tells are one call; there is a call for every place of
 * *ret_calls' axes, the others. */
static status task_of(const cuda_node *n, gemm_task *ret, matmul_shape *ret_calls, error *err)
{
    *ret_calls = (matmul_shape){0};
    *ret = n->node->op == OP_GEMM ? gemm_of(n) : matmul_of(n, ret_calls);
    ret->y_type = cuda_out_storage(n, 0).type;
    TRY(cuda_matmul_kind(n->program, cuda_in(n, 0)->dtype, &ret->kind, err));
    if (n->node->op == OP_MATMUL && ((const matmul_attr *)n->node->attr)->exact)
        ret->kind = ret->kind == TILE_TF32 ? TILE_F32 : ret->kind;
    return OK;
}

/* --- what it ends with --- */

static tile_function function_of(chain_function f)
{
    switch (f) {
    case CHAIN_UNARY_relu:
        return TILE_RELU;
    case CHAIN_UNARY_relu_bwd:
        return TILE_RELU_BWD;
    case CHAIN_UNARY_gelu:
        return TILE_GELU;
    case CHAIN_UNARY_gelu_bwd:
        return TILE_GELU_BWD;
    case CHAIN_UNARY_gelu_by_tanh:
        return TILE_GELU_BY_TANH;
    case CHAIN_UNARY_gelu_by_tanh_bwd:
        return TILE_GELU_BY_TANH_BWD;
    default:
        return TILE_AS_IT_IS;
    }
}

/* Puts a step at the task's end; false: it is none that could stand there. `is_seen`: what it reads
 * is stored too, for others. */
static bool end_with(const backend_program *p, const fused_step *step, bool is_seen, gemm_task *t)
{
    const graph_node *n = graph_node_at(p->g, step->node);
    chain_step s;
    if (t->end.function != TILE_AS_IT_IS || !cuda_chain_step(p, step->node, step->slot, &s))
        return false;
    dtype held_type = p->storage[n->in[step->slot]].type;
    t->y_type = p->storage[n->out[0]].type;
    if (s.function == CHAIN_BINARY_add) {
        const graph_value *c = graph_value_at(p->g, n->in[1 - step->slot]);
        bool is_row = s.u.inner == 1 && s.u.count == t->n && c->shape.rank > 0;
        if (t->end.c || is_seen || !is_row)
            return false;
        t->end.beta = 1.0f;
        t->end.c = c;
        t->end.c_type = p->storage[n->in[1 - step->slot]].type;
        t->end.c_column = 1;
        return true;
    }
    t->end.function = function_of(s.function);
    bool is_gradient = tile_is_gradient(t->end.function);
    if (t->end.function == TILE_AS_IT_IS || (is_gradient && is_seen))
        return false;
    if (is_gradient || is_seen)
        t->end.side = t; /* it is there */
    t->end.side_type = is_gradient ? p->storage[n->in[1 - step->slot]].type : held_type;
    return true;
}

static bool end_with_all(const backend_program *p, const fused_steps *steps, bool is_seen,
                         gemm_task *t)
{
    for (int32_t k = 0; k < steps->n; k++)
        if (!end_with(p, &steps->at[k], is_seen && k == steps->n - 1, t))
            return false;
    return true;
}

bool cuda_matmul_takes(backend_program *p, int32_t node, const fused_steps *steps, bool is_seen)
{
    error unread = ERROR_INIT;
    matmul_shape calls;
    gemm_task alone, t;
    status st = task_of(&p->nodes[node], &alone, &calls, &unread);
    error_clear(&unread);
    t = alone;
    return st == OK && calls.rank == 0 && end_with_all(p, steps, is_seen, &t) &&
           cuda_matmul_can_end(p, &alone, &t, PLAN_ALIGN);
}

/* --- plans and runs --- */

/* Operands by their places in the call's in and out; -1: none. */
typedef struct matmul_state {
    cuda_matmul matmul;
    int y, c, side;
    int64_t calls;
    const size_t *a_begin, *b_begin, *y_begin; /* of each, in bytes */
} matmul_state;

static status run_matmul(const cuda_node *n, const cuda_call *c, error *err)
{
    const matmul_state *s = n->state;
    bool reads_side = tile_is_gradient(s->matmul.task.end.function);
    for (int64_t i = 0; i < s->calls; i++) {
        matmul_operands o = {.a = (const char *)c->in[0] + s->a_begin[i],
                                  .b = (const char *)c->in[1] + s->b_begin[i],
                                  .c = s->c < 0 ? NULL : c->in[s->c],
                                  .y = (char *)c->out[s->y] + s->y_begin[i]};
        if (s->side >= 0)
            o.side = reads_side ? (void *)(uintptr_t)c->in[s->side] : c->out[s->side];
        TRY(cuda_matmul_run(&s->matmul, c->stream, &o, c->scratch, err));
    }
    return OK;
}

/* Of a group with a matmul as its spine. */
static void plan_end(const cuda_node *n, const fused_steps *steps, matmul_state *s, gemm_task *t)
{
    const backend_program *p = n->program;
    const struct chain_places *at = n->behind->at;
    int32_t last = steps->n - 1;
    const fused_step *step = &steps->at[last];
    bool is_seen = !p->is_fused[graph_node_at(p->g, step->node)->in[step->slot]];
    BUG_ON(!end_with_all(p, steps, is_seen, t));
    s->y = at[last].y;
    if (tile_is_gradient(t->end.function))
        s->side = at[last].u;
    else if (t->end.side)
        s->side = last == 0 ? 0 : at[last - 1].y;
    if (!cuda_in(n, 2) && t->end.c)
        s->c = at[0].u;
}

static const size_t *begins_of(arena *mem, const matmul_shape *s, const int64_t *step,
                               int64_t calls, size_t element, size_t *align)
{
    size_t *ret = arena_alloc(mem, (size_t)calls * sizeof *ret);
    for (int64_t i = 0; i < calls; i++) {
        ret[i] = (size_t)matmul_begin(s, step, i) * element;
        while (ret[i] % *align)
            *align /= 2;
    }
    return ret;
}

status cuda_plan_matmul(cuda_node *n)
{
    gemm_task t;
    matmul_shape calls;
    size_t align = PLAN_ALIGN;
    matmul_state *s = cuda_node_alloc(n, sizeof *s);
    *s = (matmul_state){.c = cuda_in(n, 2) ? 2 : -1, .side = -1, .calls = 1};
    TRY(task_of(n, &t, &calls, n->err));
    for (int32_t j = 0; j < calls.rank; j++)
        s->calls *= calls.dim[j];
    size_t element = dtype_bytes(cuda_in(n, 0)->dtype);
    s->a_begin = begins_of(n->program->arena, &calls, calls.a_step, s->calls, element, &align);
    s->b_begin = begins_of(n->program->arena, &calls, calls.b_step, s->calls, element, &align);
    s->y_begin = begins_of(n->program->arena, &calls, calls.y_step, s->calls, dtype_bytes(t.y_type),
                           &align);
    const cuda_group *group = n->program->group[n - n->program->nodes];
    if (group)
        plan_end(n, &group->behind, s, &t);
    TRY(cuda_matmul_plan(n->program, &t, align, &s->matmul, n->err));
    cuda_node_by(n, "cuBLASLt", s->matmul.why);
    n->body = run_matmul;
    n->state = s;
    n->scratch_bytes = s->matmul.scratch_bytes;
    return OK;
}
