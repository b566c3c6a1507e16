/*
 * Attention's kernels against plain loops in double: every engine and type, shapes that cross the
 * edges of tiles, every form the operands come in, masks, shared heads, dropout by the stream of
 * common/base/rng.h; results and all gradients.
 */
#include "cuda_emu/kernel_test.h"
#include "cuda_emu/machine.h"

#include "backend/cuda/kernels/attention.h"
#include "common/base/rng.h"
#include "graph/attention.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 5, STREAM = 9, BATCH_ID = 3 };

typedef enum form_kind { PACKED, JOINED, SPLIT } form_kind;

/* Where a mask differs: bits of its axes. */
enum { BY_BATCH = 1, BY_HEAD = 2, BY_QUERY = 4, BY_KEY = 8 };

typedef struct scene {
    const char *name;
    int engines;
    form_kind kind;
    int64_t batch, q_heads, kv_heads, q_length, k_length, head, v_head;
    bool causal;
    float ratio;
    int mask_by; /* 0: no mask */
    bool mask_chooses;
    int64_t past; /* keys before the first query's own */
    bool lowest; /* rows of the lowest number in the mask; forward only: its log-sum-exp as a float
                  * has lost the sum, on the CPU too */
} scene;

typedef struct engine {
    const char *name;
    launch_matmuls matmuls;
    launch_type operands, results;
    double tolerance; /* of a tensor's root mean square, and of the number */
    int broadest;     /* heads that tensor cores multiply */
    size_t shared;    /* bytes, of the chips where these matmuls are to be had */
} engine;

enum { SM_75 = 64 << 10, SM_80 = 160 << 10 };

/* The engines, as bits of scene.engines. */
enum {
    FFMA = 1,
    TF32 = 2,
    BF16 = 4,
    F16 = 8,
    BF16_TO_BF16 = 16,
    F16_TO_F32 = 32,
    ALL = 63,
    MOST = ALL & ~(F16 | F16_TO_F32),
    SCENES = 13,
    ENGINES = 6
};

static const scene scenes[SCENES] = {
    {"odd sizes", ALL, SPLIT, 1, 2, 2, 65, 70, 5, 3, .causal = false},
    {"whole tiles", MOST | F16_TO_F32, SPLIT, 1, 1, 1, 64, 128, 64, 64, .causal = false},
    {"packed", ALL, PACKED, 1, 2, 1, 67, 67, 8, 8, .causal = true, .ratio = 0.3f},
    {"bools of keys", MOST, JOINED, 2, 1, 1, 3, 67, 40, 72, .mask_by = BY_BATCH | BY_KEY,
     .mask_chooses = true},
    {"floats", ALL, SPLIT, 1, 2, 1, 70, 33, 24, 16, .mask_by = BY_HEAD | BY_QUERY | BY_KEY,
     .ratio = 0.5f},
    {"bools of queries", MOST, JOINED, 1, 2, 2, 100, 66, 16, 16, .causal = true,
     .mask_by = BY_QUERY, .mask_chooses = true},
    {"broad heads", BF16 | FFMA | F16 | F16_TO_F32, SPLIT, 1, 1, 1, 65, 97, 128, 120,
     .causal = true},
    {"heads of eighty", BF16_TO_BF16 | F16, SPLIT, 1, 2, 1, 34, 65, 80, 96, .ratio = 0.25f},
    {"the lowest number", FFMA | BF16, SPLIT, 1, 1, 1, 9, 66, 8, 8, .mask_by = BY_QUERY | BY_KEY,
     .lowest = true},
    {"floats of batches and keys", MOST, JOINED, 2, 2, 1, 67, 67, 8, 16, .mask_by = BY_BATCH | BY_KEY},
    {"floats of queries", FFMA | F16_TO_F32, SPLIT, 2, 2, 2, 66, 70, 8, 5, .causal = true,
     .mask_by = BY_QUERY | BY_KEY, .ratio = 0.25f},
    {"keys of the past", ALL, SPLIT, 1, 2, 1, 70, 140, 8, 8, .causal = true, .past = 67,
     .mask_by = BY_BATCH | BY_HEAD | BY_QUERY | BY_KEY},
    {"too broad for tensor cores", FFMA | BF16 | F16, SPLIT, 1, 2, 2, 5, 66, 130, 7, .causal = false},
};

static const engine engines[ENGINES] = {
    {"float", MATMULS_FFMA, LAUNCH_F32, LAUNCH_F32, 1e-5, 0, SM_75},
    {"TF32", MATMULS_MMA, LAUNCH_F32, LAUNCH_F32, 5e-3, 64, SM_80},
    {"bfloat16", MATMULS_MMA, LAUNCH_BF16, LAUNCH_F32, 4e-2, 128, SM_80},
    {"float16, half results", MATMULS_MMA, LAUNCH_F16, LAUNCH_F16, 4e-3, 128, SM_75},
    {"bfloat16, half results", MATMULS_MMA, LAUNCH_BF16, LAUNCH_BF16, 4e-2, 128, SM_80},
    {"float16", MATMULS_MMA, LAUNCH_F16, LAUNCH_F32, 4e-3, 128, SM_75},
};

/* One tensor: as the device has it, and what its numbers are there. */
typedef struct tensor {
    launch_type type;
    size_t n;
    float *numbers;
    void *device;
} tensor;

static tensor tensor_drawn(launch_type type, size_t n, uint32_t seed)
{
    tensor t = {type, n, calloc(n, sizeof(float)), NULL};
    void *bytes = malloc(stored_bytes(type, n));
    random_floats(t.numbers, n, seed);
    to_stored(bytes, type, t.numbers, n);
    from_stored(t.numbers, type, bytes, n);
    t.device = on_device(bytes, stored_bytes(type, n));
    free(bytes);
    return t;
}

static void *tensor_alloc(launch_type type, size_t n)
{
    return device_alloc(stored_bytes(type, n));
}

/* What a run works on, and what it should give. */
typedef struct stage {
    const scene *s;
    attention_form f;
    tensor q, k, v, dy; /* packed: k and v are q */
    float *mask;
    void *device_mask;
    int64_t *device_id;
    double *y, *lse, *dq, *dk, *dv, *dmask;
} stage;

static size_t elements(const graph_shape *s)
{
    size_t n = 1;
    for (int i = 0; i < s->rank; i++)
        n *= (size_t)s->dim[i];
    return n;
}

static size_t at(const attention_layout *l, int64_t batch, int64_t head, int64_t position,
                 int64_t i)
{
    return (size_t)(l->offset + batch * l->batch + head * l->head + position * l->position + i);
}

static void make_operands(stage *g, const engine *e)
{
    const scene *s = g->s;
    attention_attr a = {.q_heads = s->q_heads, .kv_heads = s->kv_heads};
    char why[ATTENTION_WHY];
    graph_shape q = {3, {s->batch, s->q_length, s->q_heads * s->head}};
    graph_shape k = {3, {s->batch, s->k_length, s->kv_heads * s->head}};
    graph_shape v = {3, {s->batch, s->k_length, s->kv_heads * s->v_head}};
    if (s->kind == PACKED)
        q.dim[2] += 2 * s->kv_heads * s->head;
    if (s->kind == SPLIT) {
        q = (graph_shape){4, {s->batch, s->q_heads, s->q_length, s->head}};
        k = (graph_shape){4, {s->batch, s->kv_heads, s->k_length, s->head}};
        v = (graph_shape){4, {s->batch, s->kv_heads, s->k_length, s->v_head}};
    }
    bool packed = s->kind == PACKED;
    assert_true(attention_form_of(&a, &q, packed ? NULL : &k, packed ? NULL : &v, &g->f, why));
    g->q = tensor_drawn(e->operands, elements(&q), 1);
    g->k = packed ? g->q : tensor_drawn(e->operands, elements(&k), 2);
    g->v = packed ? g->q : tensor_drawn(e->operands, elements(&v), 3);
    g->dy = tensor_drawn(e->results, elements(&g->f.y_shape), 4);
}

static void mask_strides(const scene *s, int64_t ret[4])
{
    const int64_t sizes[4] = {s->batch, s->q_heads, s->q_length, s->k_length};
    int64_t stride = 1;
    for (int i = 3; i >= 0; i--) {
        ret[i] = s->mask_by >> i & 1 ? stride : 0;
        stride *= s->mask_by >> i & 1 ? sizes[i] : 1;
    }
}

static size_t mask_at(const stage *g, int64_t batch, int64_t head, int64_t query, int64_t key)
{
    int64_t by[4];
    mask_strides(g->s, by);
    return (size_t)(batch * by[0] + head * by[1] + query * by[2] + key * by[3]);
}

static size_t mask_elements(const stage *g)
{
    const scene *s = g->s;
    return 1 + mask_at(g, s->batch - 1, s->q_heads - 1, s->q_length - 1, s->k_length - 1);
}

/* Whether the mask has a gradient that the kernels make. */
static bool is_mask_learned(const scene *s)
{
    return s->mask_by & BY_KEY && !s->mask_chooses;
}

/* Some look at nothing: of bools the second batch or the last query, of floats some rows. Beside
 * the lowest number nothing counts, unless all are of it. */
static void make_mask(stage *g)
{
    const scene *s = g->s;
    if (!s->mask_by)
        return;
    size_t n = mask_elements(g);
    uint8_t *bytes = calloc(n, 1);
    g->mask = calloc(n, sizeof *g->mask);
    random_floats(g->mask, n, 7);
    for (size_t i = 0; i < n; i++) {
        size_t row = i / (size_t)(s->mask_by & BY_KEY ? s->k_length : 1);
        if (s->mask_chooses)
            g->mask[i] = g->mask[i] > -0.3f && i + 1 < n && !(s->mask_by & BY_BATCH && row == 1);
        else if (row % 9 == 2)
            g->mask[i] = -INFINITY;
        else if (row % 9 == 4 && (s->lowest || i % 3))
            g->mask[i] = -0x1.fffffep127f;
        bytes[i] = (uint8_t)g->mask[i];
    }
    g->device_mask = s->mask_chooses ? on_device(bytes, n) : on_device(g->mask, n * sizeof(float));
    free(bytes);
}

static double score_at(const stage *g, int64_t batch, int64_t head, int64_t query, int64_t key)
{
    const scene *s = g->s;
    int64_t kv = head / (s->q_heads / s->kv_heads);
    double dot = 0.0;
    if (s->causal && key > query + s->past)
        return -(double)INFINITY;
    for (int64_t i = 0; i < s->head; i++)
        dot += (double)g->q.numbers[at(&g->f.q, batch, head, query, i)] *
               (double)g->k.numbers[at(&g->f.k, batch, kv, key, i)];
    dot /= sqrt((double)s->head);
    if (!s->mask_by)
        return dot;
    float mask = g->mask[mask_at(g, batch, head, query, key)];
    if (s->mask_chooses)
        return mask != 0.0f ? dot : -(double)INFINITY;
    return (double)((float)dot + mask); /* as float: beside the lowest number nothing is left */
}

static double kept_at(const stage *g, int64_t row, int64_t key)
{
    const scene *s = g->s;
    rng words = rng_make(SEED, RNG_DROPOUT, rng_mix(STREAM, BATCH_ID));
    if (s->ratio == 0.0f)
        return 1.0;
    uint32_t word = rng_u32(&words, (uint64_t)(row * s->k_length + key));
    return word >= (double)s->ratio * 0x1p32 ? (double)(1.0f / (1.0f - s->ratio)) : 0.0;
}

/* One query: its probabilities p [Sk] are given, before dropout. */
static void attend_row(stage *g, int64_t batch, int64_t head, int64_t query, const double *p)
{
    const scene *s = g->s;
    int64_t kv = head / (s->q_heads / s->kv_heads);
    int64_t row = (batch * s->q_heads + head) * s->q_length + query;
    const float *dy = g->dy.numbers + at(&g->f.y, batch, head, query, 0);
    double *y = g->y + at(&g->f.y, batch, head, query, 0), delta = 0.0;
    for (int64_t key = 0; key < s->k_length; key++)
        for (int64_t i = 0; i < s->v_head; i++)
            y[i] += p[key] * kept_at(g, row, key) *
                    (double)g->v.numbers[at(&g->f.v, batch, kv, key, i)];
    for (int64_t i = 0; i < s->v_head; i++)
        delta += y[i] * (double)dy[i];
    for (int64_t key = 0; key < s->k_length; key++) {
        double kept = kept_at(g, row, key), gradient = 0.0;
        for (int64_t i = 0; i < s->v_head; i++) {
            size_t v = at(&g->f.v, batch, kv, key, i);
            gradient += (double)dy[i] * (double)g->v.numbers[v];
            g->dv[v] += p[key] * kept * (double)dy[i];
        }
        gradient = p[key] * (gradient * kept - delta);
        if (is_mask_learned(s))
            g->dmask[mask_at(g, batch, head, query, key)] += gradient;
        gradient /= sqrt((double)s->head);
        for (int64_t i = 0; i < s->head; i++) {
            size_t q = at(&g->f.q, batch, head, query, i), k = at(&g->f.k, batch, kv, key, i);
            g->dq[q] += gradient * (double)g->k.numbers[k];
            g->dk[k] += gradient * (double)g->q.numbers[q];
        }
    }
}

static void compute_reference(stage *g)
{
    const scene *s = g->s;
    double *p = calloc((size_t)s->k_length, sizeof *p);
    g->y = calloc(g->dy.n, sizeof *g->y);
    g->lse = calloc((size_t)(s->batch * s->q_heads * s->q_length), sizeof *g->lse);
    g->dq = calloc(g->q.n, sizeof *g->dq);
    g->dk = s->kind == PACKED ? g->dq : calloc(g->k.n, sizeof *g->dk);
    g->dv = s->kind == PACKED ? g->dq : calloc(g->v.n, sizeof *g->dv);
    g->dmask = is_mask_learned(s) ? calloc(mask_elements(g), sizeof *g->dmask) : NULL;
    for (int64_t row = 0; row < s->batch * s->q_heads * s->q_length; row++) {
        int64_t head = row / s->q_length % s->q_heads, batch = row / s->q_length / s->q_heads;
        int64_t query = row % s->q_length;
        double max = -(double)INFINITY, sum = 0.0;
        for (int64_t key = 0; key < s->k_length; key++) {
            p[key] = score_at(g, batch, head, query, key);
            max = p[key] > max ? p[key] : max;
        }
        for (int64_t key = 0; key < s->k_length; key++)
            sum += p[key] > -(double)INFINITY ? exp(p[key] - max) : 0.0;
        for (int64_t key = 0; key < s->k_length; key++)
            p[key] = p[key] > -(double)INFINITY ? exp(p[key] - max) / sum : 0.0;
        g->lse[row] = sum > 0.0 ? max + log(sum) : (double)INFINITY;
        attend_row(g, batch, head, query, p);
    }
    free(p);
}

static launch_layout layout_of(const attention_layout *l)
{
    return (launch_layout){l->batch, l->head, l->position};
}

static void *begin_of(void *device, launch_type type, const attention_layout *l)
{
    return (char *)device + stored_bytes(type, (size_t)l->offset);
}

static launch_attention launch_of(const stage *g, const engine *e)
{
    const scene *s = g->s;
    launch_attention t = {
        .batch = s->batch,
        .q_heads = s->q_heads,
        .kv_heads = s->kv_heads,
        .q_length = s->q_length,
        .k_length = s->k_length,
        .head = s->head,
        .v_head = s->v_head,
        .scale = 1.0f / sqrtf((float)s->head),
        .causal = s->causal,
        .past = s->past,
        .operands = e->operands,
        .results = e->results,
        .matmuls = e->matmuls,
        .shared_limit = e->shared,
        .q = begin_of(g->q.device, e->operands, &g->f.q),
        .k = begin_of(g->k.device, e->operands, &g->f.k),
        .v = begin_of(g->v.device, e->operands, &g->f.v),
        .q_layout = layout_of(&g->f.q),
        .k_layout = layout_of(&g->f.k),
        .v_layout = layout_of(&g->f.v),
        .y_layout = layout_of(&g->f.y),
        .mask = g->device_mask,
        .mask_chooses = s->mask_chooses,
        .y = tensor_alloc(e->results, g->dy.n),
        .lse = device_alloc(sizeof(float) * (size_t)(s->batch * s->q_heads * s->q_length)),
    };
    mask_strides(s, t.mask_stride);
    if (s->ratio > 0.0f)
        t.drop = (launch_dropout){.batch = g->device_id,
                                  .key = rng_mix(SEED, RNG_DROPOUT),
                                  .stream = STREAM,
                                  .threshold = (uint32_t)ceil((double)s->ratio * 0x1p32),
                                  .scale = 1.0f / (1.0f - s->ratio)};
    return t;
}

static void compare(const scene *s, const engine *e, const char *what, const void *device,
                    launch_type type, const double *want, size_t n)
{
    char name[200];
    void *bytes = malloc(stored_bytes(type, n));
    float *got = calloc(n, sizeof *got);
    double square = 0.0;
    size_t finite = 0;
    for (size_t i = 0; i < n; i++)
        if (isfinite(want[i]) && fabs(want[i]) < 1e30) {
            square += want[i] * want[i];
            finite++;
        }
    double size = finite ? sqrt(square / (double)finite) : 0.0;
    from_device(bytes, device, stored_bytes(type, n));
    from_stored(got, type, bytes, n);
    snprintf(name, sizeof name, "%s of %d queries and %d keys, %s", what, (int)s->q_length,
             (int)s->k_length, e->name);
    assert_floats_close(name, got, want, n, e->tolerance * size, e->tolerance);
    free(bytes);
    free(got);
}

/* Whether tensor cores have multiplied since, as they are to. */
static void check_matmuls(const stage *g, const engine *e, uint64_t before)
{
    bool narrow = g->s->head <= e->broadest && g->s->v_head <= e->broadest;
    assert_int_equal(emu_matmuls_run() > before, narrow);
}

static void play_forward(const stage *g, const engine *e, const launch_attention *t)
{
    uint64_t before = emu_matmuls_run();
    launch_attention_forward(kernel_test_stream(), t);
    compare(g->s, e, "y", t->y, e->results, g->y, g->dy.n);
    compare(g->s, e, "log-sum-exp", t->lse, LAUNCH_F32, g->lse,
            (size_t)(g->s->batch * g->s->q_heads * g->s->q_length));
    check_matmuls(g, e, before);
}

static void play_backward(const stage *g, const engine *e, const launch_attention *t)
{
    bool packed = g->s->kind == PACKED;
    launch_type type = e->results;
    void *dq = tensor_alloc(type, g->q.n), *dk = packed ? dq : tensor_alloc(type, g->k.n);
    void *dv = packed ? dq : tensor_alloc(type, g->v.n);
    launch_attention_bwd b = {
        .of = *t,
        .dy = g->dy.device,
        .delta =
            device_alloc(sizeof(float) * (size_t)(g->s->batch * g->s->q_heads * g->s->q_length)),
        .dq = begin_of(dq, type, &g->f.q),
        .dk = begin_of(dk, type, &g->f.k),
        .dv = begin_of(dv, type, &g->f.v),
        .dmask = g->dmask ? device_alloc(sizeof(float) * mask_elements(g)) : NULL,
    };
    uint64_t before = emu_matmuls_run();
    launch_attention_backward(kernel_test_stream(), &b);
    compare(g->s, e, "dq", dq, type, g->dq, g->q.n);
    compare(g->s, e, "dk", dk, type, g->dk, g->k.n);
    compare(g->s, e, "dv", dv, type, g->dv, g->v.n);
    if (b.dmask)
        compare(g->s, e, "dmask", b.dmask, LAUNCH_F32, g->dmask, mask_elements(g));
    check_matmuls(g, e, before);
}

static void strike(stage *g)
{
    bool packed = g->s->kind == PACKED;
    void *const all[] = {g->q.numbers,
                         packed ? NULL : g->k.numbers,
                         packed ? NULL : g->v.numbers,
                         g->dy.numbers,
                         g->mask,
                         g->y,
                         g->lse,
                         g->dq,
                         packed ? NULL : g->dk,
                         packed ? NULL : g->dv,
                         g->dmask};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

static void play(const scene *s, const engine *e)
{
    const int64_t id = BATCH_ID;
    stage g = {.s = s, .device_id = on_device(&id, sizeof id)};
    make_operands(&g, e);
    make_mask(&g);
    compute_reference(&g);
    launch_attention t = launch_of(&g, e);
    play_forward(&g, e, &t);
    if (!s->lowest)
        play_backward(&g, e, &t);
    strike(&g);
}

/* A test each, so that the cheapest that can notice something is the one to be asked. */
typedef struct act {
    const scene *s;
    const engine *e;
    char name[64];
} act;

static void play_act(void **state)
{
    const act *a = *state;
    play(a->s, a->e);
}

static void nothing_is_launched_for_nothing(void **state)
{
    (void)state;
    launch_attention_bwd b = {.of = {.q_heads = 1, .kv_heads = 1, .head = 8, .v_head = 8}};
    launch_attention_forward(kernel_test_stream(), &b.of);
    launch_attention_backward(kernel_test_stream(), &b);
}

int main(void)
{
    enum { TESTS = SCENES * ENGINES + 1 };
    static act acts[TESTS];
    struct CMUnitTest tests[TESTS] = {KERNEL_TEST(nothing_is_launched_for_nothing)};
    size_t n = 1;
    for (int e = 0; e < ENGINES; e++)
        for (int i = 0; i < SCENES; i++) {
            act *a = &acts[n];
            if (!(scenes[i].engines >> e & 1))
                continue;
            *a = (act){.s = &scenes[i], .e = &engines[e]};
            snprintf(a->name, sizeof a->name, "%s: %s", engines[e].name, scenes[i].name);
            tests[n++] =
                (struct CMUnitTest){a->name, play_act, kernel_test_begin, kernel_test_end, a};
        }
    return kernel_tests_run(tests, n);
}
