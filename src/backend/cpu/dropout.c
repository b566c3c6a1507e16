/*
 * Dropout with counter-based masks: word e of the stream (seed, RNG_DROPOUT, rng_mix(stream, batch
 * id)) decides element e in row-major order, so any lane draws the same mask for the same batch.
 * The generator is Philox4x32-10 as in common/base/rng.h, here BLOCKS counters at a time.
 */
#include "backend/cpu/lanes.h"
#include "backend/cpu/program.h"
#include "backend/cpu/team.h"
#include "common/base/alloc.h"
#include "common/base/rng.h"

#include <endian.h>
#include <string.h>

enum { BLOCKS = 64, WORDS = 4 * BLOCKS, DROPOUT_GRAIN = 16 * WORDS };

typedef struct dropout_state {
    int64_t elements;
    uint64_t seed, stream;
    uint32_t threshold; /* kept if the word is at least this */
    float scale;
} dropout_state;

typedef struct dropout_task {
    const dropout_state *s;
    rng stream;
    float *y;
    const float *x;
    uint8_t *mask; /* backward: read only */
} dropout_task;

INLINE uint32_t high_half(uint32_t a, uint32_t b)
{
    return (uint32_t)(((uint64_t)a * b) >> 32);
}

/* Blocks are independent, so the outer loop is the wide one; the rounds are written out in it. */
SIMD_CLONES
static void mask_words(uint8_t *mask, const rng *r, uint64_t block, uint32_t threshold)
{
    uint32_t bytes[BLOCKS]; /* word w of a block decides byte w */
    uint32_t low = (uint32_t)block, high = (uint32_t)(block >> 32);
    const uint32_t key0 = r->key[0], key1 = r->key[1], id0 = r->id[0], id1 = r->id[1];
    for (uint32_t j = 0; j < BLOCKS; j++) {
        uint32_t c0 = low + j, c1 = high + (c0 < low), c2 = id0, c3 = id1;
        uint32_t k0 = key0, k1 = key1;
#pragma GCC unroll 10
        for (int round = 0; round < 10; round++) {
            uint32_t n0 = high_half(0xCD9E8D57u, c2) ^ c1 ^ k0;
            uint32_t n2 = high_half(0xD2511F53u, c0) ^ c3 ^ k1;
            c1 = 0xCD9E8D57u * c2;
            c3 = 0xD2511F53u * c0;
            c0 = n0;
            c2 = n2;
            k0 += 0x9E3779B9u;
            k1 += 0xBB67AE85u;
        }
        bytes[j] = (uint32_t)(c0 >= threshold) | (uint32_t)(c1 >= threshold) << 8 |
                   (uint32_t)(c2 >= threshold) << 16 | (uint32_t)(c3 >= threshold) << 24;
    }
    for (int j = 0; j < BLOCKS; j++)
        bytes[j] = htole32(bytes[j]);
    memcpy(mask, bytes, sizeof bytes);
}

SIMD_CLONES
static void apply_mask(float *y, const float *x, const uint8_t *mask, float scale, int64_t n)
{
    SIMD_LOOP
    for (int64_t i = 0; i < n; i++)
        y[i] = mask[i] ? x[i] * scale : 0.0f;
}

static void forward_piece(int64_t begin, int64_t end, void *arg)
{
    const dropout_task *t = arg;
    const dropout_state *s = t->s;
    for (int64_t at = begin; at < end; at += WORDS) {
        uint8_t mask[WORDS];
        size_t n = end - at < WORDS ? (size_t)(end - at) : WORDS;
        mask_words(mask, &t->stream, (uint64_t)at / 4, s->threshold);
        if (t->mask)
            memcpy(t->mask + at, mask, n);
        apply_mask(t->y + at, t->x + at, mask, s->scale, (int64_t)n);
    }
}

static void backward_piece(int64_t begin, int64_t end, void *arg)
{
    const dropout_task *t = arg;
    apply_mask(t->y + begin, t->x + begin, t->mask + begin, t->s->scale, end - begin);
}

static status run_dropout(const cpu_node *n, const cpu_call *c, error *err)
{
    (void)err;
    const dropout_state *s = n->state;
    int64_t batch = *(const int64_t *)c->in[1];
    dropout_task t = {
        .s = s,
        .stream = rng_make(s->seed, RNG_DROPOUT, rng_mix(s->stream, (uint64_t)batch)),
        .y = c->out[0],
        .x = c->in[0],
        .mask = c->out[1],
    };
    team_for(s->elements, DROPOUT_GRAIN, forward_piece, &t);
    return OK;
}

static status run_dropout_bwd(const cpu_node *n, const cpu_call *c, error *err)
{
    (void)err;
    const dropout_state *s = n->state;
    dropout_task t = {
        .s = s, .y = c->out[0], .x = c->in[0], .mask = (uint8_t *)(uintptr_t)c->in[1]};
    team_for(s->elements, DROPOUT_GRAIN, backward_piece, &t);
    return OK;
}

static dropout_state *state_new(backend_program *p, const cpu_node *n)
{
    const dropout_attr *a = n->node->attr;
    dropout_state *s = arena_alloc(p->arena, sizeof *s);
    double threshold = (double)a->ratio * 0x1p32;
    s->elements = graph_shape_elements(&node_in(n, 0)->shape);
    s->seed = a->seed;
    s->stream = a->stream;
    s->threshold = (uint32_t)threshold; /* a ratio below 1 leaves room for one more */
    if ((double)s->threshold < threshold)
        s->threshold++;
    s->scale = 1.0f / (1.0f - a->ratio);
    return s;
}

status plan_dropout(backend_program *p, cpu_node *n, error *err)
{
    if (node_in(n, 1)->dtype != DT_I64)
        return FAIL(err, E_UNSUPPORTED, "a batch id in %s, known is int64",
                    dtype_name(node_in(n, 1)->dtype));
    n->body = run_dropout;
    n->state = state_new(p, n);
    return OK;
}

status plan_dropout_bwd(backend_program *p, cpu_node *n, error *err)
{
    (void)err;
    n->body = run_dropout_bwd;
    n->state = state_new(p, n);
    return OK;
}
