#include "optim/whole.h"

#include "common/base/alloc.h"
#include "common/base/detmath.h"
#include "common/base/simd.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK = 4096 };

/* What a tensor has of one block. */
typedef struct block {
    size_t at, n;
    double weight, direction; /* sums of squares */
} block;

struct whole_step {
    const update_part *u;
    whole_vectors v;
    block *blocks;
    size_t n_blocks;
    float *trust;         /* [spans of the part] */
    update_span *others;  /* what moves by other rules than the optimizer's */
    update_part by_others;
};

/* --- life --- */

whole_step *whole_create(size_t most_spans, size_t most_elements)
{
    whole_step *w = xcalloc(1, sizeof *w);
    w->blocks = xcalloc(most_elements / BLOCK + most_spans + 1, sizeof *w->blocks);
    w->trust = xcalloc(most_spans + 1, sizeof *w->trust);
    w->others = xcalloc(most_spans + 1, sizeof *w->others);
    return w;
}

void whole_destroy(whole_step **w)
{
    if (!*w)
        return;
    free((*w)->blocks);
    free((*w)->trust);
    free((*w)->others);
    free(*w);
    *w = NULL;
}

size_t whole_begin(whole_step *w, const update_part *u, whole_vectors v)
{
    BUG_ON(v.weight_in == v.weight_out);
    w->u = u;
    w->v = v;
    w->n_blocks = 0;
    w->by_others = *u;
    w->by_others.spans = w->others;
    w->by_others.n_spans = 0;
    for (size_t i = 0; i < u->n_spans; i++) {
        const update_span *s = &u->spans[i];
        if (s->how < 0)
            w->others[w->by_others.n_spans++] = *s;
        for (size_t at = 0; s->how >= 0 && at < s->n; at += BLOCK)
            w->blocks[w->n_blocks++] = (block){.at = s->first + at, .n = s->n - at < BLOCK ? s->n - at : BLOCK};
    }
    return w->n_blocks;
}

/* --- loops --- */

typedef struct run {
    size_t n;
    const float *grad, *weight, *direction;
    float *weight_out;
    const float *in[OPTIM_SLOTS];
    float *out[OPTIM_SLOTS];
} run;

SIMD_CLONES
static void lars_direct(run r, whole_rule by)
{
    SIMD_LOOP
    for (size_t i = 0; i < r.n; i++)
        r.weight_out[i] = update_gradient_of(r.grad[i], r.weight[i], &by.gradient);
}

SIMD_CLONES
static void lamb_direct(run r, whole_rule by)
{
    const float *in0 = r.in[0], *in1 = r.in[1];
    float *out0 = r.out[0], *out1 = r.out[1];
    SIMD_LOOP
    for (size_t i = 0; i < r.n; i++) {
        float g = update_gradient_of(r.grad[i], r.weight[i], &by.gradient), s[2] = {in0[i], in1[i]};
        update_moments(g, s, &by.moments);
        float move = by.moments.rate * s[0] / (sqrtf(s[1]) / by.moments.root + by.moments.eps);
        out0[i] = s[0];
        out1[i] = s[1];
        r.weight_out[i] = move + by.decay * r.weight[i];
    }
}

SIMD_CLONES
static void lars_move(run r, whole_rule by, float trust)
{
    const float *in0 = r.in[0];
    float *out0 = r.out[0];
    SIMD_LOOP
    for (size_t i = 0; i < r.n; i++) {
        float g = trust * (r.direction[i] + by.decay * r.weight[i]);
        float v = by.keep * in0[i] + by.take * g, move = by.nesterov ? g + by.momentum * v : v;
        out0[i] = v;
        r.weight_out[i] = r.weight[i] - by.rate * move;
    }
}

SIMD_CLONES
static void lamb_move(run r, whole_rule by, float trust)
{
    const float rate = by.rate * trust;
    SIMD_LOOP
    for (size_t i = 0; i < r.n; i++)
        r.weight_out[i] = r.weight[i] - rate * r.direction[i];
}

static const struct {
    void (*direct)(run r, whole_rule by);
    void (*move)(run r, whole_rule by, float trust);
} loops[] = {
    [WHOLE_LARS] = {lars_direct, lars_move},
    [WHOLE_LAMB] = {lamb_direct, lamb_move},
};

/* --- turns --- */

/* The elements of a span from `begin` to `end`; none: n is 0. */
static run run_of(const whole_step *w, const update_span *s, size_t begin, size_t end)
{
    size_t from = s->first > begin ? s->first : begin, to = (size_t)s->first + s->n;
    to = to < end ? to : end;
    if (s->how < 0 || from >= to)
        return (run){.n = 0};
    run r = {.n = to - from,
             .grad = w->v.grad + from,
             .weight = w->v.weight_in + from,
             .direction = w->v.weight_out + from,
             .weight_out = w->v.weight_out + from};
    for (size_t i = 0; i < w->u->slots; i++) {
        r.in[i] = w->v.state_in[i] + from;
        r.out[i] = w->v.state_out[i] + from;
    }
    return r;
}

void whole_direct(whole_step *w, size_t begin, size_t end)
{
    for (size_t i = 0; i < w->u->n_spans; i++) {
        const update_span *s = &w->u->spans[i];
        run r = run_of(w, s, begin, end);
        if (r.n)
            loops[w->u->whole[s->how].kind].direct(r, w->u->whole[s->how]);
    }
}

void whole_measure(whole_step *w, size_t i)
{
    block *b = &w->blocks[i];
    b->weight = optim_square_sum(w->v.weight_in + b->at, b->n);
    b->direction = optim_square_sum(w->v.weight_out + b->at, b->n);
}

static double trust_of(const whole_rule *by, double weight, double direction)
{
    if (!by->is_adaptive || weight == 0 || direction == 0)
        return 1.0;
    return by->coefficient * weight / (direction + by->trust_decay * weight + by->trust_eps);
}

void whole_trust(whole_step *w)
{
    const block *b = w->blocks;
    for (size_t i = 0; i < w->u->n_spans; i++) {
        const update_span *s = &w->u->spans[i];
        double weight = 0, direction = 0;
        for (size_t at = 0; s->how >= 0 && at < s->n; at += BLOCK, b++) {
            weight += b->weight;
            direction += b->direction;
        }
        if (s->how >= 0)
            w->trust[i] = (float)trust_of(&w->u->whole[s->how], det_sqrt(weight), det_sqrt(direction));
    }
}

void whole_move(whole_step *w, size_t begin, size_t end)
{
    const whole_vectors *v = &w->v;
    size_t average = w->u->slots - 1;
    for (size_t i = 0; i < w->u->n_spans; i++) {
        const update_span *s = &w->u->spans[i];
        run r = run_of(w, s, begin, end);
        if (!r.n)
            continue;
        loops[w->u->whole[s->how].kind].move(r, w->u->whole[s->how], w->trust[i]);
        if (w->u->averages)
            optim_average_apply(w->u, r.n, r.weight_out, r.in[average], r.out[average]);
    }
    optim_update(&w->by_others, begin, end, v->grad, v->weight_in, v->weight_out, v->state_in, v->state_out);
}
