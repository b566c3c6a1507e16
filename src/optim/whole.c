#include "optim/whole.h"

#include "common/base/alloc.h"
#include "common/base/detmath.h"
#include "common/base/simd.h"
#include "optim/adafactor.h"
#include "optim/muon.h"

#include <stdlib.h>
#include <string.h>

enum {
    BLOCK = 4096,
    ROOM_ALIGN = 16, /* floats, of a tensor's */
};

/* What a tensor has of one block. */
typedef struct block {
    size_t at, n;
    double weight, direction; /* sums of squares */
} block;

/* What a tensor has of its own. */
typedef struct share {
    float trust; /* of the direction */
    float keep;  /* of the weight */
    float *room; /* that the tensor works in */
} share;

struct whole_step {
    const update_part *u;
    whole_vectors v;
    block *blocks;
    size_t n_blocks;
    share *shares;        /* [spans of the part] */
    float *room;
    size_t n_room;
    update_span *others;  /* what moves by other rules than the optimizer's */
    update_part by_others;
};

/* --- life --- */

/* A tensor's, by floats for each of its elements. */
static size_t room_for(size_t each, size_t n)
{
    return (each * n + ROOM_ALIGN - 1) / ROOM_ALIGN * ROOM_ALIGN;
}

static size_t room_of_tensor(const tensor_decl *t, const optim *moved_by, size_t n)
{
    bool by_element = t->kind != TENSOR_TRAINABLE || (moved_by->kind == OPTIM_MUON && t->rank < 2);
    return by_element ? 0 : room_for(optim_room(moved_by), n);
}

size_t whole_room(const flat *f, const optim_group *groups)
{
    size_t most = 0;
    for (int32_t p = 0; p < f->n_live_parts; p++) {
        size_t n, sum = 0;
        const part_segment *s = flat_part_segments(f, p, &n);
        for (size_t i = 0; i < n; i++) {
            const tensor_decl *t = &f->tensors[s[i].tensor];
            sum += room_of_tensor(t, &groups[t->group].optim, (size_t)s[i].n);
        }
        most = sum > most ? sum : most;
    }
    return most;
}

status whole_create(size_t most_spans, size_t most_elements, size_t room, whole_step **ret, error *err)
{
    void *memory;
    TRY(mem_alloc(room * sizeof(float), "what the optimizer works in", &memory, err));
    whole_step *w = xcalloc(1, sizeof *w);
    w->blocks = xcalloc(most_elements / BLOCK + most_spans + 1, sizeof *w->blocks);
    w->shares = xcalloc(most_spans + 1, sizeof *w->shares);
    w->n_room = room;
    w->room = memory;
    w->others = xcalloc(most_spans + 1, sizeof *w->others);
    *ret = w;
    return OK;
}

void whole_destroy(whole_step **w)
{
    if (!*w)
        return;
    free((*w)->blocks);
    free((*w)->shares);
    mem_free((*w)->room);
    free((*w)->others);
    free(*w);
    *w = NULL;
}

static bool is_measured(const whole_rule *by)
{
    return by->kind == WHOLE_LARS || by->kind == WHOLE_LAMB;
}

/* The rule of a span that goes by one of these; NULL: element by element, or not at all. */
static const whole_rule *rule_of(const update_part *u, size_t i)
{
    const update_span *s = &u->spans[i];
    const whole_rule *by = s->how < 0 ? NULL : &u->whole[s->how];
    bool is_plain = by && by->kind == WHOLE_MUON && (by->by_element || u->shapes[i].rank < 2);
    return is_plain ? NULL : by;
}

size_t whole_begin(whole_step *w, const update_part *u, whole_vectors v)
{
    size_t room = 0;
    BUG_ON(v.weight_in == v.weight_out);
    w->u = u;
    w->v = v;
    w->n_blocks = 0;
    w->by_others = *u;
    w->by_others.spans = w->others;
    w->by_others.n_spans = 0;
    for (size_t i = 0; i < u->n_spans; i++) {
        const update_span *s = &u->spans[i];
        const whole_rule *by = rule_of(u, i);
        if (!by)
            w->others[w->by_others.n_spans++] = *s;
        w->shares[i].room = w->room + room;
        room += by ? room_for(by->room, s->n) : 0;
        for (size_t at = 0; by && is_measured(by) && at < s->n; at += BLOCK)
            w->blocks[w->n_blocks++] = (block){.at = s->first + at, .n = s->n - at < BLOCK ? s->n - at : BLOCK};
    }
    BUG_ON(room > w->n_room);
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
static void muon_direct(run r, whole_rule by)
{
    const float *in0 = r.in[0];
    float *out0 = r.out[0];
    SIMD_LOOP
    for (size_t i = 0; i < r.n; i++) {
        float g = update_gradient_of(r.grad[i], r.weight[i], &by.gradient);
        float m = by.momentum * in0[i] + by.take * g;
        out0[i] = m;
        r.weight_out[i] = by.nesterov ? by.momentum * m + by.take * g : m;
    }
}

SIMD_CLONES
static void lars_move(run r, whole_rule by, share own)
{
    const float *in0 = r.in[0], trust = own.trust;
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
static void lamb_move(run r, whole_rule by, share own)
{
    const float rate = by.rate * own.trust;
    SIMD_LOOP
    for (size_t i = 0; i < r.n; i++)
        r.weight_out[i] = r.weight[i] - rate * r.direction[i];
}

SIMD_CLONES
static void plain_move(run r, whole_rule by, share own)
{
    (void)by;
    SIMD_LOOP
    for (size_t i = 0; i < r.n; i++)
        r.weight_out[i] = own.keep * r.weight[i] - own.trust * r.direction[i];
}

SIMD_CLONES
static void mean_move(run r, whole_rule by, share own)
{
    const float *in1 = r.in[1];
    float *out1 = r.out[1];
    SIMD_LOOP
    for (size_t i = 0; i < r.n; i++) {
        float m = by.momentum * in1[i] + by.take * (own.trust * r.direction[i]);
        out1[i] = m;
        r.weight_out[i] = own.keep * r.weight[i] - m;
    }
}

static void adafactor_move(run r, whole_rule by, share own)
{
    (by.keeps_mean ? mean_move : plain_move)(r, by, own);
}

static const struct {
    void (*direct)(run r, whole_rule by);
    void (*move)(run r, whole_rule by, share own);
} loops[] = {
    [WHOLE_LARS] = {lars_direct, lars_move},
    [WHOLE_LAMB] = {lamb_direct, lamb_move},
    [WHOLE_ADAFACTOR] = {lars_direct, adafactor_move},
    [WHOLE_MUON] = {muon_direct, plain_move},
};

/* --- turns --- */

/* The elements of a span from `begin` to `end`; none: n is 0. */
static run run_of(const whole_step *w, size_t span, size_t begin, size_t end)
{
    const update_span *s = &w->u->spans[span];
    size_t from = s->first > begin ? s->first : begin, to = (size_t)s->first + s->n;
    to = to < end ? to : end;
    if (!rule_of(w->u, span) || from >= to)
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
        run r = run_of(w, i, begin, end);
        if (r.n)
            loops[w->u->whole[s->how].kind].direct(r, w->u->whole[s->how]);
    }
}

/* --- a tensor at a time --- */

static double rms(const float *x, size_t n)
{
    double sum = 0;
    for (size_t at = 0; at < n; at += BLOCK)
        sum += optim_square_sum(x + at, n - at < BLOCK ? n - at : BLOCK);
    return det_sqrt(sum / (double)n);
}

static share adafactor_tensor(const whole_step *w, const update_span *s, const update_shape *shape,
                              const whole_rule *by, float *room)
{
    const size_t at = s->first;
    const adafactor_shape lies = shape->rank < 2 ? (adafactor_shape){.matrices = 1}
                                                 : adafactor_shape_of(s->n, shape->before_last, shape->last);
    const double size = by->eps_scale > 0 ? rms(w->v.weight_in + at, s->n) : 1.0;
    const double rate = by->step * (size > by->eps_scale ? size : by->eps_scale);
    adafactor_divide(w->v.weight_out + at, s->n, lies, by->second_keep, by->eps, w->v.state_in[0] + at,
                     w->v.state_out[0] + at, room);
    const double over = rms(w->v.weight_out + at, s->n) / by->clip_threshold;
    return (share){.trust = (float)(rate / (over > 1.0 ? over : 1.0)), .keep = (float)(1.0 - rate * (double)by->decay)};
}

static share muon_tensor(const whole_step *w, const update_span *s, const update_shape *shape, const whole_rule *by,
                         float *room)
{
    static const double eps = 1e-7; /* of the norm */
    const size_t at = s->first;
    const int64_t rows = shape->first, columns = s->n / rows;
    const double tall = (double)rows / (double)columns, longer = (double)(rows > columns ? rows : columns);
    const double share_of = by->matches_rms ? 0.2 * det_sqrt(longer) : det_sqrt(tall > 1.0 ? tall : 1.0);
    muon_orthogonalise(w->v.weight_out + at, rows, columns, by->ns_steps, eps, room);
    if (w->v.state_in[1] != w->v.state_out[1])
        memcpy(w->v.state_out[1] + at, w->v.state_in[1] + at, s->n * sizeof(float));
    return (share){.trust = (float)(by->step * share_of), .keep = (float)(1.0 - by->step * (double)by->decay)};
}

void whole_tensor(whole_step *w, size_t i)
{
    const whole_rule *by = rule_of(w->u, i);
    const update_span *s = &w->u->spans[i];
    if (!by || is_measured(by))
        return;
    w->shares[i] =
        (by->kind == WHOLE_MUON ? muon_tensor : adafactor_tensor)(w, s, &w->u->shapes[i], by, w->shares[i].room);
}

/* --- norms --- */

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
        const whole_rule *by = rule_of(w->u, i);
        double weight = 0, direction = 0;
        if (!by || !is_measured(by))
            continue;
        for (size_t at = 0; at < s->n; at += BLOCK, b++) {
            weight += b->weight;
            direction += b->direction;
        }
        w->shares[i].trust = (float)trust_of(by, det_sqrt(weight), det_sqrt(direction));
    }
}

void whole_move(whole_step *w, size_t begin, size_t end)
{
    const whole_vectors *v = &w->v;
    size_t average = w->u->slots - 1;
    for (size_t i = 0; i < w->u->n_spans; i++) {
        const update_span *s = &w->u->spans[i];
        run r = run_of(w, i, begin, end);
        if (!r.n)
            continue;
        loops[w->u->whole[s->how].kind].move(r, w->u->whole[s->how], w->shares[i]);
        if (w->u->averages)
            optim_average_apply(w->u, r.n, r.weight_out, r.in[average], r.out[average]);
    }
    optim_update(&w->by_others, begin, end, v->grad, v->weight_in, v->weight_out, v->state_in, v->state_out);
}
