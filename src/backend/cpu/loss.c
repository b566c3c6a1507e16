/*
 * SoftmaxCrossEntropyLoss, NegativeLogLikelihoodLoss and their gradients. Scores are [N,C,inner],
 * labels [N,inner]; a row is one (n, i). Rows are few beside scores, so they are summed one after
 * the other, in double. Of a softmax only two numbers a row are kept, its largest score and the
 * logarithm of its sum; backward makes it again over the scores, in their place.
 */
#include "backend/cpu/lanes.h"
#include "backend/cpu/program.h"
#include "backend/cpu/softmax.h"
#include "backend/cpu/team.h"
#include "backend/math.h"
#include "graph/axis_split.h"

#include <inttypes.h>
#include <string.h>

enum { LOSS_GRAIN = 8192 }; /* elements */

typedef struct loss_state {
    int64_t n, classes, inner;
    bool narrow; /* labels are int32 */
    const sce_attr *attr;
} loss_state;

typedef struct loss_task {
    const loss_state *s;
    const float *x; /* scores */
    float *max, *log_sum;
    /* backward: */
    float *y;     /* dscores, may be x */
    float *scale; /* by row */
    float *own;   /* by row: the label's score */
    const void *labels;
} loss_task;

static status plan_any(cpu_node *n, const graph_value *scores,
                       const graph_value *labels, error *err)
{
    if (scores->dtype != DT_F32)
        return FAIL(err, E_UNSUPPORTED, "scores in %s, known is float32",
                    dtype_name(scores->dtype));
    loss_state *s = node_alloc(n, sizeof *s);
    axis_split at = axis_split_of(&scores->shape, 1);
    *s = (loss_state){.n = at.outer, .classes = at.n, .inner = at.inner};
    s->narrow = labels->dtype == DT_I32;
    s->attr = n->node->attr;
    n->state = s;
    return OK;
}

static int64_t label_at(const loss_state *s, const void *labels, int64_t row)
{
    return s->narrow ? ((const int32_t *)labels)[row] : ((const int64_t *)labels)[row];
}

/* Where the score of a row's label stands. */
static int64_t own_at(const loss_state *s, int64_t row, int64_t label)
{
    return (row / s->inner * s->classes + label) * s->inner + row % s->inner;
}

static bool is_ignored(const loss_state *s, int64_t label)
{
    return s->attr->has_ignore_index && label == s->attr->ignore_index;
}

static status check_labels(const loss_state *s, const void *labels, error *err)
{
    for (int64_t row = 0; row < s->n * s->inner; row++) {
        int64_t label = label_at(s, labels, row);
        if ((label < 0 || label >= s->classes) && !is_ignored(s, label))
            return FAIL(err, E_DATA, "row %" PRId64 ": label %" PRId64 " is outside 0..%" PRId64,
                        row, label, s->classes - 1);
    }
    return OK;
}

/* The weight a row counts with; 0 for an ignored one. */
static float weight_of(const loss_state *s, int64_t label, const float *weights)
{
    if (is_ignored(s, label))
        return 0.0f;
    return weights ? weights[label] : 1.0f;
}

static double total_weight(const loss_state *s, const void *labels, const float *weights)
{
    double sum = 0.0;
    for (int64_t row = 0; row < s->n * s->inner; row++)
        sum += (double)weight_of(s, label_at(s, labels, row), weights);
    return sum;
}

static int64_t outer_grain(const loss_state *s)
{
    return LOSS_GRAIN / (s->classes * s->inner + 1) + 1;
}

static void measure_outer(int64_t begin, int64_t end, void *arg)
{
    const loss_task *t = arg;
    const loss_state *s = t->s;
    for (int64_t o = begin; o < end; o++) {
        const float *x = t->x + o * s->classes * s->inner;
        int64_t row = o * s->inner;
        if (s->inner == 1) {
            softmax_measure_row(x, s->classes, &t->max[row], &t->log_sum[row]);
            continue;
        }
        for (int64_t i = 0; i < s->inner; i += LANES) {
            int width = s->inner - i < LANES ? (int)(s->inner - i) : LANES;
            softmax_measure_columns(x + i, s->classes, s->inner, width, &t->max[row + i],
                                    &t->log_sum[row + i]);
        }
    }
}

static status run_loss(const cpu_node *n, const cpu_call *c, error *err)
{
    const loss_state *s = n->state;
    const void *labels = c->in[1];
    const float *weights = c->in[2];
    float *loss = c->out[0];
    loss_task t = {.s = s, .x = c->in[0], .max = c->out[1], .log_sum = c->out[2]};
    TRY(check_labels(s, labels, err));
    if (!s->attr->log_probs)
        team_for(s->n, outer_grain(s), measure_outer, &t);
    double sum = 0.0;
    for (int64_t row = 0; row < s->n * s->inner; row++) {
        int64_t label = label_at(s, labels, row);
        float w = weight_of(s, label, weights), one = 0.0f;
        if (w != 0.0f) {
            float own = t.x[own_at(s, row, label)];
            one = -w * (s->attr->log_probs ? own : (own - t.max[row]) - t.log_sum[row]);
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

status cpu_plan_loss(cpu_node *n)
{
    TRY(plan_any(n, node_in(n, 0), node_in(n, 1), n->err));
    n->body = run_loss;
    return OK;
}

SIMD_CLONES
static void exp_scaled(float *y, const float *x, float max, float log_sum, float scale, int64_t n)
{
    SIMD_LOOP
    for (int64_t i = 0; i < n; i++)
        y[i] = vec_exp((x[i] - max) - log_sum) * scale;
}

SIMD_CLONES
static void exp_scaled_each(float *y, const float *x, const float *max, const float *log_sum,
                            const float *scale, int64_t n)
{
    SIMD_LOOP
    for (int64_t i = 0; i < n; i++)
        y[i] = vec_exp((x[i] - max[i]) - log_sum[i]) * scale[i];
}

/* softmax times the row's scale, then the label's own entry less that scale */
static void backward_outer(int64_t begin, int64_t end, void *arg)
{
    const loss_task *t = arg;
    const loss_state *s = t->s;
    for (int64_t o = begin; o < end; o++) {
        int64_t at = o * s->classes * s->inner, row = o * s->inner;
        for (int64_t i = row; i < row + s->inner; i++)
            if (t->scale[i] != 0.0f)
                t->own[i] = t->x[own_at(s, i, label_at(s, t->labels, i))];
        if (s->inner == 1)
            exp_scaled(t->y + at, t->x + at, t->max[row], t->log_sum[row], t->scale[row],
                       s->classes);
        else
            for (int64_t k = at; k < at + s->classes * s->inner; k += s->inner)
                exp_scaled_each(t->y + k, t->x + k, t->max + row, t->log_sum + row, t->scale + row,
                                s->inner);
        for (int64_t i = row; i < row + s->inner; i++)
            if (t->scale[i] != 0.0f)
                t->y[own_at(s, i, label_at(s, t->labels, i))] =
                    (vec_exp((t->own[i] - t->max[i]) - t->log_sum[i]) - 1.0f) * t->scale[i];
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
            t->y[own_at(s, row, label_at(s, t->labels, row))] = -t->scale[row];
}

static void fill_scale(const loss_task *t, const float *dloss, const float *weights)
{
    const loss_state *s = t->s;
    float by = 1.0f;
    if (s->attr->reduction == SCE_MEAN)
        by = (float)(1.0 / total_weight(s, t->labels, weights));
    for (int64_t row = 0; row < s->n * s->inner; row++) {
        float w = weight_of(s, label_at(s, t->labels, row), weights);
        float d = s->attr->reduction == SCE_NONE ? dloss[row] : dloss[0] * by;
        t->scale[row] = w != 0.0f ? w * d : 0.0f;
    }
}

static status run_loss_bwd(const cpu_node *n, const cpu_call *c, error *err)
{
    const loss_state *s = n->state;
    float *scale = c->scratch;
    loss_task t = {.s = s,
                   .x = c->in[0],
                   .max = (float *)(uintptr_t)c->in[3],
                   .log_sum = (float *)(uintptr_t)c->in[4],
                   .y = c->out[0],
                   .scale = scale,
                   .own = scale + s->n * s->inner,
                   .labels = c->in[2]};
    TRY(check_labels(s, t.labels, err));
    fill_scale(&t, c->in[1], c->in[5]);
    team_for(s->n, outer_grain(s), s->attr->log_probs ? backward_given_outer : backward_outer, &t);
    return OK;
}

status cpu_plan_loss_bwd(cpu_node *n)
{
    TRY(plan_any(n, node_in(n, 0), node_in(n, 2), n->err));
    const loss_state *s = n->state;
    n->body = run_loss_bwd;
    n->scratch_bytes = (size_t)(2 * s->n * s->inner) * sizeof(float);
    return OK;
}
