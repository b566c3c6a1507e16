/*
 * Convolution and its gradients on oneDNN. Every operand may lie as oneDNN likes best; weights are
 * plain in the flat vector, so they are reordered at each run, which costs little beside the work.
 * In bfloat16 that reorder rounds the weights, or where rounded factors lie as floats (factor.h) a
 * pass behind it does; what is multiplied with them was rounded before, and sums and results are
 * float32.
 */
#include "backend/cpu/depthwise.h"
#include "backend/cpu/planes.h"
#include "backend/cpu/program.h"
#include "backend/cpu/team.h"
#include "backend/cpu/window.h"
#include "common/base/alloc.h"

#include <string.h>

/* Layouts of x, w, b, y: any for what oneDNN may choose. */
typedef struct conv_layouts {
    shim_window window;
    const shim_layout *x, *w, *b, *y;
    const shim_layout *w_view; /* plain; [group, M/group, C/group, kernel...] when grouped */
} conv_layouts;

static void grouped_shape(const graph_shape *w, int64_t group, graph_shape *ret)
{
    *ret = *w;
    if (group == 1)
        return;
    ret->rank = w->rank + 1;
    ret->dim[0] = group;
    ret->dim[1] = w->dim[0] / group;
    memcpy(ret->dim + 2, w->dim + 1, (size_t)(w->rank - 1) * sizeof *w->dim);
}

/* What the convolution makes; the others are factors, in bfloat16 if it is to multiply that. */
typedef enum conv_result { MAKES_Y, MAKES_X, MAKES_W } conv_result;

static status operand(backend_program *p, const graph_shape *s, bool bf16, const shim_layout **ret,
                      error *err)
{
    TRY(layout_any(p, s, ret, err));
    return bf16 ? shim_layout_in_bf16(p->shim, *ret, ret, err) : OK;
}

/* Which type is multiplied, input 0 says. */
static status describe(const cpu_node *n, conv_result result,
                       conv_layouts *ret, error *err)
{
    bool bf16 = node_factor_form(n, 0) == FACTOR_BF16;
    window w = window_of(n->program->g, n->node);
    graph_shape grouped, bias = {.rank = 1, .dim = {w.w.dim[0]}};
    ret->window = window_shim(&w);
    grouped_shape(&w.w, ((const conv_attr *)n->node->attr)->group, &grouped);
    TRY(operand(n->program, &w.x, bf16 && result != MAKES_X, &ret->x, err));
    TRY(operand(n->program, &w.y, bf16 && result != MAKES_Y, &ret->y, err));
    TRY(operand(n->program, &grouped, bf16 && result != MAKES_W, &ret->w, err));
    TRY(layout_plain(n->program, &grouped, &ret->w_view, err));
    return layout_plain(n->program, &bias, &ret->b, err);
}

/* What reads weights. */
typedef struct conv_state {
    shim_primitive *conv;
    int64_t n_rounded; /* weights that a pass rounds; 0: none does */
    size_t rounded_at; /* where it puts them in the scratch memory */
    planes p;          /* ConvTranspose: of y; batch 0: there is no bias */
} conv_state;

static conv_state *conv_state_new(cpu_node *n, shim_primitive *conv)
{
    conv_state *s = node_alloc(n, sizeof *s);
    s->conv = conv;
    n->state = s;
    n->scratch_bytes = shim_bytes_of(conv, SHIM_SCRATCH);
    if (node_factor_form(n, 0) == FACTOR_ROUNDED) {
        size_t bytes = shim_bytes_of(conv, SHIM_WEIGHTS);
        s->n_rounded = (int64_t)(bytes / sizeof(float));
        s->rounded_at = size_round_up(n->scratch_bytes, MEM_ALIGN);
        n->scratch_bytes = s->rounded_at + bytes;
    }
    return s;
}

static status set_weights(const conv_state *s, const cpu_call *c, error *err)
{
    if (s->n_rounded == 0)
        return shim_set(s->conv, SHIM_WEIGHTS, c->in[1], err);
    char *rounded = (char *)c->scratch + s->rounded_at;
    factor_round_by_team(rounded, c->in[1], s->n_rounded, FACTOR_ROUNDED);
    return shim_set(s->conv, SHIM_WEIGHTS, rounded, err);
}

static status run_conv(const cpu_node *n, const cpu_call *c, error *err)
{
    const conv_state *s = n->state;
    TRY(shim_set(s->conv, SHIM_SRC, c->in[0], err));
    TRY(set_weights(s, c, err));
    TRY(shim_set(s->conv, SHIM_BIAS, c->in[2], err));
    TRY(shim_set(s->conv, SHIM_DST, c->out[0], err));
    return node_execute(s->conv, c->scratch, err);
}

status cpu_plan_conv(cpu_node *n)
{
    conv_layouts l;
    TRY(describe(n, MAKES_Y, &l, n->err));
    shim_primitive *conv;
    TRY(shim_conv(n->program->shim, &l.window, l.x, l.w, node_in(n, 2) ? l.b : NULL, l.y, &conv, n->err));
    conv_state_new(n, conv);
    n->body = run_conv;
    n->in[0].want = shim_layout_of(conv, SHIM_SRC);
    n->in[1].want = shim_layout_of(conv, SHIM_WEIGHTS);
    n->in[1].view = l.w_view;
    n->out[0].want = shim_layout_of(conv, SHIM_DST);
    return OK;
}

static status run_bwd_data(const cpu_node *n, const cpu_call *c, error *err)
{
    const conv_state *s = n->state;
    TRY(shim_set(s->conv, SHIM_DIFF_DST, c->in[0], err));
    TRY(set_weights(s, c, err));
    TRY(shim_set(s->conv, SHIM_DIFF_SRC, c->out[0], err));
    return node_execute(s->conv, c->scratch, err);
}

/* `plain`: what it makes lies so, whatever oneDNN likes best. */
static status plan_to_data(cpu_node *n, bool plain, conv_state **ret,
                           error *err)
{
    conv_layouts l;
    TRY(describe(n, MAKES_X, &l, err));
    if (plain)
        TRY(layout_plain(n->program, &node_out(n, 0)->shape, &l.x, err));
    shim_primitive *conv;
    TRY(shim_conv_bwd_data(n->program->shim, &l.window, l.x, l.w, l.y, &conv, err));
    *ret = conv_state_new(n, conv);
    n->body = run_bwd_data;
    n->in[0].want = shim_layout_of(conv, SHIM_DIFF_DST);
    n->in[1].want = shim_layout_of(conv, SHIM_WEIGHTS);
    n->in[1].view = l.w_view;
    n->out[0].want = shim_layout_of(conv, SHIM_DIFF_SRC);
    return OK;
}

status cpu_plan_conv_bwd_data(cpu_node *n)
{
    conv_state *s;
    return plan_to_data(n, false, &s, n->err);
}

/* ConvTranspose is the gradient of a convolution for its data, and a bias. */
typedef struct bias_task {
    const planes *p;
    const float *bias;
    float *y;
} bias_task;

static void add_bias(int64_t begin, int64_t end, void *arg)
{
    const bias_task *t = arg;
    const planes *p = t->p;
    for (int64_t i = begin; i < end; i++) {
        float ones[PLANES_BLOCK], bias[PLANES_BLOCK];
        for (int64_t j = 0; j < p->block; j++) {
            int64_t channel = i % p->blocks * p->block + j;
            ones[j] = 1.0f;
            bias[j] = channel < p->channels ? t->bias[channel] : 0.0f;
        }
        planes_affine(t->y + i * p->run, t->y + i * p->run, ones, bias, p->run, p->block);
    }
}

static status run_transpose(const cpu_node *n, const cpu_call *c, error *err)
{
    const conv_state *s = n->state;
    TRY(run_bwd_data(n, c, err));
    bias_task t = {.p = &s->p, .bias = c->in[2], .y = c->out[0]};
    team_for(s->p.batch * s->p.blocks, 1, add_bias, &t);
    return OK;
}

status cpu_plan_conv_transpose(cpu_node *n)
{
    conv_state *s;
    TRY(plan_to_data(n, false, &s, n->err));
    if (node_in(n, 2) && !planes_of(n->out[0].want, &s->p)) {
        TRY(plan_to_data(n, true, &s, n->err));
        BUG_ON(!planes_of(n->out[0].want, &s->p));
    }
    n->body = run_transpose;
    return OK;
}

static status run_bwd_weights(const cpu_node *n, const cpu_call *c, error *err)
{
    shim_primitive *conv = (shim_primitive *)(uintptr_t)n->state;
    TRY(shim_set(conv, SHIM_SRC, c->in[0], err));
    TRY(shim_set(conv, SHIM_DIFF_DST, c->in[1], err));
    TRY(shim_set(conv, SHIM_DIFF_WEIGHTS, c->out[0], err));
    TRY(shim_set(conv, SHIM_DIFF_BIAS, c->out[1], err));
    return node_execute(conv, c->scratch, err);
}

/* Where the convolution itself reads and writes blocks of channels, which are what it is then over. */
static status plan_depthwise(cpu_node *n, const conv_layouts *l, bool *ret, error *err)
{
    shim_primitive *conv;
    TRY(shim_conv(n->program->shim, &l->window, l->x, l->w, NULL, l->y, &conv, err));
    *ret = depthwise_plan_weights(n, shim_layout_of(conv, SHIM_SRC), shim_layout_of(conv, SHIM_DST));
    return OK;
}

status cpu_plan_conv_bwd_weights(cpu_node *n)
{
    const conv_attr *a = n->node->attr;
    conv_layouts l;
    TRY(describe(n, MAKES_W, &l, n->err));
    bool with_bias = a->with_bias && node_out(n, 1);
    shim_primitive *conv;
    TRY(shim_conv_bwd_weights(n->program->shim, &l.window, l.x, l.w, with_bias ? l.b : NULL, l.y, &conv,
                              n->err));
    bool is_depthwise = false;
    if (a->group > 1 && shim_is_general(conv) && node_factor_form(n, 0) != FACTOR_BF16)
        TRY(plan_depthwise(n, &l, &is_depthwise, n->err));
    if (is_depthwise)
        return OK;
    n->body = run_bwd_weights;
    n->state = conv;
    n->scratch_bytes = shim_bytes_of(conv, SHIM_SCRATCH);
    n->in[0].want = shim_layout_of(conv, SHIM_SRC);
    n->in[1].want = shim_layout_of(conv, SHIM_DIFF_DST);
    n->out[0].want = shim_layout_of(conv, SHIM_DIFF_WEIGHTS);
    n->out[0].view = l.w_view;
    return OK;
}
