/* Cast, and rounding to half precision. */
#include "backend/cuda/kernels/cast.h"
#include "backend/cuda/plan/plan.h"

typedef struct cast_state {
    dtype from, to;
    launch_types types; /* of floats */
    int64_t elements;
} cast_state;

static void run_cast(const cuda_node *n, const cuda_call *c)
{
    const cast_state *s = n->state;
    launch_cast(c->stream, s->from, s->to, c->out[0], c->in[0], s->elements);
}

static void run_to_half(const cuda_node *n, const cuda_call *c)
{
    const cast_state *s = n->state;
    if (c->out[0] != c->in[0])
        launch_round(c->stream, s->types, c->out[0], c->in[0], s->elements);
}

static bool is_half_or_double(dtype t)
{
    return dtype_is_half(t) || t == DT_F64;
}

static void plan(cuda_node *n, cuda_launch launch)
{
    const graph_value *x = cuda_in(n, 0);
    cast_state *s = cuda_node_alloc(n, sizeof *s);
    *s = (cast_state){x->dtype, cuda_out(n, 0)->dtype, cuda_types(n),
                      cuda_span(&x->shape, cuda_in_storage(n, 0).pitch)};
    n->launch = launch;
    n->state = s;
}

status cuda_plan_cast(cuda_node *n)
{
    dtype from = cuda_in(n, 0)->dtype, to = cuda_out(n, 0)->dtype;
    if (is_half_or_double(from) || is_half_or_double(to))
        return FAIL(n->err, E_UNSUPPORTED, "a cast from %s to %s", dtype_name(from), dtype_name(to));
    plan(n, run_cast);
    return OK;
}

status cuda_plan_to_half(cuda_node *n)
{
    plan(n, run_to_half);
    return OK;
}
