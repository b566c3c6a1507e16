/*
 * Random: element e is of word e of its stream, or of the pair that e is in. A piece is drawn into a
 * row of words, block by block, and then made numbers of.
 */
#include "backend/cpu/program.h"
#include "backend/cpu/team.h"
#include "backend/random_math.h"
#include "common/base/philox.h"
#include "common/base/rng.h"
#include "common/base/simd.h"

enum { BLOCKS = 64, WORDS = 4 * BLOCKS, RANDOM_GRAIN = 16 * WORDS };

typedef struct random_task {
    const random_attr *attr;
    rng stream;
    float *y;
} random_task;

SIMD_CLONES
static void draw(uint32_t word[4][BLOCKS], const rng *r, uint64_t block)
{
    const uint32_t key[] = {r->key[0], r->key[1]}, id[] = {r->id[0], r->id[1]};
    for (uint32_t j = 0; j < BLOCKS; j++) {
        philox_block drawn = philox_draw(block + j, id, key);
        for (int w = 0; w < 4; w++)
            word[w][j] = drawn.word[w];
    }
}

SIMD_CLONES
static void make_uniform(float *y, const uint32_t *word, float shift, float scale)
{
    for (int j = 0; j < BLOCKS; j++)
        y[j] = shift + scale * random_uniform(word[j]);
}

SIMD_CLONES
static void make_normal(float *y, const uint32_t *a, const uint32_t *b, uint32_t odd, float shift,
                        float scale)
{
    for (int j = 0; j < BLOCKS; j++)
        y[j] = shift + scale * random_normal(a[j], b[j], odd);
}

/* Elements begin .. end-1, where begin is a multiple of WORDS. */
static void random_span(const random_task *t, int64_t begin, int64_t end)
{
    const random_attr *a = t->attr;
    uint32_t word[4][BLOCKS];
    float made[4][BLOCKS];
    draw(word, &t->stream, (uint64_t)begin / 4);
    for (uint32_t w = 0; w < 4; w++) {
        if (a->kind == RANDOM_UNIFORM)
            make_uniform(made[w], word[w], a->shift, a->scale);
        else
            make_normal(made[w], word[w / 2 * 2], word[w / 2 * 2 + 1], w % 2, a->shift, a->scale);
    }
    for (int64_t i = 0; i < end - begin; i++)
        t->y[begin + i] = made[i % 4][i / 4];
}

static void random_spans(int64_t begin, int64_t end, void *arg)
{
    const random_task *t = arg;
    const int64_t n = graph_shape_elements(&t->attr->shape);
    for (int64_t i = begin; i < end; i++)
        random_span(t, i * WORDS, (i + 1) * WORDS < n ? (i + 1) * WORDS : n);
}

static void run_random(const cpu_node *n, const cpu_call *c)
{
    const random_attr *a = n->state;
    int64_t id = *(const int64_t *)c->in[0];
    random_task t = {.attr = a,
                     .stream = rng_make(a->seed, RNG_NODE, rng_mix(a->stream, (uint64_t)id)),
                     .y = c->out[0]};
    team_for((graph_shape_elements(&a->shape) + WORDS - 1) / WORDS, RANDOM_GRAIN / WORDS,
             random_spans, &t);
}

status cpu_plan_random(cpu_node *n)
{
    n->kernel = run_random;
    n->state = (void *)(uintptr_t)n->node->attr;
    return OK;
}
