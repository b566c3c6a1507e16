#include "backend/empty.h"

static bool lacks_operand(const graph *g, const graph_node *n)
{
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i] != GRAPH_NONE &&
            graph_shape_elements(&graph_value_at(g, n->in[i])->shape) == 0)
            return true;
    return false;
}

/* The same in all outputs; false if the operator's own kernel knows. */
static bool value_of(graph_op op, double *ret)
{
    const double infinity = (double)__builtin_inff(), none = (double)__builtin_nanf("");
    switch (op) {
    case OP_REDUCE_SUM:
    case OP_REDUCE_L1:
    case OP_REDUCE_L2:
    case OP_REDUCE_SUM_SQUARE:
    case OP_SUM_TO:
    case OP_CONV_BWD_WEIGHTS:
    case OP_BATCH_NORMALIZATION_BWD:
    case OP_LAYER_NORMALIZATION_BWD:
    case OP_RMS_NORMALIZATION_BWD:
    case OP_GROUP_NORMALIZATION_BWD:
    case OP_ATTENTION_BWD:
    case OP_GRID_SAMPLE_BWD:
    case OP_ROI_ALIGN_BWD:
    case OP_ATTENTION:
        *ret = 0.0;
        return true;
    case OP_REDUCE_PROD:
        *ret = 1.0;
        return true;
    case OP_REDUCE_MIN:
        *ret = infinity;
        return true;
    case OP_REDUCE_MAX:
    case OP_REDUCE_LOG_SUM:
    case OP_REDUCE_LOG_SUM_EXP:
        *ret = -infinity;
        return true;
    case OP_REDUCE_MEAN:
    case OP_BATCH_NORMALIZATION:
    case OP_LAYER_NORMALIZATION:
    case OP_RMS_NORMALIZATION:
    case OP_GROUP_NORMALIZATION:
    case OP_INSTANCE_NORMALIZATION:
        *ret = none;
        return true;
    default:
        return false;
    }
}

bool empty_values(const graph *g, const graph_node *n, double ret[EMPTY_OUT])
{
    double all;
    if (!lacks_operand(g, n) || !value_of(n->op, &all))
        return false;
    BUG_ON(n->n_out > EMPTY_OUT);
    for (int i = 0; i < EMPTY_OUT; i++)
        ret[i] = all;
    if (n->op == OP_ATTENTION) /* of a row that looks at nothing: its log-sum-exp */
        ret[1] = (double)__builtin_inff();
    return true;
}
