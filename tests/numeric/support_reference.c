#include "numeric/support_reference.h"

#include "numeric/support_reference_ops.h"
#include "numeric/support_values.h"

#include <stdlib.h>
#include <string.h>

struct reference {
    const graph *graph;
    ref_tensor *values;
};

void ref_unravel(const graph_shape *s, int64_t i, int64_t *ret_at)
{
    for (int32_t d = s->rank - 1; d >= 0; d--) {
        ret_at[d] = i % s->dim[d];
        i /= s->dim[d];
    }
}

void ref_advance(const graph_shape *s, int64_t *at)
{
    for (int32_t d = s->rank - 1; d >= 0; d--) {
        if (++at[d] < s->dim[d])
            return;
        at[d] = 0;
    }
}

int64_t ref_ravel(const graph_shape *s, const int64_t *at)
{
    int64_t i = 0;
    for (int32_t d = 0; d < s->rank; d++)
        i = i * s->dim[d] + at[d];
    return i;
}

ref_axis ref_split(const graph_shape *s, int32_t axis)
{
    axis += axis < 0 ? s->rank : 0;
    ref_axis a = {.outer = 1, .n = s->dim[axis], .inner = 1};
    for (int32_t d = 0; d < axis; d++)
        a.outer *= s->dim[d];
    for (int32_t d = axis + 1; d < s->rank; d++)
        a.inner *= s->dim[d];
    return a;
}

int64_t ref_broadcast_from(const graph_shape *from, const graph_shape *to, const int64_t *at)
{
    int64_t i = 0;
    for (int32_t d = 0; d < from->rank; d++) {
        int64_t coordinate = at[to->rank - from->rank + d];
        i = i * from->dim[d] + (from->dim[d] == 1 ? 0 : coordinate);
    }
    return i;
}

/* Of the operators of a model; those of its gradient have none. */
static ref_op *const op_of[OP_COUNT] = {
#define OP(ID, name, fewest, most, outputs, traits, family, ...) [OP_##ID] = ref_##family,
#define GRADIENT(...)
#include "graph/ops.def"
};

reference *reference_create(const graph *g)
{
    reference *r = xcalloc(1, sizeof *r);
    r->graph = g;
    r->values = xcalloc((size_t)graph_n_values(g) + 1, sizeof *r->values);
    for (graph_val v = 0; v < graph_n_values(g); v++) {
        const graph_value *value = graph_value_at(g, v);
        ref_tensor *t = &r->values[v];
        t->shape = value->shape;
        t->type = value->dtype;
        t->n = graph_shape_elements(&value->shape);
        t->x = xcalloc((size_t)t->n + 1, sizeof *t->x);
        if (value->kind == VAL_CONST)
            values_load(value->dtype, t->n, value->data, t->x);
    }
    return r;
}

void reference_destroy(reference **r)
{
    if (!r || !*r)
        return;
    for (graph_val v = 0; v < graph_n_values((*r)->graph); v++)
        free((*r)->values[v].x);
    free((*r)->values);
    free(*r);
    *r = NULL;
}

double *reference_value(reference *r, graph_val v)
{
    return r->values[v].x;
}

double *reference_named(reference *r, const char *name)
{
    graph_val v = graph_find(r->graph, name);
    BUG_ON(v == GRAPH_NONE);
    return r->values[v].x;
}

int64_t reference_elements(const reference *r, graph_val v)
{
    return r->values[v].n;
}

static ref_tensor *operands(const reference *r, const graph_val *v, int32_t n)
{
    ref_tensor *t = xcalloc((size_t)n + 1, sizeof *t);
    for (int32_t k = 0; k < n; k++)
        if (v[k] != GRAPH_NONE)
            t[k] = r->values[v[k]];
    return t;
}

/* Otherwise there is nothing to compute, and perhaps to divide by. */
static bool makes_elements(const reference *r, const graph_node *n)
{
    for (int32_t k = 0; k < n->n_out; k++)
        if (n->out[k] != GRAPH_NONE && r->values[n->out[k]].n > 0)
            return true;
    return false;
}

void reference_run(reference *r)
{
    for (int32_t i = 0; i < graph_n_nodes(r->graph); i++) {
        const graph_node *node = graph_node_at(r->graph, i);
        if (!makes_elements(r, node))
            continue;
        ref_tensor *in = operands(r, node->in, graph_node_slots(node));
        ref_tensor *out = operands(r, node->out, node->n_out);
        if (!op_of[node->op])
            BUG("the reference knows no %s", graph_op_of(node->op)->name);
        op_of[node->op](node->op, in, node->n_in, out, node->attr);
        free(in);
        free(out);
    }
}

static double loss_at(reference *r, graph_val loss, ref_tensor *x, const double *from, double step,
                      const double *direction)
{
    for (int64_t i = 0; i < x->n; i++)
        x->x[i] = from[i] + step * direction[i];
    reference_run(r);
    return r->values[loss].x[0];
}

/* With h = 1e-5 truncation is about 1e-10 of the third derivative and rounding 1e-11 of the loss:
 * far below what float kernels show. */
double reference_derivative(reference *r, graph_val loss, graph_val x, const double *direction)
{
    const double h = 1e-5;
    ref_tensor *t = &r->values[x];
    double *before = xcalloc((size_t)t->n + 1, sizeof *before);
    memcpy(before, t->x, (size_t)t->n * sizeof *before);
    double above = loss_at(r, loss, t, before, h, direction);
    double below = loss_at(r, loss, t, before, -h, direction);
    memcpy(t->x, before, (size_t)t->n * sizeof *before);
    free(before);
    return (above - below) / (2 * h);
}
