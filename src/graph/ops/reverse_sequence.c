/*
 * ReverseSequence: for each example of the batch the first `length` steps in reverse; the rest
 * stays. It undoes itself.
 */
#include "graph/ops/emit.h"
#include "graph/ops/rule.h"

/* As axes in ONNX. */
static const attr_field fields[] = {
    ATTR_OURS(sequence_attr, batch_first, ATTR_BOOL, 0),
    ATTR_MORE,
};

static status infer(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                    error *err)
{
    const graph_shape *x = rule_shape(g, n, 0);
    const sequence_attr *a = n->attr;
    if (x->rank < 2)
        return rule_fail(n, err, "the input %s must have an axis of steps and one of examples",
                         SHAPE(x));
    TRY(rule_index(g, n, 1, err));
    TRY(rule_expect(g, n, 1, "the tensor of lengths",
                    &(graph_shape){.rank = 1, .dim = {x->dim[a->batch_first ? 0 : 1]}}, err));
    ret_shape[0] = *x;
    ret_dtype[0] = rule_type(g, n, 0);
    return OK;
}

GRAPH_OP(REVERSE_SEQUENCE, reverse_sequence, "ReverseSequence", ATTRIBUTES(sequence_attr, fields),
         .infer = infer, BACKWARD(REVERSE_SEQUENCE, DY(0), X(1)));
