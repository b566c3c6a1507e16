/*
 * Attention, backward: the scores are made again, tile by tile, and with the row's log-sum-exp they
 * are probabilities at once. With p those, o the result and do its gradient:
 *
 *   dv = p^T do      dp = do v^T      ds = p (dp - do . o)      dq = scale ds k      dk = scale
 * ds^T q
 *
 * The heads of queries that share one head of keys are one member's work, one after the other, so
 * sums over them have one order. The gradient of a mask that is added is ds, summed over the batches,
 * heads and queries it is the same for: a second pass makes ds again, so that each member has rows of
 * the mask for itself, in which it adds up in ascending order.
 */
#include "backend/cpu/attention.h"
#include "backend/cpu/rows.h"
#include "backend/cpu/team.h"
#include "backend/math.h"
#include "common/base/simd.h"

#include <string.h>

typedef struct attention_bwd_task {
    const attention_state *s;
    const float *dy, *y, *lse;
    const void *q, *k, *v, *mask;
    const drop_mask *bits;
    float *dq, *dk, *dv, *dmask; /* NULL: not wanted */
    char *scratch;
    atomic_bool failed;
} attention_bwd_task;

/* One head: where its own pieces of everything begin. */
typedef struct gradients {
    attention_head head;
    const float *dy, *y, *lse;
    float *dq, *dk, *dv, *dmask;
    float *scores, *gradient;             /* two tiles: probabilities; dp, then ds */
    void *rounded, *gradient_rounded, *dy_rounded; /* for those and for a block of dy in bfloat16 */
} gradients;

SIMD_CLONES
static void row_gradients(float *gradient, const float *p, float dot, int64_t n)
{
    SIMD_LOOP
    for (int64_t i = 0; i < n; i++)
        gradient[i] = p[i] * (gradient[i] - dot);
}

/* With dropout the probabilities that went on are others than those the softmax gave. */
SIMD_CLONES
static void row_gradients_dropped(float *gradient, float *p, const uint8_t *keep, float scale,
                                  float dot, int64_t n)
{
    SIMD_LOOP
    for (int64_t i = 0; i < n; i++) {
        float by = keep[i] ? scale : 0.0f;
        gradient[i] = p[i] * (gradient[i] * by - dot);
        p[i] *= by;
    }
}

/* Scores to probabilities, dp to ds. */
static void differentiate_row(const gradients *d, const attention_tile *t, int64_t i, float dot)
{
    const attention_head *h = &d->head;
    float *p = t->scores + i * t->n_keys, *gradient = d->gradient + i * t->n_keys;
    int64_t n = attention_mask_row(h, t, i);
    row_exp_minus(p, p, d->lse[t->first_query + i], n);
    memset(p + n, 0, (size_t)(t->n_keys - n) * sizeof *p);
    memset(gradient + n, 0, (size_t)(t->n_keys - n) * sizeof *gradient);
    if (!h->bits) {
        row_gradients(gradient, p, dot, n);
        return;
    }
    uint8_t keep[KEYS];
    attention_drop_row(h, t, i, keep);
    row_gradients_dropped(gradient, p, keep, h->bits->scale, dot, n);
}

/* Probabilities and ds of a tile. `dy`: the block's rows of it */
static void make_gradients(const gradients *d, const attention_tile *t, shim_matrix dy,
                           const float *dot)
{
    const attention_head *h = &d->head;
    const attention_form *f = &h->s->form;
    shim_matrix v = attention_rows(h, h->v, &f->v, t->first_key);
    v.transposed = true;
    attention_scores(h, t);
    attention_matmul(h, t->n_queries, t->n_keys, f->v_head, 1.0f, dy, v, 0.0f, d->gradient,
                     t->n_keys);
    for (int64_t i = 0; i < t->n_queries; i++)
        differentiate_row(d, t, i, dot[i]);
}

static void add_operands(const gradients *d, const attention_tile *t, shim_matrix dy)
{
    const attention_head *h = &d->head;
    const attention_form *f = &h->s->form;
    int64_t q = t->first_query, k = t->first_key, nq = t->n_queries, nk = t->n_keys;
    shim_matrix p = attention_rounded(h, t->scores, nq, nk, nk, t->rounded);
    shim_matrix ds = attention_rounded(h, d->gradient, nq, nk, nk, d->gradient_rounded);
    p.transposed = true;
    if (d->dv)
        attention_matmul(h, nk, f->v_head, nq, 1.0f, p, dy, 1.0f, d->dv + k * f->v.position,
                         f->v.position);
    if (d->dq)
        attention_matmul(h, nq, f->head, nk, h->s->scale, ds, attention_rows(h, h->k, &f->k, k),
                         k > 0 ? 1.0f : 0.0f, d->dq + q * f->q.position, f->q.position);
    ds.transposed = true;
    if (d->dk)
        attention_matmul(h, nk, f->head, nq, h->s->scale, ds, attention_rows(h, h->q, &f->q, q),
                         1.0f, d->dk + k * f->k.position, f->k.position);
}

SIMD_CLONES
static void row_add(float *sum, const float *x, int64_t n)
{
    SIMD_LOOP
    for (int64_t i = 0; i < n; i++)
        sum[i] += x[i];
}

static void add_mask(const gradients *d, const attention_tile *t, shim_matrix dy)
{
    (void)dy;
    const int64_t *by = d->head.s->mask_stride;
    for (int64_t i = 0; i < t->n_queries; i++) {
        float *to = d->dmask + (t->first_query + i) * by[2] + t->first_key;
        row_add(to, d->gradient + i * t->n_keys, t->n_keys);
    }
}

/* What is done with the gradients of a tile. */
typedef void add_fn(const gradients *d, const attention_tile *t, shim_matrix dy);

/* Of the block of queries from q on. */
static void differentiate_block(const gradients *d, int64_t q, add_fn *add)
{
    const attention_state *s = d->head.s;
    const attention_form *f = &s->form;
    int64_t n = f->q_length - q < QUERIES ? f->q_length - q : QUERIES;
    int64_t limit = attention_limit(s, q, n), row = f->y.position;
    const float *dy = d->dy + q * row, *y = d->y + q * row;
    float dot[QUERIES];
    for (int64_t i = 0; i < n; i++)
        dot[i] = row_dot(dy + i * row, y + i * row, f->v_head);
    shim_matrix factor = attention_rounded(&d->head, dy, n, row, f->v_head, d->dy_rounded);
    for (int64_t k = 0; k < limit; k += KEYS) {
        attention_tile t = {q, n, k, limit - k < KEYS ? limit - k : KEYS, d->scores, d->rounded};
        make_gradients(d, &t, factor, dot);
        add(d, &t, factor);
    }
}

static size_t member_bytes(const attention_state *s)
{
    return 2 * s->tile + 2 * s->rounded_tile + s->block;
}

static float *gradient_at(float *base, const attention_layout *l, int64_t batch, int64_t head)
{
    return base ? base + l->offset + batch * l->batch + head * l->head : NULL;
}

static void zero_rows(float *base, int64_t rows, int64_t stride, int64_t n)
{
    for (int64_t i = 0; base && i < rows; i++)
        memset(base + i * stride, 0, (size_t)n * sizeof *base);
}

/* One head of queries, with no gradient that is wanted. */
static gradients gradients_of(attention_bwd_task *t, int64_t batch, int64_t head, int member)
{
    const attention_state *s = t->s;
    const attention_form *f = &s->form;
    char *tiles = t->scratch + (size_t)member * member_bytes(s), *rounded = tiles + 2 * s->tile;
    int64_t y_at = f->y.offset + batch * f->y.batch + head * f->y.head;
    return (gradients){
        .head = attention_head_at(s, t->q, t->k, t->v, t->mask, t->bits, batch, head, &t->failed),
        .dy = t->dy + y_at,
        .y = t->y + y_at,
        .lse = t->lse + (batch * f->q_heads + head) * f->q_length,
        .scores = (float *)(void *)tiles,
        .gradient = (float *)(void *)(tiles + s->tile),
        .rounded = rounded,
        .gradient_rounded = rounded + s->rounded_tile,
        .dy_rounded = rounded + 2 * s->rounded_tile};
}

/* item: a head of keys of a batch */
static void differentiate_item(int64_t item, int member, void *arg)
{
    attention_bwd_task *t = arg;
    const attention_form *f = &t->s->form;
    int64_t batch = item / f->kv_heads, kv_head = item % f->kv_heads;
    int64_t group = f->q_heads / f->kv_heads;
    float *dk = gradient_at(t->dk, &f->k, batch, kv_head);
    float *dv = gradient_at(t->dv, &f->v, batch, kv_head);
    zero_rows(dk, f->k_length, f->k.position, f->head);
    zero_rows(dv, f->k_length, f->v.position, f->v_head);
    for (int64_t head = kv_head * group; head < (kv_head + 1) * group; head++) {
        gradients d = gradients_of(t, batch, head, member);
        d.dq = gradient_at(t->dq, &f->q, batch, head);
        d.dk = dk;
        d.dv = dv;
        for (int64_t q = 0; q < f->q_length; q += QUERIES)
            differentiate_block(&d, q, add_operands);
    }
}

/* How the mask's rows are dealt out: those of a block of queries, of each batch and head it differs
 * for. */
typedef struct mask_deal {
    int64_t batches, heads, blocks;
} mask_deal;

static mask_deal mask_deal_of(const attention_state *s)
{
    const attention_form *f = &s->form;
    int64_t blocks = (f->q_length + QUERIES - 1) / QUERIES;
    return (mask_deal){.batches = s->mask_stride[0] ? f->batch : 1,
                       .heads = s->mask_stride[1] ? f->q_heads : 1,
                       .blocks = s->mask_stride[2] ? blocks : 1};
}

/* item: one piece of the deal */
static void differentiate_mask_item(int64_t item, int member, void *arg)
{
    attention_bwd_task *t = arg;
    const attention_state *s = t->s;
    const attention_form *f = &s->form;
    mask_deal deal = mask_deal_of(s);
    int64_t block = item % deal.blocks, head = item / deal.blocks % deal.heads;
    int64_t batch = item / deal.blocks / deal.heads, left = f->q_length - block * QUERIES;
    int64_t rows = !s->mask_stride[2] ? 1 : left < QUERIES ? left : QUERIES;
    float *plane = t->dmask + batch * s->mask_stride[0] + head * s->mask_stride[1];
    zero_rows(plane + block * QUERIES * s->mask_stride[2], rows, f->k_length, f->k_length);
    for (int64_t b = batch; b < f->batch; b += deal.batches)
        for (int64_t h = head; h < f->q_heads; h += deal.heads) {
            gradients d = gradients_of(t, b, h, member);
            d.dmask = plane;
            for (int64_t q = block; q * QUERIES < f->q_length; q += deal.blocks)
                differentiate_block(&d, q * QUERIES, add_mask);
        }
}

static status run_attention_bwd(const cpu_node *n, const cpu_call *c, error *err)
{
    const attention_state *s = n->state;
    const attention_attr *a = s->attr;
    bool packed = !node_in(n, 4);
    drop_mask bits;
    attention_bwd_task t = {.s = s,
                            .dy = c->in[0],
                            .y = c->in[1],
                            .lse = c->in[2],
                            .q = c->in[3],
                            .k = c->in[4],
                            .v = c->in[5],
                            .mask = c->in[6],
                            .dq = c->out[0],
                            .dk = c->out[packed ? 0 : 1],
                            .dv = c->out[packed ? 0 : 2],
                            .dmask = c->out[3],
                            .scratch = c->scratch};
    if (a->ratio > 0.0f) {
        bits = drop_mask_make(a->ratio, a->seed, a->stream, *(const int64_t *)c->in[7]);
        t.bits = &bits;
    }
    mask_deal deal = mask_deal_of(s);
    if (t.dq || t.dk || t.dv)
        team_each(s->form.batch * s->form.kv_heads, differentiate_item, &t);
    if (t.dmask)
        team_each(deal.batches * deal.heads * deal.blocks, differentiate_mask_item, &t);
    if (t.failed)
        return FAIL(err, E_DEVICE, "oneDNN: a matrix product failed");
    return OK;
}

status cpu_plan_attention_bwd(cpu_node *n)
{
    attention_state *s = attention_state_new(n->program, n, 3);
    n->body = run_attention_bwd;
    n->state = s;
    n->scratch_bytes = (size_t)n->program->backend->threads * member_bytes(s);
    return OK;
}
