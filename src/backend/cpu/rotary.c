/* RotaryEmbedding: one pass, head by head. */
#include "backend/cpu/program.h"
#include "backend/cpu/team.h"
#include "common/base/simd.h"
#include "graph/attention.h"

#include <string.h>

enum { ROTARY_GRAIN = 16384 }; /* elements */

typedef struct rotary_state {
    rotary_form form;
    const rotary_attr *attr;
} rotary_state;

typedef struct rotary_task {
    const rotary_state *s;
    float *y;
    const float *x, *cosine, *sine;
} rotary_task;

/* Pairs are x1[i * step], x2[i * step]; y may be x. */
#define TURN(name, step)                                                                           \
    SIMD_CLONES static void name(float *y1, float *y2, const float *x1, const float *x2,           \
                                 const float *c, const float *s, float sign, int64_t n)            \
    {                                                                                              \
        SIMD_LOOP                                                                                  \
        for (int64_t i = 0; i < n; i++) {                                                          \
            float a = x1[i * (step)], b = x2[i * (step)], turn = sign * s[i];                      \
            y1[i * (step)] = c[i] * a - turn * b;                                                  \
            y2[i * (step)] = turn * a + c[i] * b;                                                  \
        }                                                                                          \
    }

TURN(turn_halves, 1)
TURN(turn_neighbours, 2)

static void turn_rows(int64_t begin, int64_t end, void *arg)
{
    const rotary_task *t = arg;
    const rotary_state *s = t->s;
    const rotary_form *f = &s->form;
    int64_t half = s->attr->width / 2;
    float sign = s->attr->inverse ? -1.0f : 1.0f;
    for (int64_t r = begin; r < end; r++) {
        float *y = t->y + r * f->head;
        const float *x = t->x + r * f->head;
        int64_t position =
            f->by_head ? r / (f->heads * f->length) * f->length + r % f->length : r / f->heads;
        const float *c = t->cosine + position * half, *sine = t->sine + position * half;
        if (s->attr->interleaved)
            turn_neighbours(y, y + 1, x, x + 1, c, sine, sign, half);
        else
            turn_halves(y, y + half, x, x + half, c, sine, sign, half);
        if (y != x)
            memcpy(y + 2 * half, x + 2 * half, (size_t)(f->head - 2 * half) * sizeof *y);
    }
}

static void run_rotary(const cpu_node *n, const cpu_call *c)
{
    const rotary_state *s = n->state;
    rotary_task t = {.s = s, .y = c->out[0], .x = c->in[0], .cosine = c->in[1], .sine = c->in[2]};
    team_for(s->form.rows, ROTARY_GRAIN / s->form.head + 1, turn_rows, &t);
}

status cpu_plan_rotary(cpu_node *n)
{
    rotary_state *s = node_runs(n, run_rotary, sizeof *s);
    s->attr = n->node->attr;
    s->form = rotary_form_of(s->attr, &node_in(n, 0)->shape);
    return OK;
}
