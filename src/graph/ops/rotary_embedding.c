/*
 * RotaryEmbedding: the first `width` numbers of every head and position are pairs, turned by the
 * angles whose cosines and sines come in. Backward turns the other way.
 */
#include "graph/attention.h"
#include "graph/ops/emit.h"
#include "graph/ops/rule.h"

#include <inttypes.h>

static const attr_field fields[] = {
    ATTR_FIELD(rotary_attr, heads, "num_heads", ATTR_INT, 0),
    ATTR_FIELD(rotary_attr, width, "rotary_embedding_dim", ATTR_INT, 0),
    ATTR_FIELD(rotary_attr, interleaved, "interleaved", ATTR_BOOL, 0),
    ATTR_MORE,
};

/* x is [B,H,S,D] or [B,S,H*D]; ret_head is D, ret_positions [B,S]. */
static status split(const graph *g, const graph_node *n, int64_t *ret_head,
                    graph_shape *ret_positions, error *err)
{
    rotary_attr *a = (rotary_attr *)n->attr;
    const graph_shape *x = rule_shape(g, n, 0);
    TRY(rule_float(g, n, 0, err));
    if (x->rank != 3 && x->rank != 4)
        return rule_fail(n, err, "the input %s must have 3 or 4 axes", SHAPE(x));
    if (x->rank == 3 && (a->heads < 1 || x->dim[2] % a->heads != 0))
        return rule_fail(n, err, "the input %s does not divide into %" PRId64 " heads", SHAPE(x),
                         a->heads);
    rotary_form f = rotary_form_of(a, x);
    *ret_head = f.head;
    *ret_positions = (graph_shape){2, {x->dim[0], f.length}};
    return OK;
}

static status infer(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                    error *err)
{
    rotary_attr *a = (rotary_attr *)n->attr;
    int64_t head = 0;
    graph_shape angles;
    TRY(split(g, n, &head, &angles, err));
    a->width = a->width ? a->width : head;
    if (a->width < 2 || a->width % 2 != 0 || a->width > head)
        return rule_fail(n, err, "%" PRId64 " of a head's %" PRId64 " numbers cannot be turned",
                         a->width, head);
    angles.dim[angles.rank++] = a->width / 2;
    TRY(rule_same_type(g, n, 0, 1, err));
    TRY(rule_same_type(g, n, 0, 2, err));
    TRY(rule_expect(g, n, 1, "the cosine", &angles, err));
    TRY(rule_expect(g, n, 2, "the sine", &angles, err));
    return rule_unary(g, n, ret_shape, ret_dtype, err);
}

static status grad(const graph_gradient *d, error *err)
{
    if (d->wants[1] || d->wants[2])
        return FAIL(err, E_UNSUPPORTED, "no gradient for cosine and sine");
    rotary_attr back = *(const rotary_attr *)d->n.attr;
    back.inverse = !back.inverse;
    return emit_3(d->g, OP_ROTARY_EMBEDDING, d->dy[0], d->n.in[1], d->n.in[2], &back, &d->dx[0],
                  err);
}

GRAPH_OP(ROTARY_EMBEDDING, rotary_embedding, "RotaryEmbedding", ATTRIBUTES(rotary_attr, fields),
         .infer = infer, .grad = grad);
