/* RotaryEmbedding in ONNX, written out; an operator of its own from opset 23 on. */
#include "graph/attention.h"
#include "onnx/write/ops.h"

/* The node being written. */
typedef struct turning {
    maker *m;
    const graph_node *n;
} turning;

static const char *named(const turning *t, const char *what)
{
    return maker_inside(t->m, t->n, what);
}

static const char *times(const turning *t, const char *what, const char *a, const char *b)
{
    return maker_call(t->m, "Mul", named(t, what), a, b, NULL);
}

/* Sizes with an axis of heads, or without it. */
static const char *sized(const turning *t, const char *what, const char *x, const char *out, const int64_t *sizes,
                         size_t n)
{
    return maker_call(t->m, "Reshape", out, x, maker_const_ints(t->m, named(t, what), sizes, n), NULL);
}

/* [B,S,half] to [B,S,1,half]: of all heads */
static const char *of_heads(const turning *t, int32_t i, const char *what)
{
    const int64_t axis = 2;
    const char *axes = maker_const_ints(t->m, named(t, arena_printf(t->m->memory, "%s_axis", what)), &axis, 1);
    return maker_call(t->m, "Unsqueeze", named(t, what), maker_in(t->m, t->n, i), axes, NULL);
}

status write_rotary(maker *m, const graph_node *n, error *err)
{
    const rotary_attr *a = n->attr;
    const graph_shape *x = maker_shape(m, n->in[0]);
    rotary_form f = rotary_form_of(a, x);
    if (f.by_head || a->interleaved || a->inverse || a->width != f.head)
        return FAIL(err, E_UNSUPPORTED,
                    "node '%s' (RotaryEmbedding): of [batch, tokens, heads * width] whole heads by halves are written",
                    n->name);
    const turning t = {m, n};
    const int64_t apart[] = {0, 0, f.heads, f.head}, together[] = {0, 0, f.heads * f.head};
    const int64_t halves[] = {a->width / 2, a->width / 2};
    const char *parts[] = {named(&t, "first"), named(&t, "second")}, *turned[2], *all = named(&t, "turned");
    const char *heads = sized(&t, "apart", maker_in(m, n, 0), named(&t, "heads"), apart, 4);
    const char *split[] = {heads, maker_const_ints(m, named(&t, "halves"), halves, 2)};
    maker_int(m, maker_node(m, "Split", split, 2, parts, 2), "axis", 3);
    const char *c = of_heads(&t, 1, "cosine"), *s = of_heads(&t, 2, "sine");
    turned[0] = maker_call(m, "Sub", named(&t, "left"), times(&t, "c_first", c, parts[0]),
                           times(&t, "s_second", s, parts[1]), NULL);
    turned[1] = maker_call(m, "Add", named(&t, "right"), times(&t, "s_first", s, parts[0]),
                           times(&t, "c_second", c, parts[1]), NULL);
    maker_int(m, maker_node(m, "Concat", turned, 2, &all, 1), "axis", 3);
    sized(&t, "together", all, maker_out(m, n, 0), together, 3);
    return OK;
}
