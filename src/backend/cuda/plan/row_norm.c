/* LayerNormalization, RMSNormalization and their gradients. */
#include "backend/cuda/kernels/row_norm.h"
#include "backend/cuda/load/fuse.h"
#include "backend/cuda/plan/pieces.h"
#include "backend/cuda/plan/plan.h"
#include "graph/axis_split.h"

enum {
    MOST_BANDS = 1024, /* of rows, each with sums of its own */
    FEWEST_ROWS = 8,   /* of a band */
};

static void run_row_norm(const cuda_node *n, const cuda_call *c)
{
    launch_row_norm_call call = *(const launch_row_norm_call *)n->state;
    const float *bias = call.centred && n->node->n_in > 2 ? c->in[2] : NULL;
    launch_chain_call chain;
    call.chain = cuda_chain_at(n->before, c, &chain);
    launch_row_norm(c->stream, &call, c->out[0], call.centred ? c->out[1] : NULL,
                    c->out[call.centred ? 2 : 1], c->in[0], c->in[1], bias);
}

static void run_row_norm_bwd(const cuda_node *n, const cuda_call *c)
{
    launch_row_norm_call call = *(const launch_row_norm_call *)n->state;
    int inverse = call.centred ? 3 : 2;
    launch_chain_call chain;
    call.chain = cuda_chain_at(n->behind, c, &chain);
    call.workspace = c->scratch;
    launch_row_norm_bwd(c->stream, &call, c->out[0], c->out[1], call.centred ? c->out[2] : NULL,
                        c->in[inverse + 1], c->in[0], c->in[1], call.centred ? c->in[2] : NULL,
                        c->in[inverse]);
}

static launch_row_norm_call *state_new(const cuda_node *n)
{
    const row_norm_attr *a = n->node->attr;
    axis_split at = axis_split_of(&cuda_in(n, 0)->shape, a->axis);
    graph_op op = n->node->op;
    launch_row_norm_call *s = cuda_node_alloc(n, sizeof *s);
    *s = (launch_row_norm_call){.rows = at.outer, .n = at.n * at.inner, .epsilon = a->epsilon};
    bool backward = graph_op_of(op)->traits & OP_BACKWARD;
    s->x_type = cuda_launch_type(cuda_in_storage(n, 0).type);
    s->y_type = cuda_launch_type(backward ? cuda_in_storage(n, n->node->n_in - 1).type
                                          : cuda_out_storage(n, 0).type);
    s->centred = op == OP_LAYER_NORMALIZATION || op == OP_LAYER_NORMALIZATION_BWD;
    return s;
}

status cuda_plan_row_norm(cuda_node *n)
{
    n->launch = run_row_norm;
    n->state = state_new(n);
    return OK;
}

status cuda_plan_row_norm_bwd(cuda_node *n)
{
    launch_row_norm_call *s = state_new(n);
    int64_t bands = (s->rows + FEWEST_ROWS - 1) / FEWEST_ROWS;
    s->bands = bands < MOST_BANDS ? bands : MOST_BANDS;
    n->launch = run_row_norm_bwd;
    n->state = s;
    s->pieces = pieces_of_columns(s->centred ? 2 : 1, s->bands, s->n);
    n->scratch_bytes = (size_t)(2 * (s->bands + s->pieces) * s->n) * sizeof(float);
    return OK;
}
