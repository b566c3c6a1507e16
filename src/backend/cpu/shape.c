/*
 * Operators that only move elements: Identity, Flatten, Reshape, Transpose, Expand, Slice and its
 * gradient, Concat, and Zero. Plain layouts; any element type.
 */
#include "backend/axes_of.h"
#include "backend/cpu/box.h"
#include "backend/cpu/program.h"
#include "backend/cpu/team.h"

#include <string.h>

static status run_straighten(const cpu_node *n, const cpu_call *c, error *err)
{
    return node_reorder((shim_primitive *)(uintptr_t)n->state, c->in[0], c->out[0], err);
}

/* Identity goes along with its input's layout; the alias operators need row-major bytes and make
 * them themselves where they have to. */
status cpu_plan_copy(cpu_node *n)
{
    const graph_value *x = node_in(n, 0);
    const shim_layout *own = n->program->layout[n->node->in[0]], *plain;
    if (n->node->op == OP_IDENTITY) {
        n->kernel = node_copy_apart;
        n->in[0].want = n->out[0].want = own;
        return OK;
    }
    n->aliases = !own || shim_layout_is_plain(own);
    if (n->aliases) {
        n->kernel = node_copy_apart;
        return OK;
    }
    shim_primitive *reorder;
    TRY(layout_plain_of(n->program, x, &plain, n->err));
    TRY(shim_reorder(n->program->shim, own, plain, &reorder, n->err));
    n->body = run_straighten;
    n->state = reorder;
    n->in[0].want = own;
    return OK;
}

/* One box, and where it begins on the side that is not walked in order. */
typedef struct move_state {
    box box;
    int64_t offset;
    size_t element; /* bytes */
} move_state;

static void run_move(const cpu_node *n, const cpu_call *c)
{
    const move_state *s = n->state;
    box_copy(&s->box, c->out[0], (const char *)c->in[0] + s->offset * (int64_t)s->element,
             s->element);
}

static axes axes_of_move(const cpu_node *n, int64_t *ret_first)
{
    const graph_shape *x = &node_in(n, 0)->shape, *y = &node_out(n, 0)->shape;
    if (n->node->op == OP_TRANSPOSE)
        return axes_of_transpose(x, n->node->attr);
    if (n->node->op == OP_EXPAND)
        return axes_of_expand(y, x);
    return axes_of_slice(x, y, n->node->attr, false, ret_first);
}

status cpu_plan_move(cpu_node *n)
{
    move_state *s = node_runs(n, run_move, sizeof *s);
    s->element = dtype_bytes(node_out(n, 0)->dtype);
    axes over = axes_of_move(n, &s->offset);
    box_of(&s->box, &over);
    return OK;
}

/* Without a base the box lies among zeros, otherwise it is added to the base. */
static void run_slice_bwd(const cpu_node *n, const cpu_call *c)
{
    const move_state *s = n->state;
    float *dx = c->out[0];
    if (node_begin_sum(n, c)) {
        box_add(&s->box, dx + s->offset, c->in[0]);
        return;
    }
    team_zero(dx, n->program->bytes[n->node->out[0]]);
    box_copy(&s->box, dx + s->offset, c->in[0], sizeof *dx);
}

status cpu_plan_slice_bwd(cpu_node *n)
{
    move_state *s = node_runs(n, run_slice_bwd, sizeof *s);
    axes over = axes_of_slice(&node_out(n, 0)->shape, &node_in(n, 0)->shape, n->node->attr, true,
                              &s->offset);
    box_of(&s->box, &over);
    return OK;
}

typedef struct concat_state {
    size_t element; /* bytes */
    struct part {
        box box;
        int64_t offset; /* in the output, in elements */
    } parts[];          /* one an input */
} concat_state;

static void run_concat(const cpu_node *n, const cpu_call *c)
{
    const concat_state *s = n->state;
    for (int k = 0; k < n->node->n_in; k++) {
        char *y = (char *)c->out[0] + s->parts[k].offset * (int64_t)s->element;
        box_copy(&s->parts[k].box, y, c->in[k], s->element);
    }
}

status cpu_plan_concat(cpu_node *n)
{
    const graph_value *y = node_out(n, 0);
    int32_t axis = ((const axis_attr *)n->node->attr)->axis;
    size_t n_in = (size_t)n->node->n_in;
    concat_state *s = node_runs(n, run_concat, sizeof *s + n_in * sizeof *s->parts);
    int64_t stride[GRAPH_RANK], begin = 0;
    axes_row_major(&y->shape, stride);
    s->element = dtype_bytes(y->dtype);
    for (int k = 0; k < n->node->n_in; k++) {
        int64_t size = node_in(n, k)->shape.dim[axis];
        axes over = axes_of_part(&y->shape, axis, size);
        s->parts[k].offset = begin * stride[axis];
        box_of(&s->parts[k].box, &over);
        begin += size;
    }
    return OK;
}

static void run_zero(const cpu_node *n, const cpu_call *c)
{
    team_zero(c->out[0], n->program->bytes[n->node->out[0]]);
}

status cpu_plan_zero(cpu_node *n)
{
    n->kernel = run_zero;
    return OK;
}
