/* LRN and its gradient on plain layouts: pieces of planes, all channels of a piece in turn. */
#include "backend/cpu/program.h"
#include "backend/cpu/team.h"
#include "backend/math.h"
#include "common/base/simd.h"
#include "graph/axis_split.h"

#include <string.h>

enum { LRN_PIECE = 256 }; /* positions of a plane */

typedef struct lrn_state {
    lrn_form f;
    int64_t pieces; /* of a plane */
} lrn_state;

typedef struct lrn_task {
    const lrn_state *s;
    const float *x, *dy, *seen_y, *seen_sum;
    float *y, *sum, *dx;
} lrn_task;

SIMD_CLONES
static void add_squares(float *to, const float *x, int64_t n)
{
    SIMD_LOOP
    for (int64_t i = 0; i < n; i++)
        to[i] += x[i] * x[i];
}

SIMD_CLONES
static void finish(float *y, float *sum, const float *x, const lrn_state *s, int64_t n)
{
    float alpha = s->f.alpha, beta = s->f.beta, bias = s->f.bias;
    SIMD_LOOP
    for (int64_t i = 0; i < n; i++) {
        float total = bias + alpha * sum[i];
        sum[i] = total;
        y[i] = x[i] * vec_exp(-beta * vec_log(total));
    }
}

SIMD_CLONES
static void add_shares(float *to, const float *dy, const float *y, const float *sum, int64_t n)
{
    SIMD_LOOP
    for (int64_t i = 0; i < n; i++)
        to[i] += dy[i] * y[i] / sum[i];
}

SIMD_CLONES
static void finish_bwd(float *dx, const float *shares, const float *dy, const float *x,
                       const float *sum, const lrn_state *s, int64_t n)
{
    float factor = 2.0f * s->f.alpha * s->f.beta, beta = s->f.beta;
    SIMD_LOOP
    for (int64_t i = 0; i < n; i++)
        dx[i] = dy[i] * vec_exp(-beta * vec_log(sum[i])) - factor * x[i] * shares[i];
}

/* Where piece i begins and how many positions it has; channels follow `spatial` floats apart. */
static int64_t piece_of(const lrn_state *s, int64_t i, int64_t *ret_n)
{
    int64_t at = i % s->pieces * LRN_PIECE, left = s->f.x.inner - at;
    *ret_n = left < LRN_PIECE ? left : LRN_PIECE;
    return i / s->pieces * s->f.x.n * s->f.x.inner + at;
}

static int64_t at_least(int64_t x, int64_t least)
{
    return x > least ? x : least;
}

static int64_t at_most(int64_t x, int64_t most)
{
    return x < most ? x : most;
}

static void normalise_pieces(int64_t begin, int64_t end, void *arg)
{
    const lrn_task *t = arg;
    const lrn_state *s = t->s;
    for (int64_t i = begin, n; i < end; i++) {
        int64_t first = piece_of(s, i, &n);
        for (int64_t c = 0; c < s->f.x.n; c++) {
            int64_t at = first + c * s->f.x.inner;
            memset(t->sum + at, 0, (size_t)n * sizeof(float));
            int64_t last = at_most(c + s->f.behind, s->f.x.n - 1);
            for (int64_t k = at_least(c - s->f.before, 0); k <= last; k++)
                add_squares(t->sum + at, t->x + first + k * s->f.x.inner, n);
            finish(t->y + at, t->sum + at, t->x + at, s, n);
        }
    }
}

static void differentiate_pieces(int64_t begin, int64_t end, void *arg)
{
    const lrn_task *t = arg;
    const lrn_state *s = t->s;
    for (int64_t i = begin, n; i < end; i++) {
        int64_t first = piece_of(s, i, &n);
        for (int64_t c = 0; c < s->f.x.n; c++) {
            float shares[LRN_PIECE] = {0};
            int64_t at = first + c * s->f.x.inner;
            /* the channels that count this one among their neighbours */
            int64_t last = at_most(c + s->f.before, s->f.x.n - 1);
            for (int64_t k = at_least(c - s->f.behind, 0); k <= last; k++) {
                int64_t from = first + k * s->f.x.inner;
                add_shares(shares, t->dy + from, t->seen_y + from, t->seen_sum + from, n);
            }
            finish_bwd(t->dx + at, shares, t->dy + at, t->x + at, t->seen_sum + at, s, n);
        }
    }
}

static void run_lrn(const cpu_node *n, const cpu_call *c)
{
    const lrn_state *s = n->state;
    lrn_task t = {.s = s, .x = c->in[0], .y = c->out[0], .sum = c->out[1]};
    team_for(node_in(n, 0)->shape.dim[0] * s->pieces, 1, normalise_pieces, &t);
}

static void run_lrn_bwd(const cpu_node *n, const cpu_call *c)
{
    const lrn_state *s = n->state;
    lrn_task t = {.s = s,
                  .dy = c->in[0],
                  .x = c->in[1],
                  .seen_y = c->in[2],
                  .seen_sum = c->in[3],
                  .dx = c->out[0]};
    team_for(node_in(n, 0)->shape.dim[0] * s->pieces, 1, differentiate_pieces, &t);
}

status cpu_plan_lrn(cpu_node *n)
{
    lrn_state *s = node_runs(n, n->node->op == OP_LRN ? run_lrn : run_lrn_bwd, sizeof *s);
    s->f = lrn_form_of(n->node->attr, &node_in(n, 0)->shape);
    s->pieces = (s->f.x.inner + LRN_PIECE - 1) / LRN_PIECE;
    return OK;
}
