/*
 * Batch normalization on oneDNN, in the layout its input has. In training the outputs carry the
 * statistics of the batch (the variance with divisor N, as ONNX says), otherwise those that came
 * in.
 */
#include "backend/cpu/program.h"
#include "common/base/alloc.h"

#include <float.h>
#include <string.h>

typedef struct norm_state {
    shim_primitive *primitive;
    bool training;
    size_t stat_bytes; /* of one vector over the channels, rounded up */
    size_t channels;
} norm_state;

/* Lanes that only fill a block have the variance 0: an epsilon of 0 would make them NaN, and what reads
 * the blocks. */
static float epsilon_of(const cpu_node *n)
{
    const batch_norm_attr *a = n->node->attr;
    return a->epsilon > 0.0f ? a->epsilon : FLT_MIN;
}

static norm_state *state_new(const cpu_node *n)
{
    norm_state *s = node_alloc(n, sizeof *s);
    s->training = ((const batch_norm_attr *)n->node->attr)->training;
    s->channels = (size_t)node_in(n, 0)->shape.dim[1];
    s->stat_bytes = size_round_up(s->channels * sizeof(float), MEM_ALIGN);
    return s;
}

/* The output's place, or a piece of scratch where nobody wants it. */
static void *or_scratch(void *wanted, const norm_state *s, int piece, const cpu_call *c)
{
    return wanted ? wanted : (char *)c->scratch + (size_t)piece * s->stat_bytes;
}

static status run_norm(const cpu_node *n, const cpu_call *c, error *err)
{
    const norm_state *s = n->state;
    const void *mean = c->in[3], *variance = c->in[4];
    if (s->training) {
        mean = or_scratch(c->out[1], s, 0, c);
        variance = or_scratch(c->out[2], s, 1, c);
    } else {
        if (c->out[1])
            memcpy(c->out[1], mean, s->channels * sizeof(float));
        if (c->out[2])
            memcpy(c->out[2], variance, s->channels * sizeof(float));
    }
    TRY(shim_set(s->primitive, SHIM_SRC, c->in[0], err));
    TRY(shim_set(s->primitive, SHIM_SCALE, c->in[1], err));
    TRY(shim_set(s->primitive, SHIM_SHIFT, c->in[2], err));
    TRY(shim_set(s->primitive, SHIM_MEAN, mean, err));
    TRY(shim_set(s->primitive, SHIM_VARIANCE, variance, err));
    TRY(shim_set(s->primitive, SHIM_DST, c->out[0], err));
    return node_execute(s->primitive, (char *)c->scratch + 2 * s->stat_bytes, err);
}

status cpu_plan_batch_norm(cpu_node *n)
{
    norm_state *s = state_new(n);
    const shim_layout *x = n->program->layout[n->node->in[0]];
    TRY(shim_batch_norm(n->program->shim, x, epsilon_of(n), s->training, &s->primitive, n->err));
    n->body = run_norm;
    n->state = s;
    n->scratch_bytes = 2 * s->stat_bytes + shim_bytes_of(s->primitive, SHIM_SCRATCH);
    n->in[0].want = n->out[0].want = x;
    return OK;
}

static status run_norm_bwd(const cpu_node *n, const cpu_call *c, error *err)
{
    const norm_state *s = n->state;
    TRY(shim_set(s->primitive, SHIM_SRC, c->in[0], err));
    TRY(shim_set(s->primitive, SHIM_SCALE, c->in[1], err));
    TRY(shim_set(s->primitive, SHIM_MEAN, c->in[2], err));
    TRY(shim_set(s->primitive, SHIM_VARIANCE, c->in[3], err));
    TRY(shim_set(s->primitive, SHIM_DIFF_DST, c->in[4], err));
    TRY(shim_set(s->primitive, SHIM_DIFF_SRC, or_scratch(c->out[0], s, 2, c), err));
    TRY(shim_set(s->primitive, SHIM_DIFF_SCALE, or_scratch(c->out[1], s, 0, c), err));
    TRY(shim_set(s->primitive, SHIM_DIFF_SHIFT, or_scratch(c->out[2], s, 1, c), err));
    size_t used = n->scratch_bytes - shim_bytes_of(s->primitive, SHIM_SCRATCH);
    return node_execute(s->primitive, (char *)c->scratch + used, err);
}

status cpu_plan_batch_norm_bwd(cpu_node *n)
{
    norm_state *s = state_new(n);
    const shim_layout *x = n->program->layout[n->node->in[0]];
    TRY(shim_batch_norm_bwd(n->program->shim, x, epsilon_of(n), s->training, &s->primitive,
                            n->err));
    n->body = run_norm_bwd;
    n->state = s;
    size_t dx_bytes = node_out(n, 0) ? 0 : size_round_up(shim_layout_bytes(x), MEM_ALIGN);
    n->scratch_bytes = 2 * s->stat_bytes + dx_bytes + shim_bytes_of(s->primitive, SHIM_SCRATCH);
    n->in[0].want = n->in[4].want = n->out[0].want = x;
    return OK;
}
