#include "backend/empty.h"

static bool lacks_operand(const graph *g, const graph_node *n)
{
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i] != GRAPH_NONE &&
            graph_shape_elements(&graph_value_at(g, n->in[i])->shape) == 0)
            return true;
    return false;
}

/* The column of ops.def: what all elements of all outputs are. */
static const enum empty_rule { COMPUTED, ZEROS, ONES, HIGHEST, LOWEST, NANS } rules[OP_COUNT] = {
#define OP(ID, name, fewest, most, outputs, traits, family, halves, reads, empty) [OP_##ID] = empty,
#include "graph/ops.def"
};

static double value_of(enum empty_rule rule)
{
    const double infinity = (double)__builtin_inff();
    switch (rule) {
    case ONES:
        return 1.0;
    case HIGHEST:
        return infinity;
    case LOWEST:
        return -infinity;
    case NANS:
        return (double)__builtin_nanf("");
    default:
        return 0.0;
    }
}

bool empty_values(const graph *g, const graph_node *n, double ret[EMPTY_OUT])
{
    if (!lacks_operand(g, n) || rules[n->op] == COMPUTED)
        return false;
    BUG_ON(n->n_out > EMPTY_OUT);
    for (int i = 0; i < EMPTY_OUT; i++)
        ret[i] = value_of(rules[n->op]);
    if (n->op == OP_ATTENTION) /* of a row that looks at nothing: its log-sum-exp */
        ret[1] = (double)__builtin_inff();
    return true;
}
