/* Random. */
#include "backend/cuda/kernels/random.h"
#include "backend/cuda/plan/plan.h"
#include "common/base/rng.h"

static void run_random(const cuda_node *n, const cuda_call *c)
{
    launch_random_call call = *(const launch_random_call *)n->state;
    const random_attr *a = n->node->attr;
    call.batch = c->in[0];
    launch_random(c->stream, c->out[0], graph_shape_elements(&a->shape), &call);
}

status cuda_plan_random(cuda_node *n)
{
    const random_attr *a = n->node->attr;
    launch_random_call *s = cuda_node_runs(n, run_random, sizeof *s);
    *s = (launch_random_call){.key = rng_mix(a->seed, RNG_NODE),
                              .stream = a->stream,
                              .shift = a->shift,
                              .scale = a->scale,
                              .normal = a->kind == RANDOM_NORMAL};
    return OK;
}
