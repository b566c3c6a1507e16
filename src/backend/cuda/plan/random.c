/* Random. */
#include "backend/cuda/kernels/random.h"
#include "backend/cuda/plan/plan.h"
#include "common/base/alloc.h"
#include "common/base/rng.h"

static status run_random(const cuda_node *n, const cuda_call *c, error *err)
{
    (void)err;
    launch_random_call call = *(const launch_random_call *)n->state;
    const random_attr *a = n->node->attr;
    call.batch = c->in[0];
    launch_random(c->stream, c->out[0], graph_shape_elements(&a->shape), &call);
    return OK;
}

status cuda_plan_random(backend_program *p, cuda_node *n, error *err)
{
    (void)err;
    const random_attr *a = n->node->attr;
    launch_random_call *s = arena_alloc(p->arena, sizeof *s);
    *s = (launch_random_call){.key = rng_mix(a->seed, RNG_NODE),
                              .stream = a->stream,
                              .shift = a->shift,
                              .scale = a->scale,
                              .normal = a->kind == RANDOM_NORMAL};
    n->body = run_random;
    n->state = s;
    return OK;
}
