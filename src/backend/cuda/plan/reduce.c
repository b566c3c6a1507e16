/* ReduceX, SumTo, and the gradient of ReduceProd. Of float32; some of int64 and int32. */
#include "backend/cuda/kernels/reduce.h"
#include "backend/cuda/plan/pieces.h"
#include "backend/cuda/plan/plan.h"

typedef struct reduce_state {
    launch_reduce_call call;
    bool whole, wide; /* int64 or int32; which */
} reduce_state;

static const launch_reduce_kind reduction_of[OP_COUNT] = {
    [OP_REDUCE_SUM] = LAUNCH_REDUCE_SUM,
    [OP_SUM_TO] = LAUNCH_REDUCE_SUM,
    [OP_REDUCE_MEAN] = LAUNCH_REDUCE_MEAN,
    [OP_REDUCE_L1] = LAUNCH_REDUCE_L1,
    [OP_REDUCE_L2] = LAUNCH_REDUCE_L2,
    [OP_REDUCE_SUM_SQUARE] = LAUNCH_REDUCE_SUM_SQUARE,
    [OP_REDUCE_LOG_SUM] = LAUNCH_REDUCE_LOG_SUM,
    [OP_REDUCE_MAX] = LAUNCH_REDUCE_MAX,
    [OP_REDUCE_MIN] = LAUNCH_REDUCE_MIN,
    [OP_REDUCE_PROD] = LAUNCH_REDUCE_PROD,
    [OP_REDUCE_LOG_SUM_EXP] = LAUNCH_REDUCE_LOG_SUM_EXP,
};

static void run_reduce(const cuda_node *n, const cuda_call *c)
{
    const reduce_state *s = n->state;
    launch_reduce_call call = s->call;
    call.workspace = c->scratch;
    if (s->whole)
        launch_reduce_whole(c->stream, &call, c->out[0], c->in[0], s->wide);
    else
        launch_reduce(c->stream, &call, c->out[0], c->in[0]);
}

static bool has_whole(graph_op op)
{
    return op == OP_REDUCE_SUM || op == OP_REDUCE_MAX || op == OP_REDUCE_MIN ||
           op == OP_REDUCE_PROD;
}

/* The pieces of a sum of floats, and the workspace for what they come to. */
static void plan_pieces(cuda_node *n, launch_reduce_call *c)
{
    const reduce_space *s = &c->space;
    size_t each = c->kind == LAUNCH_REDUCE_LOG_SUM_EXP ? 2 * sizeof(float) : sizeof(float);
    c->pieces = s->last_reduced
                    ? pieces_of(s->kept.count, reduce_depth(s))
                    : pieces_of_columns(s->kept.count, s->reduced.count, s->last);
    if (c->pieces > 1)
        n->scratch_bytes = (size_t)c->pieces * (size_t)reduce_width(s) * each;
}

status cuda_plan_reduce(cuda_node *n)
{
    graph_op op = n->node->op;
    dtype t = cuda_in(n, 0)->dtype;
    reduce_state *s = cuda_node_runs(n, run_reduce, sizeof *s);
    s->wide = t == DT_I64;
    s->whole = s->wide || t == DT_I32;
    if (!s->whole && t != DT_F32)
        return FAIL(n->err, E_UNSUPPORTED, "reductions of %s", dtype_name(t));
    if (s->whole && !has_whole(op))
        return FAIL(n->err, E_UNSUPPORTED, "of whole numbers there are sum, product and extremes");
    reduce_space_of(n->node, &cuda_in(n, 0)->shape, &cuda_out(n, 0)->shape, &s->call.space);
    s->call.type = cuda_launch_type(cuda_in_storage(n, 0).type);
    s->call.kind = reduction_of[op];
    s->call.divisor = (float)reduce_depth(&s->call.space);
    if (!s->whole)
        plan_pieces(n, &s->call);
    return OK;
}

static void run_prod_bwd(const cuda_node *n, const cuda_call *c)
{
    launch_reduce_prod_bwd(c->stream, n->state, c->out[0], c->in[0], c->in[1]);
}

status cuda_plan_reduce_prod_bwd(cuda_node *n)
{
    reduce_space *s = cuda_node_runs(n, run_prod_bwd, sizeof *s);
    reduce_space_of(n->node, &cuda_in(n, 1)->shape, &cuda_in(n, 0)->shape, s);
    return OK;
}
