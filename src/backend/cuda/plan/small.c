/* Trilu, OneHot and ReverseSequence: where an element goes follows from its position. */
#include "backend/cuda/kernels/move.h"
#include "backend/cuda/plan/plan.h"
#include "backend/fill.h"
#include "graph/axis_split.h"

static void run_trilu(const cuda_node *n, const cuda_call *c)
{
    launch_trilu(c->stream, n->state, c->out[0], c->in[0]);
}

status cuda_plan_trilu(cuda_node *n)
{
    const trilu_attr *a = n->node->attr;
    const graph_shape *x = &cuda_in(n, 0)->shape;
    axis_split at = axis_split_of(x, x->rank - 2);
    launch_trilu_call *s = cuda_node_runs(n, run_trilu, sizeof *s);
    *s = (launch_trilu_call){.matrices = at.outer,
                             .rows = at.n,
                             .cols = at.inner,
                             .k = a->k,
                             .upper = a->upper,
                             .element = dtype_bytes(cuda_out_storage(n, 0).type)};
    n->takes_inplace = true;
    return OK;
}

static void run_one_hot(const cuda_node *n, const cuda_call *c)
{
    launch_one_hot(c->stream, n->state, c->out[0], c->in[0]);
}

status cuda_plan_one_hot(cuda_node *n)
{
    const one_hot_attr *a = n->node->attr;
    const graph_value *x = cuda_in(n, 0);
    launch_one_hot_call *s = cuda_node_runs(n, run_one_hot, sizeof *s);
    axis_split at = axis_split_of(&cuda_out(n, 0)->shape, a->axis);
    *s = (launch_one_hot_call){.outer = at.outer,
                               .depth = at.n,
                               .inner = at.inner,
                               .index = x->dtype,
                               .element = dtype_bytes(a->type)};
    fill_value(a->type, a->off, s->off);
    fill_value(a->type, a->on, s->on);
    return OK;
}

static void run_reverse(const cuda_node *n, const cuda_call *c)
{
    launch_reverse_call call = *(const launch_reverse_call *)n->state;
    call.fault.word = c->fault;
    launch_reverse(c->stream, &call, c->out[0], c->in[0], c->in[1]);
}

status cuda_plan_reverse_sequence(cuda_node *n)
{
    sequence_form f = sequence_form_of(n->node->attr, &cuda_in(n, 0)->shape);
    launch_reverse_call *s = cuda_node_runs(n, run_reverse, sizeof *s);
    *s = (launch_reverse_call){
        .steps = f.steps,
        .examples = f.examples,
        .bytes = f.run * (int64_t)dtype_bytes(cuda_out_storage(n, 0).type),
        .batch_first = f.batch_first,
        .wide = cuda_in(n, 1)->dtype == DT_I64,
        .fault = {.node = n->fault_node}};
    cuda_node_checks(n, 1, 0, s->steps);
    return OK;
}
