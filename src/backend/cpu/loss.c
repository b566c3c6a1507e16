/*
 * SoftmaxCrossEntropyLoss, NegativeLogLikelihoodLoss and their gradients. Scores are [N,C,inner], labels [N,inner]; a row is one
 * (n, i). Rows are few beside scores, so they are summed one after the other, in double.
 */
#include "backend/cpu/program.h"
#include "backend/cpu/softmax.h"
#include "backend/cpu/team.h"
#include "backend/cpu/vecmath.h"
#include "common/base/alloc.h"

#include <inttypes.h>
#include <string.h>

enum { LOSS_GRAIN = 8192 }; /* elements */

typedef struct loss_state {
    int64_t n, classes, inner;
    const sce_attr *attr;
} loss_state;

typedef struct loss_task {
    const loss_state *s;
    float *y;       /* log_prob, or dscores */
    const float *x; /* scores, or log_prob */
    const int64_t *labels;
    const float *scale; /* backward: by row */
} loss_task;

static status plan_any(backend_program *p, cpu_node *n, const graph_value *scores,
                       const graph_value *labels, error *err)
{
    if (labels->dtype != DT_I64)
        return FAIL(err, E_UNSUPPORTED, "labels in %s, known is int64", dtype_name(labels->dtype));
    loss_state *s = arena_alloc(p->arena, sizeof *s);
    *s = (loss_state){.n = scores->shape.dim[0], .classes = scores->shape.dim[1], .inner = 1};
    for (int i = 2; i < scores->shape.rank; i++)
        s->inner *= scores->shape.dim[i];
    s->attr = n->node->attr;
    n->state = s;
    return OK;
}

static bool is_ignored(const loss_state *s, int64_t label)
{
    return s->attr->has_ignore_index && label == s->attr->ignore_index;
}

static status check_labels(const loss_state *s, const int64_t *labels, error *err)
{
    for (int64_t row = 0; row < s->n * s->inner; row++)
        if ((labels[row] < 0 || labels[row] >= s->classes) && !is_ignored(s, labels[row]))
            return FAIL(err, E_DATA, "row %" PRId64 ": label %" PRId64 " is outside 0..%" PRId64,
                        row, labels[row], s->classes - 1);
    return OK;
}

/* The weight a row counts with; 0 for an ignored one. */
static float weight_of(const loss_state *s, int64_t label, const float *weights)
{
    if (is_ignored(s, label))
        return 0.0f;
    return weights ? weights[label] : 1.0f;
}

static double total_weight(const loss_state *s, const int64_t *labels, const float *weights)
{
    double sum = 0.0;
    for (int64_t row = 0; row < s->n * s->inner; row++)
        sum += (double)weight_of(s, labels[row], weights);
    return sum;
}

static int64_t outer_grain(const loss_state *s)
{
    return LOSS_GRAIN / (s->classes * s->inner + 1) + 1;
}

static void log_prob_outer(int64_t begin, int64_t end, void *arg)
{
    const loss_task *t = arg;
    const loss_state *s = t->s;
    for (int64_t o = begin; o < end; o++) {
        int64_t at = o * s->classes * s->inner;
        if (s->inner == 1) {
            softmax_log_row(t->y + at, t->x + at, s->classes);
            continue;
        }
        for (int64_t i = 0; i < s->inner; i += LANES) {
            int width = s->inner - i < LANES ? (int)(s->inner - i) : LANES;
            softmax_log_columns(t->y + at + i, t->x + at + i, s->classes, s->inner, width);
        }
    }
}

static status run_loss(const cpu_node *n, const cpu_call *c, error *err)
{
    const loss_state *s = n->state;
    const int64_t *labels = c->in[1];
    const float *weights = c->in[2];
    TRY(check_labels(s, labels, err));
    float *loss = c->out[0], *taken = c->out[1] ? c->out[1] : c->scratch;
    const float *log_prob = s->attr->log_probs ? c->in[0] : taken;
    loss_task t = {.s = s, .y = taken, .x = c->in[0]};
    if (!s->attr->log_probs)
        team_for(s->n, outer_grain(s), log_prob_outer, &t);
    double sum = 0.0;
    for (int64_t row = 0; row < s->n * s->inner; row++) {
        float w = weight_of(s, labels[row], weights), one = 0.0f;
        if (w != 0.0f) {
            int64_t o = row / s->inner, i = row % s->inner;
            one = -w * log_prob[(o * s->classes + labels[row]) * s->inner + i];
        }
        if (s->attr->reduction == SCE_NONE)
            loss[row] = one;
        sum += (double)one;
    }
    if (s->attr->reduction == SCE_SUM)
        loss[0] = (float)sum;
    else if (s->attr->reduction == SCE_MEAN)
        loss[0] = (float)(sum / total_weight(s, labels, weights));
    return OK;
}

status plan_loss(backend_program *p, cpu_node *n, error *err)
{
    TRY(plan_any(p, n, node_in(n, 0), node_in(n, 1), err));
    const loss_state *s = n->state;
    n->body = run_loss;
    if (!node_out(n, 1) && !s->attr->log_probs)
        n->scratch_bytes = (size_t)(s->n * s->classes * s->inner) * sizeof(float);
    return OK;
}

SIMD_CLONES
static void exp_scaled(float *y, const float *x, float scale, int64_t n)
{
    SIMD_LOOP
    for (int64_t i = 0; i < n; i++)
        y[i] = vec_exp(x[i]) * scale;
}

SIMD_CLONES
static void exp_scaled_each(float *y, const float *x, const float *scale, int64_t n)
{
    SIMD_LOOP
    for (int64_t i = 0; i < n; i++)
        y[i] = vec_exp(x[i]) * scale[i];
}

/* softmax times the row's scale, then the label's own entry less that scale */
static void backward_outer(int64_t begin, int64_t end, void *arg)
{
    const loss_task *t = arg;
    const loss_state *s = t->s;
    for (int64_t o = begin; o < end; o++) {
        int64_t at = o * s->classes * s->inner, row = o * s->inner;
        if (s->inner == 1)
            exp_scaled(t->y + at, t->x + at, t->scale[row], s->classes);
        else
            for (int64_t k = 0; k < s->classes; k++)
                exp_scaled_each(t->y + at + k * s->inner, t->x + at + k * s->inner, t->scale + row,
                                s->inner);
        for (int64_t i = 0; i < s->inner; i++) {
            float scale = t->scale[row + i];
            if (scale == 0.0f)
                continue;
            int64_t e = at + t->labels[row + i] * s->inner + i;
            t->y[e] = (vec_exp(t->x[e]) - 1.0f) * scale;
        }
    }
}

/* of logarithms of probabilities: less the row's scale at the label, nothing elsewhere */
static void backward_given_outer(int64_t begin, int64_t end, void *arg)
{
    const loss_task *t = arg;
    const loss_state *s = t->s;
    int64_t each = s->classes * s->inner;
    memset(t->y + begin * each, 0, (size_t)((end - begin) * each) * sizeof(float));
    for (int64_t row = begin * s->inner; row < end * s->inner; row++)
        if (t->scale[row] != 0.0f)
            t->y[row / s->inner * each + t->labels[row] * s->inner + row % s->inner] =
                -t->scale[row];
}

static status run_loss_bwd(const cpu_node *n, const cpu_call *c, error *err)
{
    const loss_state *s = n->state;
    const float *dloss = c->in[0], *weights = c->in[3];
    const int64_t *labels = c->in[2];
    TRY(check_labels(s, labels, err));
    float *scale = c->scratch;
    float by = 1.0f;
    if (s->attr->reduction == SCE_MEAN)
        by = (float)(1.0 / total_weight(s, labels, weights));
    for (int64_t row = 0; row < s->n * s->inner; row++) {
        float w = weight_of(s, labels[row], weights);
        float d = s->attr->reduction == SCE_NONE ? dloss[row] : dloss[0] * by;
        scale[row] = w != 0.0f ? w * d : 0.0f;
    }
    loss_task t = {.s = s, .y = c->out[0], .x = c->in[1], .labels = labels, .scale = scale};
    team_for(s->n, outer_grain(s), s->attr->log_probs ? backward_given_outer : backward_outer, &t);
    return OK;
}

status plan_loss_bwd(backend_program *p, cpu_node *n, error *err)
{
    TRY(plan_any(p, n, node_in(n, 1), node_in(n, 2), err));
    const loss_state *s = n->state;
    n->body = run_loss_bwd;
    n->scratch_bytes = (size_t)(s->n * s->inner) * sizeof(float);
    return OK;
}
