/*
 * Operators that pick or put by index: Gather and its gradient, GatherElements, GatherND,
 * ScatterElements, ScatterND. Indices become row numbers first, in the workspace; a row is what one
 * of them names: the axes behind the named ones, or a single element for the Elements forms.
 */
#include "backend/cpu/picks.h"
#include "backend/cpu/places.h"
#include "backend/cpu/program.h"
#include "backend/cpu/team.h"
#include "common/base/alloc.h"

typedef struct gather_state {
    places places;
    picks picks;
    picks_fn combine; /* those that put */
} gather_state;

static int64_t product(const graph_shape *s, int32_t begin, int32_t end)
{
    int64_t n = 1;
    for (int32_t i = begin; i < end; i++)
        n *= s->dim[i];
    return n;
}

static gather_state *begin_state(backend_program *p, cpu_node *n, const graph_value *indices)
{
    gather_state *s = arena_alloc(p->arena, sizeof *s);
    s->places.type = indices->dtype;
    n->state = s;
    n->scratch_bytes = (size_t)graph_shape_elements(&indices->shape) * sizeof(int64_t);
    return s;
}

static status run_pick(const cpu_node *n, const cpu_call *c, error *err)
{
    const gather_state *s = n->state;
    TRY(places_find(&s->places, c->in[1], c->scratch, err));
    picks_take(&s->picks, c->out[0], c->in[0], c->scratch);
    return OK;
}

/* Row k of an outer is slice k along the axis; all outers share the row numbers. */
static void plan_axis(backend_program *p, cpu_node *n)
{
    const gather_attr *a = n->node->attr;
    const graph_value *indices = node_in(n, 1);
    gather_state *s = begin_state(p, n, indices);
    int64_t count = graph_shape_elements(&indices->shape);
    s->places.depth = 1;
    s->places.size[0] = a->x.dim[a->axis];
    s->places.stride[0] = 1;
    s->places.rank = 1;
    s->places.dim[0] = count;
    s->picks = picks_make(product(&a->x, 0, a->axis), a->x.dim[a->axis], count,
                          product(&a->x, a->axis + 1, a->x.rank),
                          dtype_bytes(node_out(n, 0)->dtype), p->backend->threads);
}

status plan_gather(backend_program *p, cpu_node *n, error *err)
{
    (void)err;
    plan_axis(p, n);
    n->body = run_pick;
    return OK;
}

static status run_gather_bwd(const cpu_node *n, const cpu_call *c, error *err)
{
    const gather_state *s = n->state;
    TRY(places_find(&s->places, c->in[1], c->scratch, err));
    if (!node_begin_sum(n, c))
        team_zero(c->out[0], n->program->bytes[n->node->out[0]]);
    picks_combine(&s->picks, c->out[0], c->in[0], c->scratch, s->combine);
    return OK;
}

status plan_gather_bwd(backend_program *p, cpu_node *n, error *err)
{
    (void)err;
    plan_axis(p, n);
    ((gather_state *)n->state)->combine = picks_combiner(SCATTER_ADD, DT_F32);
    n->body = run_gather_bwd;
    return OK;
}

/* Every element is a row; an index stands for the coordinate along the axis, its own position for
 * the others. */
static void find_elements(places *ret, const graph_shape *x, const graph_shape *by, int32_t axis)
{
    int64_t stride = 1;
    ret->depth = 1;
    ret->rank = by->rank;
    for (int32_t i = x->rank - 1; i >= 0; i--) {
        ret->dim[i] = by->dim[i];
        ret->base[i] = i == axis ? 0 : stride;
        if (i == axis) {
            ret->size[0] = x->dim[i];
            ret->stride[0] = stride;
        }
        stride *= x->dim[i];
    }
}

/* Rows are slices behind the named axes; the axes of the batch go along with the indices'. */
static void find_slices(places *ret, const graph_shape *x, const graph_shape *by, int32_t batch)
{
    int64_t stride = 1;
    ret->depth = by->dim[by->rank - 1];
    ret->rank = by->rank - 1;
    for (int32_t i = batch + (int32_t)ret->depth - 1; i >= 0; i--) {
        if (i < batch) {
            ret->base[i] = stride;
        } else {
            ret->size[i - batch] = x->dim[i];
            ret->stride[i - batch] = stride;
        }
        stride *= x->dim[i];
    }
    for (int32_t i = 0; i < ret->rank; i++)
        ret->dim[i] = by->dim[i];
}

/* All rows of the data in one outer. */
static gather_state *plan_places(backend_program *p, cpu_node *n)
{
    const graph_value *x = node_in(n, 0), *by = node_in(n, 1);
    const index_attr *a = n->node->attr;
    gather_state *s = begin_state(p, n, by);
    int64_t inner = 1;
    if (n->node->op == OP_GATHER_ELEMENTS || n->node->op == OP_SCATTER_ELEMENTS) {
        find_elements(&s->places, &x->shape, &by->shape, a->axis);
    } else {
        find_slices(&s->places, &x->shape, &by->shape, a->batch_dims);
        inner = product(&x->shape, a->batch_dims + (int32_t)s->places.depth, x->shape.rank);
    }
    s->picks = picks_make(1, graph_shape_elements(&x->shape) / inner, places_count(&s->places),
                          inner, dtype_bytes(x->dtype), p->backend->threads);
    return s;
}

status plan_pick(backend_program *p, cpu_node *n, error *err)
{
    (void)err;
    plan_places(p, n);
    n->body = run_pick;
    return OK;
}

static status run_put(const cpu_node *n, const cpu_call *c, error *err)
{
    const gather_state *s = n->state;
    TRY(places_find(&s->places, c->in[1], c->scratch, err));
    TRY(node_copy_apart(n, c, err));
    picks_combine(&s->picks, c->out[0], c->in[2], c->scratch, s->combine);
    return OK;
}

status plan_put(backend_program *p, cpu_node *n, error *err)
{
    gather_state *s = plan_places(p, n);
    dtype t = node_in(n, 0)->dtype;
    s->combine = picks_combiner(((const index_attr *)n->node->attr)->reduction, t);
    if (!s->combine)
        return FAIL(err, E_UNSUPPORTED, "a reduction in %s, known are float32, int32 and int64",
                    dtype_name(t));
    n->body = run_put;
    return OK;
}
