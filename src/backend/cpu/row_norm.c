/*
 * LayerNormalization and RMSNormalization: each row in one visit while it is in the first cache.
 * Sums of a row run over four vectors of LANES columns. The gradients of scale and bias are sums
 * over rows: within blocks of rows whose edges follow from the shape alone, then over the blocks
 * in their order, so neither threads nor widths show.
 */
#include "backend/cpu/lanes.h"
#include "backend/cpu/program.h"
#include "backend/cpu/rows.h"
#include "backend/cpu/team.h"
#include "graph/axis_split.h"

#include <string.h>

enum {
    NORM_GRAIN = 16384,  /* elements of a piece of work */
    MOST_BLOCKS = 64,    /* of rows, each with sums of its own */
    FEWEST_ROWS = 8,     /* of a block */
    COLUMNS_GRAIN = 256, /* columns of the sums that are added up together */
};

typedef struct row_norm_state {
    int64_t rows, n;
    float epsilon;
    bool centred; /* LayerNormalization */
    int64_t block, n_blocks;
} row_norm_state;

typedef struct row_norm_task {
    const row_norm_state *s;
    const float *x, *scale, *bias, *dy;
    float *y, *dx;
    const float *mean, *inverse;     /* backward reads them */
    float *made_mean, *made_inverse; /* forward makes them; NULL where nobody asks */
    float *dscale, *dbias;           /* [n_blocks,n]; NULL where nobody asks */
} row_norm_task;

SIMD_CLONES
static void row_apply(float *y, const float *x, const float *scale, const float *bias, float mean,
                      float inverse, int64_t n)
{
    if (!bias) {
        SIMD_LOOP
        for (int64_t i = 0; i < n; i++)
            y[i] = (x[i] - mean) * inverse * scale[i];
        return;
    }
    SIMD_LOOP
    for (int64_t i = 0; i < n; i++)
        y[i] = (x[i] - mean) * inverse * scale[i] + bias[i];
}

static void forward_rows(int64_t begin, int64_t end, void *arg)
{
    const row_norm_task *t = arg;
    const row_norm_state *s = t->s;
    for (int64_t r = begin; r < end; r++) {
        const float *x = t->x + r * s->n;
        float mean = s->centred ? row_sum(x, s->n) / (float)s->n : 0.0f;
        float variance = row_squares(x, mean, s->n) / (float)s->n;
        float inverse = 1.0f / __builtin_sqrtf(variance + s->epsilon);
        row_apply(t->y + r * s->n, x, t->scale, t->bias, mean, inverse, s->n);
        if (t->made_mean)
            t->made_mean[r] = mean;
        if (t->made_inverse)
            t->made_inverse[r] = inverse;
    }
}

static void run_row_norm(const cpu_node *n, const cpu_call *c)
{
    const row_norm_state *s = n->state;
    row_norm_task t = {.s = s,
                       .x = c->in[0],
                       .scale = c->in[1],
                       .bias = s->centred && n->node->n_in > 2 ? c->in[2] : NULL,
                       .y = c->out[0],
                       .made_mean = s->centred ? c->out[1] : NULL,
                       .made_inverse = c->out[s->centred ? 2 : 1]};
    team_for(s->rows, NORM_GRAIN / s->n + 1, forward_rows, &t);
}

/* Adds the row to the sums over rows, and gives the row's own two: of dy scale, and of dy scale
 * times the normalised x. */
SIMD_CLONES
static void row_sums(const float *dy, const float *x, const float *scale, float mean, float inverse,
                     float *dscale, float *dbias, int64_t n, float *ret_plain, float *ret_normal)
{
    vec16 p0 = {0}, p1 = {0}, q0 = {0}, q1 = {0};
    float p_rest[LANES] = {0}, q_rest[LANES] = {0};
    int64_t i = 0;
    for (; i + 2 * LANES <= n; i += 2 * LANES) {
        vec16 d0 = vec16_at(dy + i), d1 = vec16_at(dy + i + LANES);
        vec16 h0 = (vec16_at(x + i) - mean) * inverse;
        vec16 h1 = (vec16_at(x + i + LANES) - mean) * inverse;
        vec16_at(dbias + i) += d0;
        vec16_at(dbias + i + LANES) += d1;
        vec16_at(dscale + i) += d0 * h0;
        vec16_at(dscale + i + LANES) += d1 * h1;
        vec16 g0 = d0 * vec16_at(scale + i), g1 = d1 * vec16_at(scale + i + LANES);
        p0 += g0;
        p1 += g1;
        q0 += g0 * h0;
        q1 += g1 * h1;
    }
    for (int j = 0; i < n; i++, j = (j + 1) % LANES) {
        float h = (x[i] - mean) * inverse, g = dy[i] * scale[i];
        dbias[i] += dy[i];
        dscale[i] += dy[i] * h;
        p_rest[j] += g;
        q_rest[j] += g * h;
    }
    vec16_at(p_rest) += p0 + p1;
    vec16_at(q_rest) += q0 + q1;
    *ret_plain = lanes_sum(p_rest);
    *ret_normal = lanes_sum(q_rest);
}

/* dx = inverse (dy scale - plain - normalised x times normal) */
SIMD_CLONES
static void row_gradient(float *dx, const float *dy, const float *x, const float *scale, float mean,
                         float inverse, float plain, float normal, int64_t n)
{
    SIMD_LOOP
    for (int64_t i = 0; i < n; i++) {
        float h = (x[i] - mean) * inverse;
        dx[i] = inverse * ((dy[i] * scale[i] - plain) - h * normal);
    }
}

static void backward_blocks(int64_t begin, int64_t end, void *arg)
{
    const row_norm_task *t = arg;
    const row_norm_state *s = t->s;
    for (int64_t b = begin; b < end; b++) {
        float *dscale = t->dscale + b * s->n, *dbias = t->dbias + b * s->n;
        int64_t last = (b + 1) * s->block < s->rows ? (b + 1) * s->block : s->rows;
        memset(dscale, 0, (size_t)s->n * sizeof *dscale);
        memset(dbias, 0, (size_t)s->n * sizeof *dbias);
        for (int64_t r = b * s->block; r < last; r++) {
            const float *dy = t->dy + r * s->n, *x = t->x + r * s->n;
            float mean = s->centred ? t->mean[r] : 0.0f, inverse = t->inverse[r];
            float plain, normal;
            row_sums(dy, x, t->scale, mean, inverse, dscale, dbias, s->n, &plain, &normal);
            plain = s->centred ? plain / (float)s->n : 0.0f;
            normal /= (float)s->n;
            if (t->dx)
                row_gradient(t->dx + r * s->n, dy, x, t->scale, mean, inverse, plain, normal, s->n);
        }
    }
}

typedef struct block_sum {
    float *y;
    const float *blocks; /* [n_blocks,n] */
    int64_t n, n_blocks;
} block_sum;

SIMD_CLONES
static void add_to(float *y, const float *x, int64_t n)
{
    SIMD_LOOP
    for (int64_t i = 0; i < n; i++)
        y[i] += x[i];
}

static void add_columns(int64_t begin, int64_t end, void *arg)
{
    const block_sum *t = arg;
    memcpy(t->y + begin, t->blocks + begin, (size_t)(end - begin) * sizeof *t->y);
    for (int64_t b = 1; b < t->n_blocks; b++)
        add_to(t->y + begin, t->blocks + b * t->n + begin, end - begin);
}

static void add_blocks(const row_norm_state *s, float *y, const float *blocks)
{
    block_sum t = {.y = y, .blocks = blocks, .n = s->n, .n_blocks = s->n_blocks};
    if (y)
        team_for(s->n, COLUMNS_GRAIN, add_columns, &t);
}

static void run_row_norm_bwd(const cpu_node *n, const cpu_call *c)
{
    const row_norm_state *s = n->state;
    row_norm_task t = {.s = s,
                       .x = c->in[0],
                       .scale = c->in[1],
                       .mean = s->centred ? c->in[2] : NULL,
                       .inverse = c->in[s->centred ? 3 : 2],
                       .dy = c->in[s->centred ? 4 : 3],
                       .dx = c->out[0],
                       .dscale = c->scratch};
    t.dbias = t.dscale + s->n_blocks * s->n;
    team_for(s->n_blocks, 1, backward_blocks, &t);
    add_blocks(s, c->out[1], t.dscale);
    add_blocks(s, s->centred ? c->out[2] : NULL, t.dbias);
}

static row_norm_state *state_new(const cpu_node *n)
{
    const row_norm_attr *a = n->node->attr;
    axis_split at = axis_split_of(&node_in(n, 0)->shape, a->axis);
    row_norm_state *s = node_alloc(n, sizeof *s);
    *s = (row_norm_state){.rows = at.outer, .n = at.n * at.inner, .epsilon = a->epsilon};
    s->centred = n->node->op == OP_LAYER_NORMALIZATION || n->node->op == OP_LAYER_NORMALIZATION_BWD;
    int64_t block = (s->rows + MOST_BLOCKS - 1) / MOST_BLOCKS;
    s->block = block < FEWEST_ROWS ? FEWEST_ROWS : block;
    s->n_blocks = (s->rows + s->block - 1) / s->block;
    return s;
}

status cpu_plan_row_norm(cpu_node *n)
{
    n->kernel = run_row_norm;
    n->state = state_new(n);
    return OK;
}

status cpu_plan_row_norm_bwd(cpu_node *n)
{
    row_norm_state *s = state_new(n);
    n->kernel = run_row_norm_bwd;
    n->state = s;
    n->scratch_bytes = (size_t)(2 * s->n_blocks * s->n) * sizeof(float);
    return OK;
}
