/* Cast, and rounding to half precision. */
#include "backend/cuda/kernels/cast.h"
#include "backend/cuda/plan/plan.h"
#include "common/base/alloc.h"

typedef struct cast_state {
    dtype from, to;
    launch_types types; /* of floats */
    int64_t elements;
} cast_state;

static status run_cast(const cuda_node *n, const cuda_call *c, error *err)
{
    (void)err;
    const cast_state *s = n->state;
    launch_cast(c->stream, s->from, s->to, c->out[0], c->in[0], s->elements);
    return OK;
}

static status run_to_half(const cuda_node *n, const cuda_call *c, error *err)
{
    (void)err;
    const cast_state *s = n->state;
    if (c->out[0] != c->in[0])
        launch_round(c->stream, s->types, c->out[0], c->in[0], s->elements);
    return OK;
}

static bool is_half_or_double(dtype t)
{
    return dtype_is_half(t) || t == DT_F64;
}

static void plan(backend_program *p, cuda_node *n, cuda_body body)
{
    const graph_value *x = cuda_in(n, 0);
    cast_state *s = arena_alloc(p->arena, sizeof *s);
    *s = (cast_state){x->dtype, cuda_out(n, 0)->dtype, cuda_types(n),
                      cuda_span(&x->shape, cuda_in_storage(n, 0).pitch)};
    n->body = body;
    n->state = s;
}

status cuda_plan_cast(backend_program *p, cuda_node *n, error *err)
{
    dtype from = cuda_in(n, 0)->dtype, to = cuda_out(n, 0)->dtype;
    if (is_half_or_double(from) || is_half_or_double(to))
        return FAIL(err, E_UNSUPPORTED, "a cast from %s to %s", dtype_name(from), dtype_name(to));
    plan(p, n, run_cast);
    return OK;
}

status cuda_plan_to_half(backend_program *p, cuda_node *n, error *err)
{
    (void)err;
    plan(p, n, run_to_half);
    return OK;
}
