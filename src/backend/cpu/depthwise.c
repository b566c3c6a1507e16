/*
 * dw[c,i,j] = sum over samples and positions of dy[c,p] x[c,p stride + (i,j) dilation - begin]. A row of the kernel of
 * one block of channels is one thread's: it goes over all rows of dy in their order, in float32 for STRETCH positions
 * or a few more, and in double over these. So bits depend on shapes alone.
 */
#include "backend/cpu/depthwise.h"

#include "backend/cpu/planes.h"
#include "backend/cpu/team.h"
#include "common/base/simd.h"
#include "graph/window.h"

#include <string.h>

enum { MOST_TAPS = 32, STRETCH = 256, HIGH = SPATIAL - 2, WIDE = SPATIAL - 1 };

/* One row of dy, under one row of the kernel. */
typedef struct row_form {
    int64_t in, out, taps, stride, dilation, begin;
} row_form;

typedef struct depthwise {
    window w;
    planes x, dy;
    row_form row;
    bool with_bias;
} depthwise;

typedef struct depthwise_task {
    const depthwise *d;
    const float *x, *dy;
    float *dw, *db;
} depthwise_task;

/* acc[taps][block] */
#define ROW(block)                                                                                                     \
    SIMD_CLONES static void row_of_##block(const float *x, const float *dy, row_form f, float *acc)                    \
    {                                                                                                                  \
        for (int64_t o = 0; o < f.out; o++) {                                                                          \
            const int64_t at = o * f.stride - f.begin, within = (f.in - at + f.dilation - 1) / f.dilation;             \
            const int64_t first = at < 0 ? (f.dilation - 1 - at) / f.dilation : 0;                                     \
            const float *d = dy + o * block;                                                                           \
            for (int64_t k = first; k < f.taps && k < within; k++) {                                                   \
                const float *v = x + (at + k * f.dilation) * block;                                                    \
                float *a = acc + k * block;                                                                            \
                SIMD_LOOP                                                                                              \
                for (int j = 0; j < block; j++)                                                                        \
                    a[j] += d[j] * v[j];                                                                               \
            }                                                                                                          \
        }                                                                                                              \
    }
ROW(16)
ROW(8)

static void flush(float *acc, double *sum, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        sum[i] += (double)acc[i];
    memset(acc, 0, (size_t)n * sizeof *acc);
}

/* The sums of one row of the kernel of one block. */
static void sum_row(const depthwise_task *t, int64_t b, int64_t kernel_row, double *sum)
{
    const depthwise *d = t->d;
    const window *w = &d->w;
    const int64_t block = d->x.block, n = d->row.taps * block;
    float acc[MOST_TAPS * PLANES_BLOCK] = {0};
    int64_t positions = 0;
    for (int64_t s = 0; s < d->x.batch; s++)
        for (int64_t o = 0; o < w->out[HIGH]; o++) {
            const int64_t i = o * w->stride[HIGH] - w->begin[HIGH] + kernel_row * w->dilation[HIGH];
            if (i < 0 || i >= w->in[HIGH])
                continue;
            const float *x = t->x + planes_offset(&d->x, s, b) + i * w->in[WIDE] * block;
            const float *dy = t->dy + planes_offset(&d->dy, s, b) + o * w->out[WIDE] * block;
            (block == 16 ? row_of_16 : row_of_8)(x, dy, d->row, acc);
            positions += w->out[WIDE];
            if (positions >= STRETCH) {
                flush(acc, sum, n);
                positions = 0;
            }
        }
    flush(acc, sum, n);
}

static void sum_rows(int64_t begin, int64_t end, void *arg)
{
    const depthwise_task *t = arg;
    const depthwise *d = t->d;
    const int64_t rows = d->w.kernel[HIGH], taps = d->row.taps, block = d->x.block;
    for (int64_t i = begin; i < end; i++) {
        const int64_t b = i / rows, row = i % rows;
        double sum[MOST_TAPS * PLANES_BLOCK] = {0};
        sum_row(t, b, row, sum);
        for (int64_t j = 0; j < block && b * block + j < d->x.channels; j++)
            for (int64_t k = 0; k < taps; k++)
                t->dw[((b * block + j) * rows + row) * taps + k] = (float)sum[k * block + j];
    }
}

static void sum_biases(int64_t begin, int64_t end, void *arg)
{
    const depthwise_task *t = arg;
    const planes *p = &t->d->dy;
    for (int64_t b = begin; b < end; b++) {
        double sum[PLANES_BLOCK] = {0};
        for (int64_t s = 0; s < p->batch; s++) {
            double one[PLANES_BLOCK] = {0};
            planes_sum(t->dy + planes_offset(p, s, b), p->run, p->block, one);
            for (int64_t j = 0; j < p->block; j++)
                sum[j] += one[j];
        }
        for (int64_t j = 0; j < p->block && b * p->block + j < p->channels; j++)
            t->db[b * p->block + j] = (float)sum[j];
    }
}

static void run(const cpu_node *n, const cpu_call *c)
{
    const depthwise *d = n->state;
    depthwise_task t = {.d = d, .x = c->in[0], .dy = c->in[1], .dw = c->out[0], .db = c->out[1]};
    team_for(d->x.blocks * d->w.kernel[HIGH], 1, sum_rows, &t);
    if (d->with_bias)
        team_for(d->x.blocks, 1, sum_biases, &t);
}

/* Every channel of its own, images or signals, in blocks that a row has a loop for. */
static bool is_depthwise(const conv_attr *a, const window *w, const planes *x, const planes *dy)
{
    const int64_t channels = w->w.dim[0];
    return a->group == channels && w->w.dim[1] == 1 && w->x.dim[1] == channels && w->axes <= 2 &&
           w->kernel[WIDE] <= MOST_TAPS && (x->block == 16 || x->block == 8) && x->block == dy->block;
}

bool depthwise_plan_weights(cpu_node *n, const shim_layout *x, const shim_layout *dy)
{
    const conv_attr *a = n->node->attr;
    const window w = window_of(n->program->g, n->node);
    planes px, pdy;
    if (!x || !dy || !planes_of(x, &px) || !planes_of(dy, &pdy) || !is_depthwise(a, &w, &px, &pdy))
        return false;
    depthwise *d = node_runs(n, run, sizeof *d);
    *d = (depthwise){.w = w,
                     .x = px,
                     .dy = pdy,
                     .row = {w.in[WIDE], w.out[WIDE], w.kernel[WIDE], w.stride[WIDE], w.dilation[WIDE], w.begin[WIDE]},
                     .with_bias = a->with_bias && node_out(n, 1)};
    n->in[0].want = x;
    n->in[1].want = dy;
    return true;
}
