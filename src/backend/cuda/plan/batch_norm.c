/* BatchNormalization and its gradient. Scratch: [pieces, vectors nobody wants, what the loops
 * read]. */
#include "backend/cuda/kernels/batch_norm.h"
#include "backend/cuda/load/fuse.h"
#include "backend/cuda/plan/pieces.h"
#include "backend/cuda/plan/plan.h"
#include "common/base/alloc.h"
#include "graph/axis_split.h"

enum {
    MOMENTS_BYTES = 16,  /* of a piece and channel, forward */
    GRADIENTS_BYTES = 8, /* backward */
    LINE_BYTES = 16,     /* of a channel */
    ALIGN = 256,
};

typedef struct norm_state {
    launch_batch_norm_call call;
    bool training;
    size_t vector;         /* bytes of one number a channel */
    size_t vectors, lines; /* where in the scratch they begin */
    int relu_bias;         /* its place among what is read; 0: Relu's gradient is not made */
    int share, shares;     /* backward: places among what is read, and written; 0: none */
} norm_state;

/* Whether there is one place, too. */
bool cuda_norm_is_channels_last(const cuda_node *n)
{
    return axis_split_of(&cuda_in(n, 0)->shape, 1).inner == 1 || cuda_in_storage(n, 0).channels_last;
}

static norm_state *state_new(cuda_node *n, size_t piece_bytes)
{
    const batch_norm_attr *a = n->node->attr;
    axis_split at = axis_split_of(&cuda_in(n, 0)->shape, 1);
    norm_state *s = cuda_node_alloc(n, sizeof *s);
    launch_batch_norm_call *c = &s->call;
    *c = (launch_batch_norm_call){
        .type = cuda_launch_type(cuda_in_storage(n, 0).type),
        .n = at.outer, .channels = at.n, .plane = at.inner, .epsilon = a->epsilon};
    c->channels_last = cuda_norm_is_channels_last(n);
    c->pieces = c->channels_last ? pieces_of_columns(1, c->n * c->plane, c->channels)
                                 : pieces_of(c->channels, c->n * c->plane);
    s->training = a->training;
    s->vector = size_round_up((size_t)c->channels * sizeof(float), ALIGN);
    s->vectors = c->pieces > 1
                     ? size_round_up((size_t)c->pieces * (size_t)c->channels * piece_bytes, ALIGN)
                     : 0;
    s->lines = s->vectors + 2 * s->vector;
    n->state = s;
    n->scratch_bytes = s->lines + (size_t)c->channels * LINE_BYTES;
    return s;
}

static launch_batch_norm_call call_of(const norm_state *s, const cuda_call *c)
{
    launch_batch_norm_call call = s->call;
    call.workspace = c->scratch;
    call.lines = (char *)c->scratch + s->lines;
    return call;
}

/* The output's place, or a piece of scratch where nobody wants it. */
static void *or_scratch(void *wanted, const norm_state *s, int piece, const cuda_call *c)
{
    return wanted ? wanted : (char *)c->scratch + s->vectors + (size_t)piece * s->vector;
}

static void run_norm(const cuda_node *n, const cuda_call *c)
{
    const norm_state *s = n->state;
    launch_batch_norm_call call = call_of(s, c);
    launch_chain_call chain;
    call.behind = cuda_chain_at(n->behind, c, &chain);
    const float *mean = c->in[3], *variance = c->in[4];
    if (s->training) {
        float *made_mean = or_scratch(c->out[1], s, 0, c);
        float *made_variance = or_scratch(c->out[2], s, 1, c);
        launch_batch_norm_statistics(c->stream, &call, made_mean, made_variance, c->in[0]);
        mean = made_mean;
        variance = made_variance;
    }
    launch_batch_norm(c->stream, &call, c->out[0], c->in[0], c->in[1], c->in[2], mean, variance);
}

status cuda_plan_batch_norm(cuda_node *n)
{
    state_new(n, MOMENTS_BYTES);
    n->launch = run_norm;
    return OK;
}

static void run_norm_bwd(const cuda_node *n, const cuda_call *c)
{
    const norm_state *s = n->state;
    launch_batch_norm_call call = call_of(s, c);
    launch_chain_call chain;
    call.before = cuda_chain_at(n->before, c, &chain);
    call.relu_bias = s->relu_bias ? c->in[s->relu_bias] : NULL;
    if (s->shares) {
        call.share = c->in[s->share];
        call.mean_share = c->out[s->shares];
        call.variance_share = c->out[s->shares + 1];
    }
    launch_batch_norm_bwd(c->stream, &call, c->out[0], or_scratch(c->out[1], s, 0, c),
                          or_scratch(c->out[2], s, 1, c), c->in[4], c->in[0], c->in[1], c->in[2],
                          c->in[3], s->training);
}

/* Reads the gradients of Relu's result instead, and the bias, which with the other operands tells
 * what that was made of. The bias is still the forward's: servers move it when they have its
 * gradient, made here. */
static void look_through_relu(cuda_node *n, const cuda_group *group,
                              norm_state *s)
{
    const graph_node *relu = graph_node_at(n->program->g, group->before.at[0].node);
    n->reads[4] = relu->in[0];
    s->relu_bias = n->n_reads;
    n->reads[n->n_reads++] = graph_node_at(n->program->g, group->relu_of)->in[2];
    n->scratch_bytes += (size_t)s->call.channels * LINE_BYTES;
}

static void take_shares(cuda_node *n, const cuda_group *group, norm_state *s)
{
    const graph_node *product = graph_node_at(n->program->g, group->shares[0]);
    s->share = n->n_reads;
    n->reads[n->n_reads++] = product->in[product->in[0] == n->node->in[2]];
    s->shares = n->n_writes;
    for (int k = 0; k < 2; k++)
        n->writes[n->n_writes++] = graph_node_at(n->program->g, group->shares[k])->out[0];
}

status cuda_plan_batch_norm_bwd(cuda_node *n)
{
    norm_state *s = state_new(n, GRADIENTS_BYTES);
    const cuda_group *group = n->program->group[n - n->program->nodes];
    if (group && group->relu_of != GRAPH_NONE)
        look_through_relu(n, group, s);
    if (group && group->shares[0] != GRAPH_NONE)
        take_shares(n, group, s);
    n->launch = run_norm_bwd;
    return OK;
}
