/* Trilu, OneHot and ReverseSequence: where an element goes follows from its position. */
#include "backend/cuda/kernels/move.h"
#include "backend/cuda/plan/plan.h"
#include "backend/fill.h"
#include "common/base/alloc.h"
#include "graph/axis_split.h"

static status run_trilu(const cuda_node *n, const cuda_call *c, error *err)
{
    (void)err;
    launch_trilu(c->stream, n->state, c->out[0], c->in[0]);
    return OK;
}

status cuda_plan_trilu(backend_program *p, cuda_node *n, error *err)
{
    (void)err;
    const trilu_attr *a = n->node->attr;
    const graph_shape *x = &cuda_in(n, 0)->shape;
    axis_split at = axis_split_of(x, x->rank - 2);
    launch_trilu_call *s = arena_alloc(p->arena, sizeof *s);
    *s = (launch_trilu_call){.matrices = at.outer,
                             .rows = at.n,
                             .cols = at.inner,
                             .k = a->k,
                             .upper = a->upper,
                             .element = dtype_bytes(cuda_out_storage(n, 0).type)};
    n->body = run_trilu;
    n->state = s;
    n->takes_inplace = true;
    return OK;
}

static status run_one_hot(const cuda_node *n, const cuda_call *c, error *err)
{
    (void)err;
    launch_one_hot(c->stream, n->state, c->out[0], c->in[0]);
    return OK;
}

status cuda_plan_one_hot(backend_program *p, cuda_node *n, error *err)
{
    (void)err;
    const one_hot_attr *a = n->node->attr;
    const graph_value *x = cuda_in(n, 0);
    launch_one_hot_call *s = arena_alloc(p->arena, sizeof *s);
    axis_split at = axis_split_of(&cuda_out(n, 0)->shape, a->axis);
    *s = (launch_one_hot_call){.outer = at.outer,
                               .depth = at.n,
                               .inner = at.inner,
                               .index = x->dtype,
                               .element = dtype_bytes(a->type)};
    fill_value(a->type, a->off, s->off);
    fill_value(a->type, a->on, s->on);
    n->body = run_one_hot;
    n->state = s;
    return OK;
}

static status run_reverse(const cuda_node *n, const cuda_call *c, error *err)
{
    (void)err;
    launch_reverse_call call = *(const launch_reverse_call *)n->state;
    call.fault.word = c->fault;
    launch_reverse(c->stream, &call, c->out[0], c->in[0], c->in[1]);
    return OK;
}

status cuda_plan_reverse_sequence(backend_program *p, cuda_node *n, error *err)
{
    (void)err;
    axis_split at = axis_split_of(&cuda_in(n, 0)->shape, 1);
    bool batch_first = ((const sequence_attr *)n->node->attr)->batch_first;
    launch_reverse_call *s = arena_alloc(p->arena, sizeof *s);
    *s = (launch_reverse_call){
        .steps = batch_first ? at.n : at.outer,
        .examples = batch_first ? at.outer : at.n,
        .bytes = at.inner * (int64_t)dtype_bytes(cuda_out_storage(n, 0).type),
        .batch_first = batch_first,
        .wide = cuda_in(n, 1)->dtype == DT_I64,
        .fault = {.node = n->fault_node}};
    cuda_node_checks(n, 1, 0, s->steps);
    n->body = run_reverse;
    n->state = s;
    return OK;
}
