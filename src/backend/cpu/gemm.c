/*
 * Matrix products of plain operands on oneDNN's sgemm, or on its primitive where that is the faster
 * one for these shapes. Gemm's bias and a Relu behind it share one pass over the result while it is warm.
 */
#include "backend/cpu/lanes.h"
#include "backend/cpu/program.h"
#include "backend/cpu/team.h"
#include "common/base/alloc.h"
#include "graph/matmul.h"

#include <stdatomic.h>

/* y [m,n] = alpha a b */
typedef struct matmul {
    int64_t m, n, k;
    float alpha;
    shim_matrix a, b;          /* data set at each run */
    shim_primitive *primitive; /* NULL: sgemm */
} matmul;

/* Chooses the primitive where it gains; call it once the shapes are set. */
static status matmul_plan(matmul *x, backend_program *p, cpu_node *n, error *err)
{
    if (x->alpha != 1.0f || !shim_gains_by_matmul(x->m, x->n, x->k, x->a))
        return OK;
    TRY(shim_matmul(p->shim, x->m, x->n, x->k, x->a, x->b, &x->primitive, err));
    n->scratch_bytes = shim_bytes_of(x->primitive, SHIM_SCRATCH);
    return OK;
}

static status matmul_run(const matmul *x, const void *a, const void *b, float *y, void *scratch,
                         error *err)
{
    if (!x->primitive) {
        shim_matrix left = x->a, right = x->b;
        left.data = a;
        right.data = b;
        return shim_gemm(x->m, x->n, x->k, x->alpha, left, right, 0.0f, y, x->n, err);
    }
    TRY(shim_set(x->primitive, SHIM_SRC, a, err));
    TRY(shim_set(x->primitive, SHIM_WEIGHTS, b, err));
    TRY(shim_set(x->primitive, SHIM_DST, y, err));
    return node_execute(x->primitive, scratch, err);
}

typedef struct gemm_state {
    matmul x;
    float beta;
    bool relu, has_c;
    int64_t c_row, c_column; /* elements from row to row and column to column; 0: broadcast */
} gemm_state;

typedef struct finish_task { /* y = beta * c + y, then max(y, 0) */
    const gemm_state *s;
    const float *c;
    float *y;
} finish_task;

SIMD_CLONES
static void finish_row(float *y, const float *c, int64_t n, float beta, bool relu)
{
    if (!relu) {
        SIMD_LOOP
        for (int64_t j = 0; j < n; j++)
            y[j] += beta * c[j];
        return;
    }
    SIMD_LOOP
    for (int64_t j = 0; j < n; j++) {
        float v = y[j] + beta * c[j];
        y[j] = v < 0.0f ? 0.0f : v;
    }
}

SIMD_CLONES
static void finish_row_scalar(float *y, float c, int64_t n, bool relu)
{
    if (!relu) {
        SIMD_LOOP
        for (int64_t j = 0; j < n; j++)
            y[j] += c;
        return;
    }
    SIMD_LOOP
    for (int64_t j = 0; j < n; j++) {
        float v = y[j] + c;
        y[j] = v < 0.0f ? 0.0f : v;
    }
}

static void finish_rows(int64_t begin, int64_t end, void *arg)
{
    const finish_task *t = arg;
    const gemm_state *s = t->s;
    for (int64_t i = begin; i < end; i++) {
        float *y = t->y + i * s->x.n;
        const float *c = t->c ? t->c + i * s->c_row : NULL;
        if (c && s->c_column)
            finish_row(y, c, s->x.n, s->beta, s->relu);
        else
            finish_row_scalar(y, c ? s->beta * c[0] : 0.0f, s->x.n, s->relu);
    }
}

static status run_gemm(const cpu_node *n, const cpu_call *call, error *err)
{
    const gemm_state *s = n->state;
    TRY(matmul_run(&s->x, call->in[0], call->in[1], call->out[0], call->scratch, err));
    if (!s->has_c && !s->relu)
        return OK;
    finish_task t = {.s = s, .c = s->has_c ? call->in[2] : NULL, .y = call->out[0]};
    int64_t rows = s->x.n < 16384 ? 16384 / s->x.n + 1 : 1;
    team_for(s->x.m, rows, finish_rows, &t);
    return OK;
}

static void broadcast_c(gemm_state *s, const graph_shape *c)
{
    int64_t columns = c->rank >= 1 ? c->dim[c->rank - 1] : 1;
    int64_t rows = c->rank >= 2 ? c->dim[c->rank - 2] : 1;
    s->has_c = true;
    s->c_column = columns > 1 ? 1 : 0;
    s->c_row = rows > 1 ? columns : 0;
}

static status plan_gemm(cpu_node *n, error *err)
{
    const gemm_attr *attr = n->node->attr;
    const graph_shape *a = &node_in(n, 0)->shape, *y = &node_out(n, 0)->shape;
    gemm_state *s = node_alloc(n, sizeof *s);
    bool bf16 = node_factor_form(n, 0) == FACTOR_BF16;
    s->x.m = y->dim[0];
    s->x.n = y->dim[1];
    s->x.k = a->dim[attr->trans_a ? 0 : 1];
    s->x.alpha = attr->alpha;
    s->beta = attr->beta;
    s->relu = n->program->does_relu[n->index];
    s->x.a = (shim_matrix){.stride = a->dim[1], .transposed = attr->trans_a, .bf16 = bf16};
    s->x.b = (shim_matrix){
        .stride = node_in(n, 1)->shape.dim[1], .transposed = attr->trans_b, .bf16 = bf16};
    TRY(matmul_plan(&s->x, n->program, n, err));
    if (node_in(n, 2))
        broadcast_c(s, &node_in(n, 2)->shape);
    n->body = run_gemm;
    n->state = s;
    return OK;
}

typedef struct matmul_state {
    matmul x; /* a batch's */
    int64_t batches;
    const int64_t *a_offset, *b_offset; /* by batch, in elements */
    size_t element;                     /* bytes of a factor's */
} matmul_state;

static status multiply_batch(const matmul_state *s, const cpu_call *c, int64_t i, error *err)
{
    return matmul_run(&s->x, (const char *)c->in[0] + (size_t)s->a_offset[i] * s->element,
                      (const char *)c->in[1] + (size_t)s->b_offset[i] * s->element,
                      (float *)c->out[0] + i * s->x.m * s->x.n, c->scratch, err);
}

typedef struct matmul_task {
    const matmul_state *s;
    const cpu_call *c;
    atomic_bool failed;
} matmul_task;

static void multiply_item(int64_t item, int member, void *arg)
{
    (void)member;
    matmul_task *t = arg;
    error err = ERROR_INIT;
    if (multiply_batch(t->s, t->c, item, &err) != OK)
        atomic_store(&t->failed, true);
}

/* Enough matrices for all are dealt to the team, of fewer each is shared by it. */
static status run_matmul(const cpu_node *n, const cpu_call *c, error *err)
{
    const matmul_state *s = n->state;
    if (s->batches < team_size()) {
        for (int64_t i = 0; i < s->batches; i++)
            TRY(multiply_batch(s, c, i, err));
        return OK;
    }
    matmul_task t = {.s = s, .c = c};
    team_each(s->batches, multiply_item, &t);
    if (t.failed)
        return FAIL(err, E_DEVICE, "oneDNN: a matrix product failed");
    return OK;
}

/* Where the operand's matrix of each batch begins. */
static const int64_t *begins_of(arena *mem, const matmul_shape *s, const int64_t *step)
{
    int64_t *ret = arena_alloc(mem, (size_t)s->batches * sizeof *ret);
    for (int64_t b = 0; b < s->batches; b++)
        ret[b] = matmul_begin(s, step, b);
    return ret;
}

static status plan_matmul(cpu_node *n, error *err)
{
    matmul_shape shape =
        matmul_shape_of(&node_in(n, 0)->shape, &node_in(n, 1)->shape, n->node->attr);
    matmul_state *s = node_alloc(n, sizeof *s);
    bool bf16 = node_factor_form(n, 0) == FACTOR_BF16;
    s->element = node_element_bytes(n, 0);
    s->batches = shape.batches;
    s->x = (matmul){
        .m = shape.m,
        .n = shape.n,
        .k = shape.k,
        .alpha = 1.0f,
        .a = {.stride = shape.a_pitch, .transposed = shape.trans_a, .bf16 = bf16},
        .b = {.stride = shape.b_pitch, .transposed = shape.trans_b, .bf16 = bf16},
    };
    if (shape.batches == 1) /* several are each one thread's, and a primitive is the team's */
        TRY(matmul_plan(&s->x, n->program, n, err));
    s->a_offset = begins_of(n->program->arena, &shape, shape.a_step);
    s->b_offset = begins_of(n->program->arena, &shape, shape.b_step);
    n->body = run_matmul;
    n->state = s;
    return OK;
}

status cpu_plan_matmul(cpu_node *n)
{
    return n->node->op == OP_GEMM ? plan_gemm(n, n->err) : plan_matmul(n, n->err);
}
