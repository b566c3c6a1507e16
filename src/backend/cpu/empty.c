/*
 * Nodes that have an operand without elements and make elements all the same. Most operators' own
 * loops say what comes of it: a product is of zeros, a concatenation of what the others have, a
 * gradient stays the base. Here are those whose kernels want something to lay out or to divide by:
 * their outputs are known when the graph is loaded. A sum of nothing is 0, a product 1, a largest
 * -infinity or the least integer, as ONNX has it; a mean of nothing, and what is made of it, NaN.
 */
#include "backend/cpu/fill.h"
#include "backend/cpu/program.h"
#include "common/base/alloc.h"

enum { MOST_OUT = 3 };

static bool lacks_operand(const cpu_node *n)
{
    for (int i = 0; i < n->node->n_in; i++)
        if (node_in(n, i) && graph_shape_elements(&node_in(n, i)->shape) == 0)
            return true;
    return false;
}

/* What outputs with elements are; false if the operator's own kernel knows. */
static bool value_of(graph_op op, double ret[MOST_OUT])
{
    const double infinity = (double)__builtin_inff(), none = (double)__builtin_nanf("");
    double all = 0.0;
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
    case OP_ATTENTION:
        break;
    case OP_REDUCE_PROD:
        all = 1.0;
        break;
    case OP_REDUCE_MIN:
        all = infinity;
        break;
    case OP_REDUCE_MAX:
    case OP_REDUCE_LOG_SUM:
    case OP_REDUCE_LOG_SUM_EXP:
        all = -infinity;
        break;
    case OP_REDUCE_MEAN:
    case OP_BATCH_NORMALIZATION:
    case OP_LAYER_NORMALIZATION:
    case OP_RMS_NORMALIZATION:
    case OP_GROUP_NORMALIZATION:
    case OP_INSTANCE_NORMALIZATION:
        all = none;
        break;
    default:
        return false;
    }
    for (int i = 0; i < MOST_OUT; i++)
        ret[i] = all;
    if (op == OP_ATTENTION) /* of a row that looks at nothing: its log-sum-exp */
        ret[1] = infinity;
    return true;
}

bool node_is_empty(const cpu_node *n)
{
    double unused[MOST_OUT];
    return lacks_operand(n) && value_of(n->node->op, unused);
}

static status run_empty(const cpu_node *n, const cpu_call *c, error *err)
{
    const uint8_t(*values)[8] = n->state;
    (void)err;
    for (int i = 0; i < n->node->n_out; i++) {
        const graph_value *v = node_out(n, i);
        if (v)
            fill_run(c->out[i], graph_shape_elements(&v->shape), values[i], dtype_bytes(v->dtype));
    }
    return OK;
}

status plan_empty(backend_program *p, cpu_node *n, error *err)
{
    (void)err;
    double value[MOST_OUT];
    uint8_t(*bytes)[8] = arena_alloc(p->arena, MOST_OUT * sizeof *bytes);
    BUG_ON(!value_of(n->node->op, value) || n->node->n_out > MOST_OUT);
    for (int i = 0; i < n->node->n_out; i++)
        if (node_out(n, i))
            fill_value(node_out(n, i)->dtype, value[i], bytes[i]);
    n->takes_inplace = false;
    n->body = run_empty;
    n->state = bytes;
    return OK;
}
