#include "graph/attention.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#define TEXT(s) graph_shape_text((s), (char[SHAPE_TEXT]){0}, SHAPE_TEXT)

static bool refuse(char *why, const char *format, ...) PRINTF_LIKE(2, 3);

static bool refuse(char *why, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(why, ATTENTION_WHY, format, args);
    va_end(args);
    return false;
}

static attention_layout side_by_side(int64_t length, int64_t row, int64_t head, int64_t offset)
{
    return (attention_layout){
        .offset = offset, .batch = length * row, .head = head, .position = row};
}

static attention_layout head_by_head(int64_t heads, int64_t length, int64_t head)
{
    return (attention_layout){
        .batch = heads * length * head, .head = length * head, .position = head};
}

static void lay_out_y(attention_form *f, bool by_head)
{
    if (by_head) {
        f->y = head_by_head(f->q_heads, f->q_length, f->v_head);
        f->y_shape = (graph_shape){4, {f->batch, f->q_heads, f->q_length, f->v_head}};
    } else {
        f->y = side_by_side(f->q_length, f->q_heads * f->v_head, f->v_head, 0);
        f->y_shape = (graph_shape){3, {f->batch, f->q_length, f->q_heads * f->v_head}};
    }
}

static bool packed_form(const graph_shape *q, attention_form *f, char *why)
{
    int64_t heads = f->q_heads + 2 * f->kv_heads, row = q->rank == 3 ? q->dim[2] : 0;
    if (q->rank != 3 || row % heads != 0)
        return refuse(why,
                      "the packed input %s must be [batch,length,(%" PRId64 "+2*%" PRId64 ")*head]",
                      TEXT(q), f->q_heads, f->kv_heads);
    f->batch = q->dim[0];
    f->q_length = f->k_length = q->dim[1];
    f->head = f->v_head = row / heads;
    f->q = side_by_side(f->q_length, row, f->head, 0);
    f->k = side_by_side(f->q_length, row, f->head, f->q_heads * f->head);
    f->v = side_by_side(f->q_length, row, f->head, (f->q_heads + f->kv_heads) * f->head);
    return true;
}

static bool joined_form(const graph_shape *q, const graph_shape *k, const graph_shape *v,
                        attention_form *f, char *why)
{
    if (q->dim[2] % f->q_heads != 0 || k->dim[2] % f->kv_heads != 0 || v->dim[2] % f->kv_heads != 0)
        return refuse(why,
                      "%s, %s and %s do not divide into %" PRId64 " heads of queries and "
                      "%" PRId64 " of keys",
                      TEXT(q), TEXT(k), TEXT(v), f->q_heads, f->kv_heads);
    f->q_length = q->dim[1];
    f->k_length = k->dim[1];
    f->head = q->dim[2] / f->q_heads;
    f->v_head = v->dim[2] / f->kv_heads;
    f->q = side_by_side(f->q_length, q->dim[2], f->head, 0);
    f->k = side_by_side(f->k_length, k->dim[2], f->head, 0);
    f->v = side_by_side(f->k_length, v->dim[2], f->v_head, 0);
    return k->dim[2] / f->kv_heads == f->head && v->dim[1] == f->k_length;
}

static bool split_form(const graph_shape *q, const graph_shape *k, const graph_shape *v,
                       attention_form *f)
{
    f->q_heads = q->dim[1];
    f->kv_heads = k->dim[1];
    f->q_length = q->dim[2];
    f->k_length = k->dim[2];
    f->head = q->dim[3];
    f->v_head = v->dim[3];
    f->q = head_by_head(f->q_heads, f->q_length, f->head);
    f->k = head_by_head(f->kv_heads, f->k_length, f->head);
    f->v = head_by_head(f->kv_heads, f->k_length, f->v_head);
    return k->dim[3] == f->head && v->dim[1] == f->kv_heads && v->dim[2] == f->k_length;
}

bool attention_form_of(const attention_attr *a, const graph_shape *q, const graph_shape *k,
                       const graph_shape *v, attention_form *ret, char *why)
{
    attention_form f = {.q_heads = a->q_heads, .kv_heads = a->kv_heads ? a->kv_heads : a->q_heads};
    bool by_head = q->rank == 4;
    why[0] = '\0';
    if (!by_head && (f.q_heads < 1 || f.kv_heads < 1))
        return refuse(why, "%s needs the number of heads", TEXT(q));
    if (!k) {
        if (!packed_form(q, &f, why))
            return false;
    } else {
        bool ranks = (by_head || q->rank == 3) && k->rank == q->rank && v->rank == q->rank;
        bool fits = ranks && q->dim[0] == k->dim[0] && q->dim[0] == v->dim[0];
        fits = fits && (by_head ? split_form(q, k, v, &f) : joined_form(q, k, v, &f, why));
        f.batch = q->dim[0];
        if (!fits)
            return why[0] ? false
                          : refuse(why, "queries %s, keys %s and values %s do not fit", TEXT(q),
                                   TEXT(k), TEXT(v));
    }
    if (f.q_heads < 1 || f.kv_heads < 1 || f.head < 1 || f.v_head < 1)
        return refuse(why, "queries %s have no heads, or nothing in them", TEXT(q));
    if (f.q_heads % f.kv_heads != 0)
        return refuse(why, "%" PRId64 " heads of queries cannot share %" PRId64 " of keys",
                      f.q_heads, f.kv_heads);
    lay_out_y(&f, by_head);
    *ret = f;
    return true;
}

rotary_form rotary_form_of(const rotary_attr *a, const graph_shape *x)
{
    bool by_head = x->rank == 4;
    rotary_form f = {.by_head = by_head,
                     .heads = by_head ? x->dim[1] : a->heads,
                     .length = by_head ? x->dim[2] : x->dim[1]};
    f.head = by_head ? x->dim[3] : x->dim[2] / a->heads;
    f.rows = x->dim[0] * f.heads * f.length;
    return f;
}
