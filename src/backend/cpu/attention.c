/*
 * Attention, forward: for each block of queries the keys go by in tiles, with a running maximum and
 * sum a row (Milakov and Gimelshein, "Online normalizer calculation for softmax"; Dao et al.,
 * "FlashAttention"). Every head of every batch is one member's work, so its bits do not depend on
 * the number of threads.
 */
#include "backend/cpu/attention.h"

#include "backend/cpu/rows.h"
#include "backend/cpu/team.h"
#include "backend/math.h"
#include "common/base/alloc.h"
#include "common/base/simd.h"

#include <string.h>

static void broadcast_mask(attention_state *s, const graph_value *mask)
{
    const graph_shape *m = &mask->shape;
    int64_t stride = 1;
    s->mask_type = mask->dtype;
    for (int i = m->rank - 1; i >= 0; i--) {
        s->mask_stride[4 - m->rank + i] = m->dim[i] > 1 ? stride : 0;
        stride *= m->dim[i];
    }
}

attention_state *attention_state_new(backend_program *p, const cpu_node *n, int first_in)
{
    char why[ATTENTION_WHY];
    attention_state *s = arena_alloc(p->arena, sizeof *s);
    const graph_value *k = node_in(n, first_in + 1), *v = node_in(n, first_in + 2);
    const graph_value *mask = node_in(n, first_in + 3);
    s->attr = n->node->attr;
    BUG_ON(!attention_form_of(s->attr, &node_in(n, first_in)->shape, k ? &k->shape : NULL,
                              v ? &v->shape : NULL, &s->form, why));
    s->scale = s->attr->scale;
    if (mask)
        broadcast_mask(s, mask);
    int64_t keys = s->form.k_length < KEYS ? s->form.k_length : KEYS;
    s->factors = node_factor_form(n, first_in);
    s->tile = size_round_up((size_t)(QUERIES * keys) * sizeof(float), MEM_ALIGN);
    if (s->factors != FACTOR_FLOAT) {
        size_t bytes = factor_bytes(s->factors);
        s->rounded_tile = size_round_up((size_t)(QUERIES * keys) * bytes, MEM_ALIGN);
        s->block = size_round_up((size_t)(QUERIES * s->form.v_head) * bytes, MEM_ALIGN);
    }
    return s;
}

static int64_t place(const attention_layout *l, int64_t batch, int64_t head)
{
    return l->offset + batch * l->batch + head * l->head;
}

/* Where the head's first position stands. */
static const void *operand_at(const attention_state *s, const void *x, const attention_layout *l,
                              int64_t batch, int64_t head)
{
    return (const char *)x + (size_t)place(l, batch, head) * factor_bytes(s->factors);
}

attention_head attention_head_at(const attention_state *s, const void *q, const void *k,
                                 const void *v, const void *mask, const drop_mask *bits,
                                 int64_t batch, int64_t head, atomic_bool *failed)
{
    const attention_form *f = &s->form;
    int64_t kv_head = head / (f->q_heads / f->kv_heads);
    int64_t mask_at = batch * s->mask_stride[0] + head * s->mask_stride[1];
    return (attention_head){
        .s = s,
        .q = operand_at(s, q, &f->q, batch, head),
        .k = operand_at(s, k ? k : q, &f->k, batch, kv_head),
        .v = operand_at(s, v ? v : q, &f->v, batch, kv_head),
        .mask = mask ? (const char *)mask + (size_t)mask_at * dtype_bytes(s->mask_type) : NULL,
        .bits = bits,
        .first_score = (uint64_t)((batch * f->q_heads + head) * f->q_length * f->k_length),
        .failed = failed,
    };
}

int64_t attention_limit(const attention_state *s, int64_t first_query, int64_t n_queries)
{
    int64_t end = s->attr->past + first_query + n_queries, keys = s->form.k_length;
    return s->attr->causal && end < keys ? end : keys;
}

void attention_matmul(const attention_head *h, int64_t m, int64_t n, int64_t k, float alpha,
                      shim_matrix a, shim_matrix b, float beta, float *c, int64_t c_stride)
{
    error err = ERROR_INIT;
    if (shim_gemm(m, n, k, alpha, a, b, beta, c, c_stride, &err) != OK)
        atomic_store(h->failed, true);
}

shim_matrix attention_rows(const attention_head *h, const void *x, const attention_layout *l,
                           int64_t first)
{
    size_t bytes = factor_bytes(h->s->factors);
    return (shim_matrix){.data = (const char *)x + (size_t)(first * l->position) * bytes,
                         .stride = l->position,
                         .bf16 = h->s->factors == FACTOR_BF16};
}

shim_matrix attention_rounded(const attention_head *h, const float *x, int64_t rows, int64_t stride,
                              int64_t n, void *rounded)
{
    factor_form form = h->s->factors;
    if (form == FACTOR_FLOAT)
        return (shim_matrix){.data = x, .stride = stride};
    for (int64_t i = 0; i < rows; i++)
        factor_round((char *)rounded + (size_t)(i * n) * factor_bytes(form), x + i * stride, n,
                     form);
    return (shim_matrix){.data = rounded, .stride = n, .bf16 = form == FACTOR_BF16};
}

void attention_scores(const attention_head *h, const attention_tile *t)
{
    const attention_form *f = &h->s->form;
    shim_matrix q = attention_rows(h, h->q, &f->q, t->first_query);
    shim_matrix k = attention_rows(h, h->k, &f->k, t->first_key);
    k.transposed = true;
    attention_matmul(h, t->n_queries, t->n_keys, f->head, h->s->scale, q, k, 0.0f, t->scores,
                     t->n_keys);
}

static void mask_bools(float *scores, const uint8_t *mask, int64_t stride, int64_t n)
{
    for (int64_t j = 0; j < n; j++)
        scores[j] = mask[j * stride] ? scores[j] : -__builtin_inff();
}

static void mask_floats(float *scores, const float *mask, int64_t stride, int64_t n)
{
    for (int64_t j = 0; j < n; j++)
        scores[j] += mask[j * stride];
}

int64_t attention_mask_row(const attention_head *h, const attention_tile *t, int64_t i)
{
    const attention_state *s = h->s;
    int64_t n = t->n_keys, query = t->first_query + i, end = s->attr->past + query + 1;
    if (s->attr->causal && end - t->first_key < n)
        n = end > t->first_key ? end - t->first_key : 0;
    if (!h->mask)
        return n;
    int64_t at = query * s->mask_stride[2] + t->first_key * s->mask_stride[3];
    float *scores = t->scores + i * t->n_keys;
    if (s->mask_type == DT_BOOL)
        mask_bools(scores, (const uint8_t *)h->mask + at, s->mask_stride[3], n);
    else
        mask_floats(scores, (const float *)h->mask + at, s->mask_stride[3], n);
    return n;
}

void attention_drop_row(const attention_head *h, const attention_tile *t, int64_t i, uint8_t *ret)
{
    int64_t score = (t->first_query + i) * h->s->form.k_length + t->first_key;
    drop_mask_fill(h->bits, h->first_score + (uint64_t)score, t->n_keys, ret);
}

/* --- forward --- */

SIMD_CLONES
static void drop(float *p, const uint8_t *keep, float scale, int64_t n)
{
    SIMD_LOOP
    for (int64_t i = 0; i < n; i++)
        p[i] = keep[i] ? p[i] * scale : 0.0f;
}

/* What a block of queries has seen so far. */
typedef struct running {
    float max[QUERIES], sum[QUERIES];
} running;

/* Turns scores into exponentials over the largest so far; returns what the sums so far, and the
 * results, must be multiplied by to be over that one too. */
static float soften_row(const attention_head *h, const attention_tile *t, int64_t i, running *r)
{
    float *scores = t->scores + i * t->n_keys;
    int64_t n = attention_mask_row(h, t, i);
    float here = row_max(scores, n), max = here > r->max[i] ? here : r->max[i];
    float by = r->max[i] < max ? vec_exp(r->max[i] - max) : 1.0f;
    float seen = max > -__builtin_inff() ? row_exp(scores, scores, max, n) : 0.0f;
    memset(scores + n, 0, (size_t)(t->n_keys - n) * sizeof *scores);
    if (!(max > -__builtin_inff()))
        memset(scores, 0, (size_t)n * sizeof *scores);
    r->max[i] = max;
    r->sum[i] = r->sum[i] * by + seen;
    if (h->bits) {
        uint8_t keep[KEYS];
        attention_drop_row(h, t, i, keep);
        drop(scores, keep, h->bits->scale, n);
    }
    return by;
}

static void add_tile(const attention_head *h, const attention_tile *t, running *r, float *y)
{
    const attention_form *f = &h->s->form;
    attention_scores(h, t);
    for (int64_t i = 0; i < t->n_queries; i++) {
        float by = soften_row(h, t, i, r);
        if (by != 1.0f && t->first_key > 0)
            row_scale(y + i * f->y.position, by, f->v_head);
    }
    attention_matmul(
        h, t->n_queries, f->v_head, t->n_keys, 1.0f,
        attention_rounded(h, t->scores, t->n_queries, t->n_keys, t->n_keys, t->rounded),
        attention_rows(h, h->v, &f->v, t->first_key), t->first_key > 0 ? 1.0f : 0.0f, y,
        f->y.position);
}

/* y and lse: of this head */
static void attend(const attention_head *h, char *scratch, float *y, float *lse)
{
    const attention_form *f = &h->s->form;
    for (int64_t q = 0; q < f->q_length; q += QUERIES) {
        int64_t n = f->q_length - q < QUERIES ? f->q_length - q : QUERIES;
        int64_t limit = attention_limit(h->s, q, n);
        running r;
        for (int i = 0; i < QUERIES; i++) {
            r.max[i] = -__builtin_inff();
            r.sum[i] = 0.0f;
        }
        for (int64_t k = 0; k < limit; k += KEYS) {
            attention_tile t = {q,
                                n,
                                k,
                                limit - k < KEYS ? limit - k : KEYS,
                                (float *)(void *)scratch,
                                scratch + h->s->tile};
            add_tile(h, &t, &r, y + q * f->y.position);
        }
        for (int64_t i = 0; i < n; i++) {
            bool none = r.sum[i] == 0.0f;
            row_scale(y + (q + i) * f->y.position, none ? 0.0f : 1.0f / r.sum[i], f->v_head);
            lse[q + i] = none ? __builtin_inff() : r.max[i] + vec_log(r.sum[i]);
        }
    }
}

static size_t member_bytes(const attention_state *s)
{
    return s->tile + s->rounded_tile;
}

typedef struct attention_task {
    const attention_state *s;
    const void *q, *k, *v, *mask;
    const drop_mask *bits;
    float *y, *lse;
    char *scratch;
    atomic_bool failed;
} attention_task;

static void attend_item(int64_t item, int member, void *arg)
{
    attention_task *t = arg;
    const attention_form *f = &t->s->form;
    int64_t batch = item / f->q_heads, head = item % f->q_heads;
    attention_head h =
        attention_head_at(t->s, t->q, t->k, t->v, t->mask, t->bits, batch, head, &t->failed);
    attend(&h, t->scratch + (size_t)member * member_bytes(t->s), t->y + place(&f->y, batch, head),
           t->lse + item * f->q_length);
}

static status run_attention(const cpu_node *n, const cpu_call *c, error *err)
{
    const attention_state *s = n->state;
    const attention_attr *a = s->attr;
    drop_mask bits;
    attention_task t = {.s = s,
                        .q = c->in[0],
                        .k = c->in[1],
                        .v = c->in[2],
                        .mask = c->in[3],
                        .y = c->out[0],
                        .lse = c->out[1],
                        .scratch = c->scratch};
    if (a->ratio > 0.0f) {
        bits = drop_mask_make(a->ratio, a->seed, a->stream, *(const int64_t *)c->in[4]);
        t.bits = &bits;
    }
    team_each(s->form.batch * s->form.q_heads, attend_item, &t);
    if (t.failed)
        return FAIL(err, E_DEVICE, "oneDNN: a matrix product failed");
    return OK;
}

status cpu_plan_attention(cpu_node *n)
{
    attention_state *s = attention_state_new(n->program, n, 0);
    n->body = run_attention;
    n->state = s;
    n->scratch_bytes = (size_t)n->program->backend->threads * member_bytes(s);
    return OK;
}
