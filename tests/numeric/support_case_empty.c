/* Rows of the table with operands that have no elements. */
#include "numeric/support_cases.h"
#include "numeric/support_lane.h"

#include <stdio.h>

enum { LARGE = 1024 }; /* elements: the reference is slow, and nothing is learned from these */

/* Entry i of: operands, their axes, alone or not. */
static bool find_axis(const op_case *c, size_t i, int32_t *ret_operand, int32_t *ret_axis)
{
    for (int32_t k = 0; k < c->n_in; k++) {
        int32_t rank = c->in[k].constant ? 0 : c->in[k].shape.rank;
        if (rank > 0 && i < (size_t)rank) {
            *ret_operand = k;
            *ret_axis = (int32_t)i;
            return true;
        }
        i -= rank > 0 ? (size_t)rank : 0;
    }
    return false;
}

static bool is_large(const op_case *c)
{
    for (int32_t k = 0; k < c->n_in; k++)
        if (c->in[k].shape.rank != GRAPH_NONE && graph_shape_elements(&c->in[k].shape) > LARGE)
            return true;
    return false;
}

static int32_t batch_axis(graph_op op)
{
    return op == OP_LSTM || op == OP_GRU || op == OP_RNN ? 1 : 0;
}

bool case_emptied_at(const op_case *c, size_t i, case_emptied *ret)
{
    int32_t operand, axis;
    bool alone = i % 2;
    if (is_large(c) || !find_axis(c, i / 2, &operand, &axis))
        return false;
    int64_t size = c->in[operand].shape.dim[axis];
    ret->row = *c;
    for (int32_t k = 0; k < c->n_in && !alone; k++)
        for (int32_t d = 0; d < c->in[k].shape.rank && !c->in[k].constant; d++)
            if (c->in[k].shape.dim[d] == size)
                ret->row.in[k].shape.dim[d] = 0;
    ret->row.in[operand].shape.dim[axis] = 0;
    ret->is_batch = ret->row.in[0].shape.dim[batch_axis(c->op)] == 0;
    snprintf(ret->what, sizeof ret->what, "%.40s, x%d axis %d%s", c->name, operand, axis,
             alone ? " alone" : "");
    ret->row.name = ret->what;
    return true;
}

bool case_is_legal(const op_case *c)
{
    error err = ERROR_INIT;
    graph *g = NULL;
    graph_val in[CASE_IN], out[GRAPH_RANK];
    must(graph_create(&g, &err), &err);
    for (int32_t k = 0; k < c->n_in; k++) {
        char name[] = {'x', (char)('0' + k), '\0'};
        in[k] = GRAPH_NONE;
        if (c->in[k].shape.rank != GRAPH_NONE)
            must(graph_input(g, name, c->in[k].type, c->in[k].shape, &in[k], &err), &err);
    }
    bool legal = graph_add(g, c->op, "tested", in, c->n_in, c->attr, out, &err) == OK;
    graph_destroy(&g);
    return legal;
}
