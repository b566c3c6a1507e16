/* LpPool and its gradient: plain loops over planes, sums in double. */
#include "backend/cpu/program.h"
#include "backend/cpu/team.h"
#include "backend/cpu/window.h"
#include "backend/lp.h"

#include <string.h>

typedef struct lp_state {
    window window;
    int64_t p, n_in, n_out; /* elements of a plane */
    int64_t n_planes;
} lp_state;

typedef struct lp_task {
    const lp_state *s;
    const float *dy, *x, *y;
    float *out; /* y forward, dx backward */
} lp_task;

static void pool_planes(int64_t begin, int64_t end, void *arg)
{
    const lp_task *t = arg;
    const lp_state *s = t->s;
    for (int64_t i = begin; i < end; i++) {
        const float *x = t->x + i * s->n_in;
        for (int64_t o = 0; o < s->n_out; o++) {
            window_taps w = window_taps_at(&s->window, o);
            double sum = 0.0;
            for (int64_t a = 0; a < w.count[0]; a++)
                for (int64_t b = 0; b < w.count[1]; b++)
                    for (int64_t c = 0; c < w.count[2]; c++) {
                        int64_t at = w.first + a * w.step[0] + b * w.step[1] + c * w.step[2];
                        sum += lp_term(x[at], s->p);
                    }
            t->out[i * s->n_out + o] = lp_root(sum, s->p);
        }
    }
}

static void spread(const lp_state *s, const window_taps *w, const float *x, float y, float dy,
                   float *dx)
{
    for (int64_t a = 0; a < w->count[0]; a++)
        for (int64_t b = 0; b < w->count[1]; b++)
            for (int64_t c = 0; c < w->count[2]; c++) {
                int64_t at = w->first + a * w->step[0] + b * w->step[1] + c * w->step[2];
                dx[at] += lp_gradient(dy, x[at], y, s->p);
            }
}

static void spread_planes(int64_t begin, int64_t end, void *arg)
{
    const lp_task *t = arg;
    const lp_state *s = t->s;
    for (int64_t i = begin; i < end; i++) {
        float *dx = t->out + i * s->n_in;
        memset(dx, 0, (size_t)s->n_in * sizeof *dx);
        for (int64_t o = 0; o < s->n_out; o++) {
            window_taps w = window_taps_at(&s->window, o);
            int64_t at = i * s->n_out + o;
            spread(s, &w, t->x + i * s->n_in, t->y[at], t->dy[at], dx);
        }
    }
}

static void run_lp_pool(const cpu_node *n, const cpu_call *c)
{
    const lp_state *s = n->state;
    lp_task t = {.s = s, .x = c->in[0], .out = c->out[0]};
    team_for(s->n_planes, 1, pool_planes, &t);
}

static void run_lp_pool_bwd(const cpu_node *n, const cpu_call *c)
{
    const lp_state *s = n->state;
    lp_task t = {.s = s, .dy = c->in[0], .x = c->in[1], .y = c->in[2], .out = c->out[0]};
    team_for(s->n_planes, 1, spread_planes, &t);
}

status cpu_plan_lp_pool(cpu_node *n)
{
    bool backward = n->node->op == OP_LP_POOL_BWD;
    lp_state *s = node_runs(n, backward ? run_lp_pool_bwd : run_lp_pool, sizeof *s);
    window w = window_of(n->program->g, n->node);
    *s = (lp_state){.window = w,
                    .p = ((const pool_attr *)n->node->attr)->p,
                    .n_in = window_volume(w.in),
                    .n_out = window_volume(w.out),
                    .n_planes = w.x.dim[0] * w.x.dim[1]};
    return OK;
}
