/* Attention in ONNX, written out in matrix products; an operator of its own from opset 23 on. */
#include "graph/attention.h"
#include "onnx/write/ops.h"

#include <math.h>

/* The node being written, and its operands as values [B,H,S,D]. */
typedef struct attention {
    maker *m;
    const graph_node *n;
    const attention_attr *attr;
    attention_form form;
    bool is_flat;               /* operands come as [B,S,H*D] */
    const char *q, *k, *v;
} attention;

static const char *inside(const attention *a, const char *operand, const char *what)
{
    return maker_inside(a->m, a->n, arena_printf(a->m->memory, "%s_%s", operand, what));
}

static const char *transpose(const attention *a, const char *x, const char *out, int64_t p1,
                             int64_t p2, int64_t p3)
{
    const int64_t perm[] = {0, p1, p2, p3};
    maker_ints(a->m, maker_node(a->m, "Transpose", &x, 1, &out, 1), "perm", perm, 4);
    return out;
}

static const char *reshape(const attention *a, const char *x, const char *out, const char *sizes_name,
                           const int64_t *sizes, size_t n)
{
    return maker_call(a->m, "Reshape", out, x, maker_const_ints(a->m, sizes_name, sizes, n), NULL);
}

/* [B,S,H*D] to [B,H,S,D] */
static const char *head_by_head(const attention *a, const char *x, const char *operand,
                                int64_t heads, int64_t width)
{
    if (!a->is_flat)
        return x;
    const int64_t sizes[] = {0, 0, heads, width};
    x = reshape(a, x, inside(a, operand, "heads"), inside(a, operand, "sizes"), sizes, 4);
    return transpose(a, x, inside(a, operand, "by_head"), 2, 1, 3);
}

/* Each head as often as queries' heads share it. */
static const char *repeated(const attention *a, const char *x, const char *operand, int64_t length,
                            int64_t width)
{
    int64_t times = a->form.q_heads / a->form.kv_heads;
    if (times == 1)
        return x;
    const int64_t axis = 2, apart[] = {1, 1, times, 1, 1}, sizes[] = {0, a->form.q_heads, length, width};
    const char *at = maker_const_ints(a->m, inside(a, operand, "axis"), &axis, 1);
    const char *to = maker_const_ints(a->m, inside(a, operand, "times"), apart, 5);
    x = maker_call(a->m, "Unsqueeze", inside(a, operand, "apart"), x, at, NULL);
    x = maker_call(a->m, "Expand", inside(a, operand, "many"), x, to, NULL);
    return reshape(a, x, inside(a, operand, "repeated"), inside(a, operand, "all"), sizes, 4);
}

/* Operands that came side by side, apart. */
static void split_packed(attention *a)
{
    const attention_form *f = &a->form;
    const int64_t widths[] = {f->q_heads * f->head, f->kv_heads * f->head, f->kv_heads * f->v_head};
    const char *in[] = {a->q, maker_const_ints(a->m, maker_inside(a->m, a->n, "widths"), widths, 3)};
    const char *out[] = {inside(a, "q", "part"), inside(a, "k", "part"), inside(a, "v", "part")};
    maker_int(a->m, maker_node(a->m, "Split", in, 2, out, 3), "axis", 2);
    a->q = out[0];
    a->k = out[1];
    a->v = out[2];
}

static status take_operands(attention *a, error *err)
{
    char why[ATTENTION_WHY];
    maker *m = a->m;
    const graph_node *n = a->n;
    bool is_packed = !*maker_in(m, n, 1);
    const graph_shape *q = maker_shape(m, n->in[0]);
    const graph_shape *k = is_packed ? NULL : maker_shape(m, n->in[1]);
    const graph_shape *v = is_packed ? NULL : maker_shape(m, n->in[2]);
    if (!attention_form_of(a->attr, q, k, v, &a->form, why))
        return FAIL(err, E_UNSUPPORTED, "node '%s' (Attention): %s", n->name, why);
    const attention_form *f = &a->form;
    a->is_flat = q->rank == 3;
    a->q = maker_in(m, n, 0);
    a->k = maker_in(m, n, 1);
    a->v = maker_in(m, n, 2);
    if (is_packed)
        split_packed(a);
    a->q = head_by_head(a, a->q, "q", f->q_heads, f->head);
    a->k = repeated(a, head_by_head(a, a->k, "k", f->kv_heads, f->head), "k", f->k_length, f->head);
    a->v = repeated(a, head_by_head(a, a->v, "v", f->kv_heads, f->v_head), "v", f->k_length, f->v_head);
    return OK;
}

/* Minus infinity for the keys behind a query. */
static const char *add_causal(const attention *a, const char *scores)
{
    maker *m = a->m;
    const int64_t sizes[] = {a->form.q_length, a->form.k_length}, first = 1 + a->attr->past;
    const char *never = maker_const_float(m, inside(a, "causal", "never"), -INFINITY);
    const char *shape = maker_const_ints(m, inside(a, "causal", "shape"), sizes, 2);
    const char *one = maker_const_ints(m, inside(a, "causal", "first"), &first, 1);
    const char *all = maker_call(m, "Expand", inside(a, "causal", "all"), never, shape, NULL);
    const char *in[] = {all, one}, *above = inside(a, "causal", "above");
    maker_int(m, maker_node(m, "Trilu", in, 2, &above, 1), "upper", 1);
    return maker_call(m, "Add", inside(a, "causal", "scores"), scores, above, NULL);
}

/* A mask of numbers is added; one of conditions leaves the scores it forbids far below all
 * others. */
static const char *add_mask(const attention *a, const char *scores, const char *mask, bool is_bool)
{
    if (!is_bool)
        return maker_call(a->m, "Add", inside(a, "mask", "scores"), scores, mask, NULL);
    const char *low = maker_const_float(a->m, inside(a, "mask", "low"), -3e38f);
    return maker_call(a->m, "Where", inside(a, "mask", "scores"), mask, scores, low);
}

/* What is forbidden counts nothing, also in a row that may look at no key. */
static const char *forbid(const attention *a, const char *probabilities, const char *mask)
{
    const char *factor = inside(a, "mask", "factor");
    maker_int(a->m, maker_node(a->m, "Cast", &mask, 1, &factor, 1), "to", maker_onnx_type(DT_F32));
    return maker_call(a->m, "Mul", inside(a, "mask", "allowed"), probabilities, factor, NULL);
}

static const char *probabilities(const attention *a)
{
    maker *m = a->m;
    const char *mask = maker_in(m, a->n, 3);
    bool is_bool = *mask && graph_value_at(m->g, a->n->in[3])->dtype == DT_BOOL;
    const char *keys = transpose(a, a->k, inside(a, "k", "transposed"), 1, 3, 2);
    const char *scale = maker_const_float(m, maker_inside(m, a->n, "scale"), a->attr->scale);
    const char *x = maker_call(m, "MatMul", maker_inside(m, a->n, "products"), a->q, keys, NULL);
    x = maker_call(m, "Mul", maker_inside(m, a->n, "scores"), x, scale, NULL);
    x = *mask ? add_mask(a, x, mask, is_bool) : x;
    x = a->attr->causal ? add_causal(a, x) : x;
    const char *out = maker_inside(m, a->n, "softmax");
    maker_int(m, maker_node(m, "Softmax", &x, 1, &out, 1), "axis", -1);
    return is_bool ? forbid(a, out, mask) : out;
}

status write_attention(maker *m, const graph_node *n, error *err)
{
    attention a = {.m = m, .n = n, .attr = n->attr};
    if (a.attr->ratio > 0.0f)
        return FAIL(err, E_UNSUPPORTED, "node '%s' (Attention): it has dropout", n->name);
    TRY(take_operands(&a, err));
    const char *p = probabilities(&a), *out = maker_out(m, n, 0);
    if (!a.is_flat) {
        maker_call(m, "MatMul", out, p, a.v, NULL);
        return OK;
    }
    const int64_t sizes[] = {0, 0, a.form.q_heads * a.form.v_head};
    const char *y = maker_call(m, "MatMul", inside(&a, "y", "by_head"), p, a.v, NULL);
    y = transpose(&a, y, inside(&a, "y", "by_position"), 2, 1, 3);
    reshape(&a, y, out, inside(&a, "y", "sizes"), sizes, 3);
    return OK;
}
