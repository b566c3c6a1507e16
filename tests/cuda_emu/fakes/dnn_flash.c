#include "cuda_emu/fakes/dnn_flash.h"

#include "backend/cuda/library/abi.h"
#include "common/base/philox.h"
#include "cuda_emu/block.h"
#include "cuda_emu/machine.h"
#include "cuda_emu/watch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TILE_QUERIES = 64, TILE_KEYS = 128, HALF_BYTES = 2 };

/* --- halves --- */

static float float_of(unsigned half, uint16_t bits)
{
    float x;
    uint32_t u = (uint32_t)bits << 16;
    if (half == DNN_F16)
        return emu_f16_to_float(bits);
    memcpy(&x, &u, sizeof x);
    return x;
}

static uint16_t half_of(unsigned half, float x)
{
    return half == DNN_F16 ? emu_f16_of(x) : emu_bf16_of(x);
}

static float rounded(unsigned half, float x)
{
    return float_of(half, half_of(half, x));
}

/* --- matrices --- */

static int64_t place(const flash_matrix *m, int64_t batch, int64_t head, int64_t position)
{
    return batch * m->batch + head * m->head + position * m->position;
}

size_t flash_extent(const flash_matrix *m, int64_t batch)
{
    return (size_t)(place(m, batch - 1, m->heads - 1, m->length - 1) + m->width) * HALF_BYTES;
}

/* One head as floats [length,width]. */
static float *take(const flash_call *c, flash_operand which, int64_t batch, int64_t head)
{
    const flash_matrix *m = &c->of[which];
    float *ret = malloc((size_t)(m->length * m->width) * sizeof *ret);
    if (!ret)
        abort();
    for (int64_t i = 0; i < m->length; i++) {
        const uint16_t *row = (const uint16_t *)m->at + place(m, batch, head, i);
        emu_touch(row, (size_t)m->width * HALF_BYTES, false);
        for (int64_t j = 0; j < m->width; j++)
            ret[i * m->width + j] = float_of(c->half, row[j]);
    }
    return ret;
}

static void put(const flash_call *c, flash_operand which, int64_t batch, int64_t head,
                const float *x)
{
    const flash_matrix *m = &c->of[which];
    for (int64_t i = 0; i < m->length; i++) {
        uint16_t *row = (uint16_t *)m->at + place(m, batch, head, i);
        emu_touch(row, (size_t)m->width * HALF_BYTES, true);
        for (int64_t j = 0; j < m->width; j++)
            row[j] = half_of(c->half, x[i * m->width + j]);
    }
}

static float *zeros(int64_t n)
{
    float *ret = calloc((size_t)n, sizeof *ret);
    if (!ret)
        abort();
    return ret;
}

static float dot(const float *a, const float *b, int64_t n)
{
    float sum = 0.0f;
    for (int64_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static void add_times(float *sum, float factor, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        sum[i] += factor * x[i];
}

/* --- both directions --- */

typedef struct pair {
    int64_t batch, head, query, key;
} pair;

static int64_t group(const flash_call *c)
{
    return c->of[FLASH_Q].heads / c->of[FLASH_K].heads;
}

/* Keys that a query looks at. */
static int64_t seen(const flash_call *c, int64_t query)
{
    int64_t keys = c->of[FLASH_K].length;
    return c->causal && query + 1 < keys ? query + 1 : keys;
}

static size_t row_of(const flash_call *c, int64_t batch, int64_t head, int64_t query)
{
    const flash_matrix *q = &c->of[FLASH_Q];
    return (size_t)((batch * q->heads + head) * q->length + query);
}

/* -infinity is the library's own word for what is hidden: tiles of nothing else come to NaN. */
static float bias_at(const flash_call *c, int64_t batch, int64_t head, int64_t query, int64_t key)
{
    const int64_t *by = c->bias.stride;
    if (!c->bias.at)
        return 0.0f;
    const float *at = c->bias.at + batch * by[0] + head * by[1] + query * by[2] + key * by[3];
    emu_touch(at, sizeof *at, false);
    if (*at == -INFINITY)
        emu_fault("cuDNN: -infinity is added to a score");
    return *at;
}

static float score(const flash_call *c, const pair *at, const float *q, const float *k)
{
    return dot(q, k, c->of[FLASH_Q].width) * c->scale + bias_at(c, at->batch, at->head, at->query, at->key);
}

bool flash_keeps(int64_t seed, int64_t offset, double kept, uint64_t number)
{
    return (double)philox_mix((uint64_t)(seed + offset), number) < kept * 0x1p64;
}

/* What the probability of a pair is multiplied by. */
static float factor(const flash_call *c, const pair *at)
{
    if (c->kept == 0.0)
        return 1.0f;
    emu_touch(c->seed, sizeof *c->seed, false);
    emu_touch(c->offset, sizeof *c->offset, false);
    uint64_t row = row_of(c, at->batch, at->head, at->query);
    uint64_t number = row * (uint64_t)c->of[FLASH_K].length + (uint64_t)at->key;
    return flash_keeps(*c->seed, *c->offset, c->kept, number) ? 1.0f / (float)c->kept : 0.0f;
}

/* --- forward --- */

/* p: the probabilities of a query's keys. */
static float soften(float *p, int64_t n)
{
    float max = -INFINITY, sum = 0.0f;
    for (int64_t j = 0; j < n; j++)
        max = fmaxf(max, p[j]);
    for (int64_t j = 0; j < n; j++)
        sum += p[j] = expf(p[j] - max);
    for (int64_t j = 0; j < n; j++)
        p[j] /= sum;
    return max + logf(sum);
}

static void forward(const flash_call *c, int64_t batch, int64_t head)
{
    const flash_matrix *mq = &c->of[FLASH_Q], *mv = &c->of[FLASH_V];
    float *q = take(c, FLASH_Q, batch, head), *k = take(c, FLASH_K, batch, head / group(c));
    float *v = take(c, FLASH_V, batch, head / group(c)), *p = zeros(c->of[FLASH_K].length);
    float *y = zeros(mq->length * mv->width);
    for (int64_t i = 0; i < mq->length; i++) {
        int64_t n = seen(c, i);
        for (int64_t j = 0; j < n; j++)
            p[j] = score(c, &(pair){batch, head, i, j}, q + i * mq->width, k + j * mq->width);
        float *lse = c->lse + row_of(c, batch, head, i);
        emu_touch(lse, sizeof *lse, true);
        *lse = soften(p, n);
        for (int64_t j = 0; j < n; j++)
            add_times(y + i * mv->width, rounded(c->half, p[j] * factor(c, &(pair){batch, head, i, j})),
                      v + j * mv->width, mv->width);
    }
    put(c, FLASH_Y, batch, head, y);
    free(y), free(p), free(v), free(k), free(q);
}

/* --- backward --- */

/* What all heads of queries that share one of keys have. */
typedef struct shared {
    float *k, *v, *dk, *dv;
} shared;

/* One query, `at` of its first key: its own gradient, and what it adds to its keys'. */
static void query_back(const flash_call *c, const shared *s, pair at, size_t row, const float *q,
                       const float *dy, float *dq, float *dk, float *dv)
{
    int64_t head = c->of[FLASH_Q].width, v_head = c->of[FLASH_V].width;
    for (int64_t j = 0; j < seen(c, at.query); j++) {
        at.key = j;
        float p = expf(score(c, &at, q, s->k + j * head) - c->lse[row]), by = factor(c, &at);
        float share = c->kept > 0.0 ? (float)c->kept : 1.0f;
        float over = dot(dy, s->v + j * v_head, v_head) * by * share - c->delta[row];
        float ds = rounded(c->half, over * p / share * c->scale);
        add_times(dv + j * v_head, rounded(c->half, p * by), dy, v_head);
        add_times(dk + j * head, ds, q, head);
        add_times(dq, ds, s->k + j * head, head);
    }
}

/* Adds what this head gives, rounded if there are others. */
static void add_head(const flash_call *c, float *sum, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        sum[i] += group(c) > 1 ? rounded(c->half, x[i]) : x[i];
}

static void head_back(const flash_call *c, const shared *s, int64_t batch, int64_t head)
{
    const flash_matrix *mq = &c->of[FLASH_Q], *mv = &c->of[FLASH_V];
    float *q = take(c, FLASH_Q, batch, head), *y = take(c, FLASH_Y, batch, head);
    float *dy = take(c, FLASH_DY, batch, head), *dq = zeros(mq->length * mq->width);
    float *dk = zeros(mv->length * mq->width), *dv = zeros(mv->length * mv->width);
    for (int64_t i = 0; i < mq->length; i++) {
        size_t row = row_of(c, batch, head, i);
        emu_touch(c->lse + row, sizeof *c->lse, false);
        emu_touch(c->delta + row, sizeof *c->delta, true);
        c->delta[row] =
            dot(dy + i * mv->width, y + i * mv->width, mv->width) * (c->kept > 0.0 ? (float)c->kept : 1.0f);
        query_back(c, s, (pair){batch, head, i, 0}, row, q + i * mq->width, dy + i * mv->width,
                   dq + i * mq->width, dk, dv);
    }
    add_head(c, s->dk, dk, mv->length * mq->width);
    add_head(c, s->dv, dv, mv->length * mv->width);
    put(c, FLASH_DQ, batch, head, dq);
    free(dv), free(dk), free(dq), free(dy), free(y), free(q);
}

static void backward(const flash_call *c, int64_t batch, int64_t kv_head)
{
    const flash_matrix *k = &c->of[FLASH_K], *v = &c->of[FLASH_V];
    shared s = {take(c, FLASH_K, batch, kv_head), take(c, FLASH_V, batch, kv_head),
                zeros(k->length * k->width), zeros(v->length * v->width)};
    for (int64_t i = 0; i < group(c); i++)
        head_back(c, &s, batch, kv_head * group(c) + i);
    put(c, FLASH_DK, batch, kv_head, s.dk);
    put(c, FLASH_DV, batch, kv_head, s.dv);
    free(s.dv), free(s.dk), free(s.v), free(s.k);
}

/* --- the call --- */

static int64_t whole(int64_t n, int64_t tile)
{
    return (n + tile - 1) / tile * tile;
}

/* Backward a gradient of the scores of whole tiles, as on Hopper; where heads share keys, of every head of
 * queries those of its keys and values beside. */
size_t flash_workspace(const flash_call *c)
{
    const flash_matrix *q = &c->of[FLASH_Q], *k = &c->of[FLASH_K];
    int64_t pairs = whole(q->length, TILE_QUERIES) * whole(k->length, TILE_KEYS);
    int64_t numbers = q->heads > k->heads ? k->length * (k->width + c->of[FLASH_V].width) : 0;
    return c->backward ? (size_t)(c->batch * q->heads * (pairs + numbers)) * HALF_BYTES : 256;
}

void flash_attend(void *arguments)
{
    const flash_call *c = arguments;
    emu_touch(c->workspace, c->workspace_bytes, true);
    memset(c->workspace, 0xff, c->workspace_bytes);
    for (int64_t batch = 0; batch < c->batch; batch++)
        for (int64_t head = 0; head < c->of[c->backward ? FLASH_K : FLASH_Q].heads; head++)
            (c->backward ? backward : forward)(c, batch, head);
}
