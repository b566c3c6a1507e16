/*
 * Attention and RotaryEmbedding. Scores are multiplied by tensor cores where queries, keys and
 * values are of half precision, or may be rounded to TF32, and the GPU has them for that; float32
 * is multiplied as such otherwise. Attention of halves is cuDNN's where that takes it
 * (attention_dnn.c), else ours.
 */
#include "backend/cuda/plan/attention.h"
#include "backend/cuda/plan/matmul.h"
#include "backend/cuda/plan/plan.h"
#include "graph/attention.h"

#include <inttypes.h>

enum { MOST_HEAD = 65536 };

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

static void run_attention(const cuda_node *n, const cuda_call *c)
{
    launch_attention t = attention_launch_of(n, c, 0);
    t.y = c->out[0];
    t.lse = c->out[1];
    launch_attention_forward(c->stream, &t);
}

static void run_attention_bwd(const cuda_node *n, const cuda_call *c)
{
    const attention_state *s = n->state;
    launch_attention_bwd b = attention_bwd_of(n, c, c->out, attention_bytes_of(s->launch.results));
    launch_attention_backward(c->stream, &b);
}

/* --- plans --- */

void cuda_attention_ask(cuda_node *n)
{
    attention_state *s = NULL;
    if (plan(n, n->node->op == OP_ATTENTION_BWD ? 3 : 0, &s, NULL) == OK)
        attention_ask_dnn(n, s);
    n->state = NULL; /* its plan makes another */
}

status cuda_plan_attention(cuda_node *n)
{
    attention_state *s = NULL;
    TRY(plan(n, 0, &s, n->err));
    TRY(attention_plan_dnn(n, s));
    if (!s->dnn)
        n->launch = run_attention;
    return OK;
}

status cuda_plan_attention_bwd(cuda_node *n)
{
    attention_state *s = NULL;
    TRY(plan(n, 3, &s, n->err));
    attention_reserve(n, (size_t)(s->form.batch * s->form.q_heads * s->form.q_length) * sizeof(float));
    TRY(attention_plan_dnn(n, s));
    if (!s->dnn)
        n->launch = run_attention_bwd;
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
