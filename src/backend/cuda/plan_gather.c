/* Gather. Any element type. */
#include "backend/cuda/program.h"
#include "common/base/alloc.h"

static status run_gather(const cuda_node *n, const cuda_call *c, error *err)
{
    (void)err;
    launch_gather_call call = *(const launch_gather_call *)n->state;
    call.fault = c->fault;
    launch_gather(c->stream, &call, c->out[0], c->in[0], c->in[1]);
    return OK;
}

status cuda_plan_gather(backend_program *p, cuda_node *n, error *err)
{
    (void)err;
    const gather_attr *a = n->node->attr;
    const graph_value *x = cuda_in(n, 0), *indices = cuda_in(n, 1);
    launch_gather_call *s = arena_alloc(p->arena, sizeof *s);
    s->outer = 1;
    s->bytes = (int64_t)dtype_bytes(x->dtype);
    for (int32_t i = 0; i < x->shape.rank; i++)
        if (i != a->axis)
            *(i < a->axis ? &s->outer : &s->bytes) *= x->shape.dim[i];
    s->size = x->shape.dim[a->axis];
    s->n = graph_shape_elements(&indices->shape);
    s->wide = indices->dtype == DT_I64;
    s->fault_node = n->fault_node;
    cuda_node_checks(n, 1, -s->size, s->size - 1);
    n->body = run_gather;
    n->state = s;
    return OK;
}
