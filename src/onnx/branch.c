#include "onnx/branch.h"

#include "onnx/body.h"

#include <string.h>

/* What a branch gives: a slot for each output of the node. */
static status walk_branch(call *c, const char *name, slot *ret, error *err)
{
    const Onnx__GraphProto *g;
    const slot *s;
    scope inner;
    TRY(body_find(c, name, &g, err));
    scope_init(&inner, c->scope, arena_printf(c->im->a, "%s%s/", body_prefix(c), name));
    status st = body_walk(c, g, &inner, 0, err);
    for (int32_t k = 0; k < c->n_out && (size_t)k < g->n_output && st == OK; k++) {
        s = scope_find(&inner, onnx_text(g->output[k]->name));
        if (s)
            ret[k] = *s;
        else if (call_wants(c, k))
            st = FAIL(err, E_DATA, "its output '%s' is '%s' inside, which nothing makes",
                      c->node->output[k], onnx_text(g->output[k]->name));
    }
    scope_fini(&inner);
    return st;
}

/* What only one branch is to compute would be computed all the same: zero times what is not finite
 * is no number, and state would move. */
static bool is_harmless(graph_op op)
{
    const graph_op_info *info = graph_op_of(op);
    return info->traits & OP_TOTAL && !info->state;
}

/* An integer divided by zero is some integer; a float may be divided by constants. */
static bool divides_well(const graph *g, const graph_node *n)
{
    const graph_value *by = n->op == OP_DIV ? graph_value_at(g, n->in[1]) : NULL;
    if (!by)
        return false;
    if (by->dtype != DT_F32)
        return true;
    const float *x = by->kind == VAL_CONST ? by->data : NULL;
    for (int64_t i = 0; x && i < graph_shape_elements(&by->shape); i++)
        if (x[i] == 0.0f)
            return false;
    return x != NULL;
}

/* The first node from `begin` on that must not be computed in vain, or GRAPH_NONE. */
static int32_t find_harm(const graph *g, int32_t begin)
{
    for (int32_t i = begin; i < graph_n_nodes(g); i++) {
        const graph_node *n = graph_node_at(g, i);
        if (!is_harmless(n->op) && !divides_well(g, n))
            return i;
    }
    return GRAPH_NONE;
}

static bool is_tensor(const slot *s)
{
    return s->kind == SLOT_HOST || s->kind == SLOT_WEIGHT || s->kind == SLOT_VALUE;
}

/* Output k is one of two, by the condition. */
static status choose(call *c, int32_t k, slot *yes, slot *no, error *err)
{
    graph_val in[3];
    char left[SHAPE_TEXT], right[SHAPE_TEXT];
    if (!is_tensor(yes) || !is_tensor(no))
        return body_refuse(
            c, "its condition depends on data, and '%s' is no tensor in both branches; make it one",
            c->node->output[k]);
    TRY(call_value(c, 0, &in[0], err));
    TRY(call_emit(c, OP_RESHAPE, in, 1, &(shape_attr){.shape = {.rank = 0}}, &in[0], err));
    TRY(slot_value(c->im, yes, &in[1], err));
    TRY(slot_value(c->im, no, &in[2], err));
    graph_shape a = call_shape_of(c, in[1]), b = call_shape_of(c, in[2]);
    dtype type = call_at(c, in[1])->dtype;
    if (!graph_shape_equal(&a, &b) || type != call_at(c, in[2])->dtype ||
        slot_element(c->im, yes) != slot_element(c->im, no))
        return body_refuse(
            c,
            "its condition depends on data, so its branches must give one shape; "
            "'%s' is %s %s in one and %s %s in the other; make them equal",
            c->node->output[k], dtype_name(type), graph_shape_text(&a, left, sizeof left),
            dtype_name(call_at(c, in[2])->dtype), graph_shape_text(&b, right, sizeof right));
    graph_val y;
    TRY(call_emit(c, OP_WHERE, in, 3, NULL, &y, err));
    call_return(c, k, y);
    call_type(c, k, slot_element(c->im, yes)->onnx);
    return OK;
}

static bool any_refused(const slot *s, int32_t n)
{
    for (int32_t k = 0; k < n; k++)
        if (s[k].kind == SLOT_REFUSED)
            return true;
    return false;
}

static status take_both(call *c, error *err)
{
    importer *im = c->im;
    slot *yes = arena_alloc(im->a, 2 * (size_t)c->n_out * sizeof *yes), *no = yes + c->n_out;
    int32_t begin = graph_n_nodes(im->g);
    int refusals = im->n_refusals;
    TRY(walk_branch(c, "then_branch", yes, err));
    TRY(walk_branch(c, "else_branch", no, err));
    if (im->n_refusals > refusals || any_refused(yes, 2 * c->n_out)) {
        for (int32_t k = 0; k < c->n_out; k++)
            c->out[k] = (slot){.kind = SLOT_REFUSED};
        return OK;
    }
    int32_t harm = find_harm(im->g, begin);
    if (harm != GRAPH_NONE) {
        const graph_node *n = graph_node_at(im->g, harm);
        return body_refuse(c,
                           "its condition depends on data, so both branches would be computed, and "
                           "'%s' (%s) in one may give what is not finite, or moves state, where it "
                           "is not asked for; choose by torch.where, with operands that are safe",
                           n->name, graph_op_of(n->op)->name);
    }
    for (int32_t k = 0; k < c->n_out; k++) {
        if (call_wants(c, k))
            TRY(choose(c, k, &yes[k], &no[k], err));
        if (im->n_refusals > refusals)
            return OK;
    }
    return OK;
}

status branch_walk(call *c, error *err)
{
    graph_shape shape;
    dtype type;
    const host_tensor *condition = NULL;
    if (call_has(c, 0) && c->in[0]->kind == SLOT_REFUSED) {
        for (int32_t k = 0; k < c->n_out; k++)
            c->out[k] = (slot){.kind = SLOT_REFUSED};
        return OK;
    }
    if (call_has(c, 0) && c->in[0]->kind == SLOT_UNMADE)
        return body_refuse(c,
                           "its condition '%s' is an output that is not supported; do without it",
                           c->node->input[0]);
    TRY(call_describe(c, 0, &shape, &type, err));
    if (graph_shape_elements(&shape) != 1)
        return FAIL(err, E_DATA, "its condition is not one element");
    TRY(slot_known(c->im, c->in[0], &condition, err));
    if (!condition && type == DT_BOOL)
        return take_both(c, err);
    if (!condition)
        return FAIL(err, E_DATA, "its condition is %s, must be bool", dtype_name(type));
    const char *name = host_get_int(condition, 0) ? "then_branch" : "else_branch";
    return walk_branch(c, name, c->out, err);
}
