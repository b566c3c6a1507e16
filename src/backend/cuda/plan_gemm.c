/* Gemm and MatMul. Factors are float32 or halves, sums and results float32. */
#include "backend/cuda/product.h"
#include "common/base/alloc.h"
#include "graph/matmul.h"
#include "graph/plan.h"

static tile_matrix factor(int64_t pitch, bool turned, int64_t batch)
{
    return (tile_matrix){.row = turned ? 1 : pitch, .column = turned ? pitch : 1, .batch = batch};
}

static status run_gemm(const cuda_node *n, const cuda_call *c, error *err)
{
    product_operands o = {
        .a = c->in[0], .b = c->in[1], .c = n->node->n_in > 2 ? c->in[2] : NULL, .y = c->out[0]};
    return product_run(n->state, c->stream, &o, c->scratch, err);
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

static float or_one(float x)
{
    return x != 0.0f ? x : 1.0f;
}

status cuda_plan_gemm(backend_program *p, cuda_node *n, error *err)
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
                   .y_type = cuda_out_storage(n, 0).type,
                   .y_row = cuda_out_pitch(n, 0),
                   .end = {.alpha = or_one(attr->alpha)}};
    if (cuda_in(n, 2))
        broadcast_c(&t.end, cuda_in(n, 2), or_one(attr->beta));
    product *s = arena_alloc(p->arena, sizeof *s);
    TRY(product_kind(p, cuda_in(n, 0)->dtype, &t.kind, err));
    TRY(product_plan(p, &t, PLAN_ALIGN, s, err));
    cuda_node_by(n, "cuBLASLt", s->why);
    n->body = run_gemm;
    n->state = s;
    n->scratch_bytes = s->scratch_bytes;
    return OK;
}

/* The axes of the batches that one stride tells are one call; there is a call for every place of
 * the others. */
typedef struct matmul_state {
    product product;
    int64_t calls;
    const size_t *a, *b, *y; /* where each begins, in bytes */
} matmul_state;

static status run_matmul(const cuda_node *n, const cuda_call *c, error *err)
{
    const matmul_state *s = n->state;
    for (int64_t i = 0; i < s->calls; i++) {
        product_operands o = {.a = (const char *)c->in[0] + s->a[i],
                              .b = (const char *)c->in[1] + s->b[i],
                              .y = (char *)c->out[0] + s->y[i]};
        TRY(product_run(&s->product, c->stream, &o, c->scratch, err));
    }
    return OK;
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

status cuda_plan_matmul(backend_program *p, cuda_node *n, error *err)
{
    const graph_value *a = cuda_in(n, 0), *b = cuda_in(n, 1);
    matmul_shape shape = matmul_shape_of(&a->shape, &b->shape, n->node->attr);
    gemm_task t = {.m = shape.m,
                   .n = shape.n,
                   .k = shape.k,
                   .a = factor(shape.a_pitch, shape.trans_a, 0),
                   .b = factor(shape.b_pitch, shape.trans_b, 0),
                   .y_type = cuda_out_storage(n, 0).type,
                   .y_row = shape.n,
                   .end = {.alpha = 1.0f}};
    matmul_state *s = arena_alloc(p->arena, sizeof *s);
    TRY(product_kind(p, a->dtype, &t.kind, err));
    size_t align = PLAN_ALIGN;
    merge_axes(&shape);
    take_axis(&shape, &t);
    s->calls = 1;
    for (int32_t j = 0; j < shape.rank; j++)
        s->calls *= shape.dim[j];
    s->a = begins_of(p->arena, &shape, shape.a_step, s->calls, dtype_bytes(a->dtype), &align);
    s->b = begins_of(p->arena, &shape, shape.b_step, s->calls, dtype_bytes(b->dtype), &align);
    s->y = begins_of(p->arena, &shape, shape.y_step, s->calls, dtype_bytes(t.y_type), &align);
    TRY(product_plan(p, &t, align, &s->product, err));
    cuda_node_by(n, "cuBLASLt", s->product.why);
    n->body = run_matmul;
    n->state = s;
    n->scratch_bytes = s->product.scratch_bytes;
    return OK;
}
