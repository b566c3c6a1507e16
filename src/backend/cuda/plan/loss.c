/*
 * SoftmaxCrossEntropyLoss, NegativeLogLikelihoodLoss, their gradients, and Accuracy. Labels that are
 * no class are told of by the fault word, those of Accuracy count as wrong.
 */
#include "backend/cuda/kernels/loss.h"
#include "backend/cuda/load/fuse.h"
#include "backend/cuda/plan/pieces.h"
#include "backend/cuda/plan/plan.h"
#include "graph/axis_split.h"

static launch_loss_call *state_new(cuda_node *n, const graph_value *scores,
                                   const graph_value *labels)
{
    launch_loss_call *s = cuda_node_alloc(n, sizeof *s);
    axis_split at = axis_split_of(&scores->shape, 1);
    *s = (launch_loss_call){.n = at.outer, .classes = at.n, .inner = at.inner};
    s->type = cuda_launch_type(cuda_in_storage(n, 0).type);
    int64_t pitch = cuda_in_storage(n, 0).pitch;
    s->pitch = pitch ? pitch : s->classes;
    s->narrow = labels->dtype == DT_I32;
    s->fault_node = n->fault_node;
    n->state = s;
    return s;
}

/* What forward and backward of a loss have in common; `labels` is their place among the inputs. */
static status plan_any(cuda_node *n, const graph_value *scores, int labels,
                       error *err)
{
    static const launch_loss_reduction reduction_of[] = {
        [SCE_MEAN] = LAUNCH_LOSS_MEAN, [SCE_SUM] = LAUNCH_LOSS_SUM, [SCE_NONE] = LAUNCH_LOSS_NONE};
    const sce_attr *a = n->node->attr;
    if (scores->dtype != DT_F32)
        return FAIL(err, E_UNSUPPORTED, "scores in %s, known is float32",
                    dtype_name(scores->dtype));
    launch_loss_call *s = state_new(n, scores, cuda_in(n, labels));
    s->log_probs = a->log_probs;
    s->has_ignore = a->has_ignore_index;
    s->ignore = a->ignore_index;
    s->reduction = reduction_of[a->reduction];
    s->pieces = pieces_of(1, s->n * s->inner);
    n->scratch_bytes = (size_t)(2 * s->pieces + 1) * sizeof(double);
    cuda_node_checks(n, labels, 0, s->classes - 1);
    return OK;
}

static launch_loss_call call_of(const cuda_node *n, const cuda_call *c, int labels, int weights)
{
    launch_loss_call call = *(const launch_loss_call *)n->state;
    call.labels = c->in[labels];
    call.weights = weights < n->node->n_in ? c->in[weights] : NULL;
    call.workspace = c->scratch;
    call.fault = c->fault;
    return call;
}

static void run_loss(const cuda_node *n, const cuda_call *c)
{
    launch_loss_call call = call_of(n, c, 1, 2);
    launch_loss(c->stream, &call, c->out[0], c->out[1], c->out[2], c->in[0]);
}

/* --- a loss with its gradient, or the accuracy of its scores --- */

typedef struct group_state {
    launch_loss_call call;              /* first: call_of() reads it */
    int dloss, dscores, right, counted; /* places in the call's in and out; -1: none */
    size_t own, verdict;                /* places in the scratch */
} group_state;

static void run_group(const cuda_node *n, const cuda_call *c)
{
    const group_state *s = n->state;
    launch_loss_call call = call_of(n, c, 1, 2);
    launch_loss_pass made = {.loss = c->out[0], .most = c->out[1], .log_sum = c->out[2]};
    if (s->dscores >= 0) {
        made.dloss = c->in[s->dloss];
        made.dscores = c->out[s->dscores];
        made.own = (float *)((char *)c->scratch + s->own);
    }
    if (s->right >= 0) {
        made.right = c->out[s->right];
        made.counted = c->out[s->counted];
        made.verdict = (uint8_t *)c->scratch + s->verdict;
    }
    launch_loss_at_once(c->stream, &call, &made, c->in[0]);
}

static int add_read(cuda_node *n, graph_val v)
{
    n->reads[n->n_reads] = v;
    return n->n_reads++;
}

static int add_write(cuda_node *n, graph_val v)
{
    n->writes[n->n_writes] = v;
    return n->n_writes++;
}

static size_t add_scratch(cuda_node *n, size_t bytes)
{
    size_t at = n->scratch_bytes;
    n->scratch_bytes += bytes;
    return at;
}

static void plan_group(cuda_node *n, const cuda_group *group)
{
    const launch_loss_call *alone = n->state;
    group_state *s = cuda_node_runs(n, run_group, sizeof *s);
    *s = (group_state){.call = *alone, .dscores = -1, .right = -1};
    if (group->gradients != GRAPH_NONE) {
        const graph_node *gradients = graph_node_at(n->program->g, group->gradients);
        s->dloss = add_read(n, gradients->in[1]);
        s->dscores = add_write(n, gradients->out[0]);
        s->own = add_scratch(n, (size_t)s->call.n * sizeof(float));
    }
    if (group->accuracy != GRAPH_NONE) {
        const graph_node *accuracy = graph_node_at(n->program->g, group->accuracy);
        s->right = add_write(n, accuracy->out[0]);
        s->counted = add_write(n, accuracy->out[1]);
        s->verdict = add_scratch(n, (size_t)s->call.n);
    }
}

status cuda_plan_loss(cuda_node *n)
{
    const cuda_group *group = n->program->group[n - n->program->nodes];
    n->launch = run_loss;
    TRY(plan_any(n, cuda_in(n, 0), 1, n->err));
    if (group)
        plan_group(n, group);
    return OK;
}

static void run_loss_bwd(const cuda_node *n, const cuda_call *c)
{
    launch_loss_call call = call_of(n, c, 2, 5);
    launch_loss_bwd(c->stream, &call, c->out[0], c->in[0], c->in[1], c->in[3], c->in[4]);
}

status cuda_plan_loss_bwd(cuda_node *n)
{
    n->launch = run_loss_bwd;
    n->takes_inplace = true;
    return plan_any(n, cuda_in(n, 0), 2, n->err);
}

static void run_accuracy(const cuda_node *n, const cuda_call *c)
{
    launch_loss_call call = call_of(n, c, 1, n->node->n_in);
    launch_accuracy(c->stream, &call, c->out[0], c->out[1], c->in[0]);
}

status cuda_plan_accuracy(cuda_node *n)
{
    const accuracy_attr *a = n->node->attr;
    launch_loss_call *s = state_new(n, cuda_in(n, 0), cuda_in(n, 1));
    s->has_ignore = a->has_ignore_index;
    s->ignore = a->ignore_index;
    n->launch = run_accuracy;
    n->scratch_bytes = (size_t)(s->n * s->inner); /* a byte a row */
    return OK;
}
