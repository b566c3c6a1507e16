/* GroupNormalization, InstanceNormalization and their gradient. */
#include "backend/cuda/kernels/group_norm.h"
#include "backend/cuda/plan/pieces.h"
#include "backend/cuda/plan/plan.h"
#include "common/base/alloc.h"
#include "graph/axis_split.h"

enum { PIECE_BYTES = 16, SUMS_BYTES = 8, LINE_BYTES = 16, ALIGN = 256 };

typedef struct norm_state {
    launch_group_norm_call call;
    size_t lines, sums; /* where in the scratch they begin, behind the pieces */
} norm_state;

static launch_group_norm_call call_of(const cuda_node *n, const cuda_call *c)
{
    const norm_state *s = n->state;
    launch_group_norm_call call = s->call;
    call.workspace = c->scratch;
    call.lines = (char *)c->scratch + s->lines;
    call.sums = (char *)c->scratch + s->sums;
    return call;
}

static void run_norm(const cuda_node *n, const cuda_call *c)
{
    launch_group_norm_call call = call_of(n, c);
    launch_group_norm(c->stream, &call, c->out[0], c->out[1], c->out[2], c->in[0], c->in[1],
                      c->in[2]);
}

static void run_norm_bwd(const cuda_node *n, const cuda_call *c)
{
    launch_group_norm_call call = call_of(n, c);
    launch_group_norm_bwd(c->stream, &call, c->out[0], c->out[1], c->out[2], c->in[4], c->in[0],
                          c->in[1], c->in[2], c->in[3]);
}

status cuda_plan_group_norm(cuda_node *n)
{
    bool backward = n->node->op == OP_GROUP_NORMALIZATION_BWD;
    const group_norm_attr *a = n->node->attr;
    axis_split at = axis_split_of(&cuda_in(n, 0)->shape, 1);
    norm_state *s = cuda_node_runs(n, backward ? run_norm_bwd : run_norm, sizeof *s);
    launch_group_norm_call *c = &s->call;
    *c = (launch_group_norm_call){.type = cuda_launch_type(cuda_in_storage(n, 0).type),
                                  .batch = at.outer,
                                  .groups = a->groups,
                                  .per_group = at.n / a->groups,
                                  .plane = at.inner,
                                  .epsilon = a->epsilon};
    int64_t channels = at.outer * at.n, sums = backward ? channels : c->batch * c->groups;
    c->pieces = pieces_of(sums, backward ? c->plane : c->per_group * c->plane);
    s->lines = size_round_up(c->pieces > 1 ? (size_t)(c->pieces * sums) * PIECE_BYTES : 0, ALIGN);
    s->sums = s->lines + (size_t)channels * LINE_BYTES;
    n->scratch_bytes = s->sums + (backward ? (size_t)channels * SUMS_BYTES : 0);
    return OK;
}
