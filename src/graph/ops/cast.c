/* Cast to another element type. Only from float32 to itself does a gradient pass. */
#include "graph/ops/emit.h"
#include "graph/ops/rule.h"

static const attr_field fields[] = {
    ATTR_FIELD(cast_attr, to, "to", ATTR_TYPE, DT_F32),
    ATTR_MORE,
};

static status infer(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                    error *err)
{
    (void)err;
    ret_shape[0] = *rule_shape(g, n, 0);
    ret_dtype[0] = ((const cast_attr *)n->attr)->to;
    return OK;
}

GRAPH_OP(CAST, cast, "Cast", ATTRIBUTES(cast_attr, fields), .infer = infer,
         .grad = emit_same);
