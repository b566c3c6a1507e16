/*
 * Attention and RotaryEmbedding. Scores are multiplied by tensor cores where queries, keys and
 * values are of half precision, or may be rounded to TF32, and the GPU has them for that; float32
 * is multiplied as such otherwise. Attention of halves with neither mask nor dropout nor keys
 * of the past is cuDNN's where that takes it, else ours.
 */
#include "backend/cuda/kernels/attention.h"
#include "backend/cuda/kernels/cast.h"
#include "backend/cuda/library/dnn_attention.h"
#include "backend/cuda/plan/matmul.h"
#include "backend/cuda/plan/plan.h"
#include "common/base/alloc.h"
#include "graph/attention.h"

#include <inttypes.h>

enum { MOST_HEAD = 65536, GRADIENTS = 3, SCRATCH_ALIGN = 256 };

/* cuDNN reads and writes halves: of a value that is stored otherwise a copy in the scratch. */
typedef struct half_copy {
    int64_t elements; /* 0: there is none */
    size_t at;
} half_copy;

typedef struct attention_state {
    attention_form form;
    launch_attention launch; /* without addresses */
    launch_dropout drop;     /* likewise */
    dnn_graph *dnn;          /* NULL: our kernels */
    half_copy y, dy, gradients[GRADIENTS];
    size_t dnn_scratch; /* where cuDNN's begins */
} attention_state;

static launch_layout layout_of(const attention_layout *l)
{
    return (launch_layout){l->batch, l->head, l->position};
}

static void broadcast_mask(launch_attention *t, const graph_value *mask)
{
    const graph_shape *m = &mask->shape;
    int64_t stride = 1;
    t->mask_chooses = mask->dtype == DT_BOOL;
    for (int i = m->rank - 1; i >= 0; i--) {
        t->mask_stride[4 - m->rank + i] = m->dim[i] > 1 ? stride : 0;
        stride *= m->dim[i];
    }
}

static status type_of(dtype t, launch_type *ret, error *err)
{
    if (t != DT_F32 && !dtype_is_half(t))
        return FAIL(err, E_UNSUPPORTED, "operands of %s, known are float32, bfloat16 and float16",
                    dtype_name(t));
    *ret = cuda_launch_type(t);
    return OK;
}

static status check_size(const attention_form *f, error *err)
{
    int64_t queries = f->batch * f->q_heads * f->q_length;
    int64_t keys = f->batch * f->kv_heads * f->k_length;
    if (queries > INT32_MAX || keys > INT32_MAX || f->head > MOST_HEAD || f->v_head > MOST_HEAD)
        return FAIL(err, E_UNSUPPORTED,
                    "%" PRId64 " queries and %" PRId64 " keys of %" PRId64 " and %" PRId64
                    " numbers; at most 2^31 of %d can be",
                    queries, keys, f->head, f->v_head, MOST_HEAD);
    return OK;
}

static void set_layouts(attention_state *s)
{
    const attention_form *f = &s->form;
    launch_attention *t = &s->launch;
    t->batch = f->batch;
    t->q_heads = f->q_heads;
    t->kv_heads = f->kv_heads;
    t->q_length = f->q_length;
    t->k_length = f->k_length;
    t->head = f->head;
    t->v_head = f->v_head;
    t->q_layout = layout_of(&f->q);
    t->k_layout = layout_of(&f->k);
    t->v_layout = layout_of(&f->v);
    t->y_layout = layout_of(&f->y);
}

/* Operands stand among the inputs from `first` on: q, k, v, mask, batch id. */
static status plan(cuda_node *n, int first, attention_state **ret, error *err)
{
    char why[ATTENTION_WHY];
    const attention_attr *a = n->node->attr;
    const graph_value *q = cuda_in(n, first), *k = cuda_in(n, first + 1);
    const graph_value *v = cuda_in(n, first + 2), *mask = cuda_in(n, first + 3);
    attention_state *s = cuda_node_alloc(n, sizeof *s);
    launch_attention *t = &s->launch;
    tile_kind kind;
    BUG_ON(!attention_form_of(a, &q->shape, k ? &k->shape : NULL, v ? &v->shape : NULL, &s->form,
                              why));
    TRY(type_of(q->dtype, &t->operands, err));
    TRY(cuda_matmul_kind(n->program, q->dtype, &kind, err));
    TRY(check_size(&s->form, err));
    set_layouts(s);
    t->scale = a->scale;
    t->causal = a->causal;
    t->past = a->past;
    t->results = cuda_launch_type(first ? cuda_in_storage(n, 0).type : cuda_out_storage(n, 0).type);
    t->matmuls = kind == TILE_F32 ? MATMULS_FFMA : MATMULS_MMA;
    t->shared_limit = n->program->backend->shared_limit;
    s->drop = cuda_dropout(a->ratio, a->seed, a->stream);
    if (mask)
        broadcast_mask(t, mask);
    n->state = *ret = s;
    return OK;
}

static size_t bytes_of(launch_type t)
{
    return t == LAUNCH_F32 ? sizeof(float) : sizeof(uint16_t);
}

static const void *first_of(const attention_state *s, const void *x, const attention_layout *l)
{
    return (const char *)x + (size_t)l->offset * bytes_of(s->launch.operands);
}

/* Packed keys and values are in the queries' value. */
static launch_attention launch_of(const cuda_node *n, const cuda_call *c, int first)
{
    const attention_state *s = n->state;
    launch_attention t = s->launch;
    const void *q = c->in[first], *k = c->in[first + 1], *v = c->in[first + 2];
    t.q = first_of(s, q, &s->form.q);
    t.k = first_of(s, k ? k : q, &s->form.k);
    t.v = first_of(s, v ? v : q, &s->form.v);
    t.mask = c->in[first + 3];
    t.drop = s->drop;
    if (t.drop.threshold > 0)
        t.drop.batch = c->in[first + 4];
    return t;
}

static void run_attention(const cuda_node *n, const cuda_call *c)
{
    launch_attention t = launch_of(n, c, 0);
    t.y = c->out[0];
    t.lse = c->out[1];
    launch_attention_forward(c->stream, &t);
}

static void *gradient_at(void *x, const attention_layout *l, size_t bytes)
{
    return x ? (char *)x + (size_t)l->offset * bytes : NULL;
}

/* gradients[i] is where the gradient of operand i begins, of elements of so many bytes. */
static launch_attention_bwd bwd_of(const cuda_node *n, const cuda_call *c, void *const gradients[],
                                   size_t bytes)
{
    const attention_state *s = n->state;
    bool packed = !c->in[4];
    launch_attention_bwd b = {
        .of = launch_of(n, c, 3),
        .dy = c->in[0],
        .delta = c->scratch,
        .dq = gradient_at(gradients[0], &s->form.q, bytes),
        .dk = gradient_at(gradients[packed ? 0 : 1], &s->form.k, bytes),
        .dv = gradient_at(gradients[packed ? 0 : 2], &s->form.v, bytes),
        .dmask = c->out[3],
    };
    b.of.y = (void *)(uintptr_t)c->in[1];
    b.of.lse = (float *)(uintptr_t)c->in[2];
    return b;
}

static void run_attention_bwd(const cuda_node *n, const cuda_call *c)
{
    const attention_state *s = n->state;
    launch_attention_bwd b = bwd_of(n, c, c->out, bytes_of(s->launch.results));
    launch_attention_backward(c->stream, &b);
}

/* --- by cuDNN --- */

/* The value itself where there is no copy. */
static void *half_at(const cuda_call *c, const half_copy *h, void *value)
{
    return h->elements ? (char *)c->scratch + h->at : value;
}

static void *rounded(const attention_state *s, const cuda_call *c, const half_copy *h,
                     const void *value)
{
    void *half = half_at(c, h, (void *)(uintptr_t)value);
    if (h->elements)
        launch_round(c->stream, (launch_types){.y = s->launch.operands}, half, value, h->elements);
    return half;
}

static void widen(const attention_state *s, const cuda_call *c, const half_copy *h, void *value)
{
    if (h->elements && value)
        launch_round(c->stream, (launch_types){.a = s->launch.operands}, value, half_at(c, h, NULL),
                     h->elements);
}

static status run_by_dnn(const cuda_node *n, const cuda_call *c, error *err)
{
    const attention_state *s = n->state;
    launch_attention t = launch_of(n, c, 0);
    t.y = half_at(c, &s->y, c->out[0]);
    t.lse = c->out[1];
    TRY(dnn_attention_run(s->dnn, &t, (char *)c->scratch + s->dnn_scratch, err));
    widen(s, c, &s->y, c->out[0]);
    return OK;
}

static status run_bwd_by_dnn(const cuda_node *n, const cuda_call *c, error *err)
{
    const attention_state *s = n->state;
    void *gradients[GRADIENTS];
    for (int i = 0; i < GRADIENTS; i++)
        gradients[i] = half_at(c, &s->gradients[i], c->out[i]);
    launch_attention_bwd b = bwd_of(n, c, gradients, sizeof(uint16_t));
    b.dy = rounded(s, c, &s->dy, b.dy);
    b.of.y = rounded(s, c, &s->y, b.of.y);
    TRY(dnn_attention_bwd_run(s->dnn, &b, (char *)c->scratch + s->dnn_scratch, err));
    for (int i = 0; i < GRADIENTS; i++)
        widen(s, c, &s->gradients[i], c->out[i]);
    return OK;
}

/* --- plans --- */

static size_t reserve(cuda_node *n, size_t bytes)
{
    size_t at = n->scratch_bytes;
    n->scratch_bytes = size_round_up(at + bytes, SCRATCH_ALIGN);
    return at;
}

/* Of a value of this shape that is not stored as the operands are. */
static half_copy copy_of(cuda_node *n, const graph_shape *shape)
{
    int64_t elements = graph_shape_elements(shape);
    return (half_copy){elements, reserve(n, (size_t)elements * sizeof(uint16_t))};
}

typedef status dnn_plan_of(backend_program *p, const launch_attention *t, dnn_graph **ret,
                           error *err);

/* What of it cuDNN is not asked for; NULL: nothing. */
static const char *beyond_dnn(const cuda_node *n, int first, const attention_state *s)
{
    bool is_masked = cuda_in(n, first + 3), drops = s->drop.threshold > 0;
    return is_masked && drops     ? "it has a mask and dropout, and cuDNN's attention is used without either"
           : is_masked            ? "it has a mask, and cuDNN's attention is used without one"
           : drops                ? "it has dropout, and cuDNN's attention is used without it"
           : s->launch.past > 0   ? "it has keys of the past, and cuDNN's attention is used without them"
                                  : NULL;
}

/* Leaves s->dnn NULL where our kernels have to do it. */
static status ask_dnn(cuda_node *n, int first, attention_state *s, dnn_plan_of *plan_of, error *err)
{
    error why = ERROR_INIT;
    const char *beyond = beyond_dnn(n, first, s);
    if (beyond) {
        cuda_node_by(n, "cuDNN", beyond);
        return OK;
    }
    status st = plan_of(n->program, &s->launch, &s->dnn, &why);
    cuda_node_by(n, "cuDNN", st == OK ? NULL : why.text);
    return st == OK || st == E_UNSUPPORTED ? OK : FAIL(err, st, "%s", why.text);
}

status cuda_plan_attention(cuda_node *n)
{
    attention_state *s = NULL;
    TRY(plan(n, 0, &s, n->err));
    TRY(ask_dnn(n, 0, s, dnn_attention_plan, n->err));
    if (!s->dnn) {
        n->launch = run_attention;
        return OK;
    }
    n->body = run_by_dnn;
    if (cuda_out_storage(n, 0).type != cuda_in(n, 0)->dtype)
        s->y = copy_of(n, &s->form.y_shape);
    s->dnn_scratch = reserve(n, dnn_scratch_bytes(s->dnn));
    return OK;
}

static void plan_copies(cuda_node *n, attention_state *s)
{
    dtype half = cuda_in(n, 3)->dtype;
    if (cuda_in_storage(n, 0).type != half)
        s->dy = copy_of(n, &s->form.y_shape);
    if (cuda_in_storage(n, 1).type != half)
        s->y = copy_of(n, &s->form.y_shape);
    for (int i = 0; i < GRADIENTS && cuda_in(n, 3 + i); i++)
        if (!cuda_out(n, i) || cuda_out_storage(n, i).type != half)
            s->gradients[i] = copy_of(n, &cuda_in(n, 3 + i)->shape);
}

status cuda_plan_attention_bwd(cuda_node *n)
{
    attention_state *s = NULL;
    TRY(plan(n, 3, &s, n->err));
    TRY(ask_dnn(n, 3, s, dnn_attention_bwd_plan, n->err));
    reserve(n, (size_t)(s->form.batch * s->form.q_heads * s->form.q_length) * sizeof(float));
    if (!s->dnn) {
        n->launch = run_attention_bwd;
        return OK;
    }
    n->body = run_bwd_by_dnn;
    plan_copies(n, s);
    s->dnn_scratch = reserve(n, dnn_scratch_bytes(s->dnn));
    return OK;
}

static void run_rotary(const cuda_node *n, const cuda_call *c)
{
    launch_rotary t = *(const launch_rotary *)n->state;
    t.x = c->in[0];
    t.cosine = c->in[1];
    t.sine = c->in[2];
    t.y = c->out[0];
    launch_rotary_embedding(c->stream, &t);
}

status cuda_plan_rotary(cuda_node *n)
{
    const rotary_attr *a = n->node->attr;
    rotary_form f = rotary_form_of(a, &cuda_in(n, 0)->shape);
    launch_rotary *t = cuda_node_runs(n, run_rotary, sizeof *t);
    *t = (launch_rotary){.rows = f.rows,
                         .heads = f.heads,
                         .length = f.length,
                         .head = f.head,
                         .by_head = f.by_head,
                         .width = a->width,
                         .interleaved = a->interleaved,
                         .inverse = a->inverse,
                         .type = cuda_launch_type(cuda_in_storage(n, 0).type)};
    n->takes_inplace = true;
    return OK;
}
