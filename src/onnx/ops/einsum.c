/*
 * Einsum: a sum of products over named axes becomes transposes, products of matrices and sums.
 *
 * Every axis has a label: a letter, or for what "..." stands for a number counted from its last
 * axis. Operands are taken up from left to right. What neither the result nor a later operand names
 * is summed at once; of two operands those axes that only both have and nobody else wants are the
 * depth of a product of matrices, those that both have and somebody wants its batch, and the others
 * its rows and columns.
 */
#include "onnx/ops.h"

#include <inttypes.h>
#include <string.h>

enum {
    LETTERS = 52,
    LABELS = LETTERS + GRAPH_RANK,
    DOTS = -1,
    MOST_TERMS = 32,
    MOST_EYE = 1 << 20
};

/* A value and the labels of its axes; in an equation that was only read, DOTS for "...". */
typedef struct term {
    graph_val v;
    int32_t rank;
    int32_t label[2 * GRAPH_RANK];
} term;

typedef struct equation {
    call *c;
    term terms[MOST_TERMS], result;
    int32_t n, dots; /* terms; axes of the longest "..." */
    bool has_result;
    int64_t size[LABELS]; /* by label; -1: no operand has it */
} equation;

static bool has_label(const term *t, int32_t label)
{
    for (int32_t i = 0; i < t->rank; i++)
        if (t->label[i] == label)
            return true;
    return false;
}

/* Whether the result or a term from `first` on has the label. */
static bool is_wanted(const equation *e, int32_t first, int32_t label)
{
    bool wanted = has_label(&e->result, label);
    for (int32_t i = first; i < e->n && !wanted; i++)
        wanted = has_label(&e->terms[i], label);
    return wanted;
}

/* --- reading --- */

/* One term, up to a comma, an arrow or the end. */
static status read_term(const char **text, term *ret, error *err)
{
    const char *s = *text;
    *ret = (term){.v = GRAPH_NONE};
    for (; *s && *s != ',' && *s != '-'; s++) {
        int32_t label = DOTS;
        if (*s == ' ')
            continue;
        if (strncmp(s, "...", 3) == 0 && !has_label(ret, DOTS))
            s += 2;
        else if (*s >= 'A' && *s <= 'Z')
            label = *s - 'A';
        else if (*s >= 'a' && *s <= 'z')
            label = *s - 'a' + LETTERS / 2;
        else
            return FAIL(err, E_DATA, "its equation has a '%c' where a letter may stand", *s);
        if (ret->rank == 2 * GRAPH_RANK)
            return call_refuse(err,
                               "a term of its equation has more than %d letters; use fewer axes",
                               2 * GRAPH_RANK);
        ret->label[ret->rank++] = label;
    }
    *text = s;
    return OK;
}

static status read_equation(equation *e, error *err)
{
    const char *s = call_str(e->c, "equation");
    for (e->n = 0;; s++) {
        if (e->n == MOST_TERMS)
            return call_refuse(err, "its equation has more than %d terms; write it as two",
                               MOST_TERMS);
        TRY(read_term(&s, &e->terms[e->n++], err));
        if (*s != ',')
            break;
    }
    e->has_result = *s == '-';
    if (e->has_result) {
        if (*++s != '>')
            return FAIL(err, E_DATA, "its equation has a '-' that is no arrow");
        s++;
        TRY(read_term(&s, &e->result, err));
    }
    if (*s || e->n != e->c->n_in)
        return FAIL(err, E_DATA,
                    "its equation does not have one term for each of %" PRId32 " inputs",
                    e->c->n_in);
    return OK;
}

/* Puts the labels of `dots` axes where "..." stands. */
static status expand_dots(term *t, int32_t dots, error *err)
{
    term full = {.v = t->v};
    if (t->rank - has_label(t, DOTS) + (has_label(t, DOTS) ? dots : 0) > GRAPH_RANK)
        return call_refuse(err, "a term of its equation has more than %d axes; use fewer",
                           GRAPH_RANK);
    for (int32_t i = 0; i < t->rank; i++) {
        if (t->label[i] != DOTS)
            full.label[full.rank++] = t->label[i];
        for (int32_t k = 0; k < dots && t->label[i] == DOTS; k++)
            full.label[full.rank++] = LABELS - dots + k;
    }
    *t = full;
    return OK;
}

/* Gives a term its operand, and its labels their sizes; axes of 1 may be repeated. */
static status bind_term(equation *e, int32_t i, error *err)
{
    term *t = &e->terms[i];
    TRY(call_value(e->c, i, &t->v, err));
    graph_shape x = call_shape_of(e->c, t->v);
    int32_t dots = has_label(t, DOTS) ? x.rank - (t->rank - 1) : 0;
    e->dots = dots > e->dots ? dots : e->dots;
    if (dots >= 0)
        TRY(expand_dots(t, dots, err));
    if (dots < 0 || t->rank != x.rank)
        return FAIL(err, E_DATA,
                    "its input %" PRId32 " has %" PRId32 " axes, not those of the equation", i,
                    x.rank);
    for (int32_t k = 0; k < x.rank; k++) {
        int64_t *size = &e->size[t->label[k]];
        if (*size < 0 || *size == 1)
            *size = x.dim[k];
        else if (x.dim[k] != 1 && x.dim[k] != *size)
            return FAIL(err, E_DATA, "one letter is an axis of %" PRId64 " and one of %" PRId64,
                        *size, x.dim[k]);
    }
    return OK;
}

/* What is not said: "..." and the letters that stand there once, in their order. */
static status imply_result(equation *e, error *err)
{
    term *r = &e->result;
    for (int32_t k = 0; k < e->dots; k++)
        r->label[r->rank++] = LABELS - e->dots + k;
    for (int32_t label = 0; label < LETTERS; label++) {
        int32_t met = 0;
        for (int32_t i = 0; i < e->n; i++)
            for (int32_t k = 0; k < e->terms[i].rank; k++)
                met += e->terms[i].label[k] == label;
        if (met == 1 && r->rank == GRAPH_RANK)
            return call_refuse(err, "its result has more than %d axes; write it as two",
                               GRAPH_RANK);
        if (met == 1)
            r->label[r->rank++] = label;
    }
    return OK;
}

static status check_result(const equation *e, error *err)
{
    for (int32_t i = 0; i < e->result.rank; i++) {
        bool twice = false;
        for (int32_t k = 0; k < i; k++)
            twice |= e->result.label[k] == e->result.label[i];
        if (twice || e->size[e->result.label[i]] < 0)
            return FAIL(err, E_DATA,
                        "its equation's result has a letter twice, or one that no "
                        "term has");
    }
    return OK;
}

/* --- building --- */

static graph_shape shape_of(const equation *e, const term *t)
{
    graph_shape s = {.rank = t->rank};
    for (int32_t i = 0; i < t->rank; i++)
        s.dim[i] = e->size[t->label[i]];
    return s;
}

static int64_t elements(const equation *e, const term *t)
{
    graph_shape s = shape_of(e, t);
    return graph_shape_elements(&s);
}

static status reshaped(equation *e, graph_val v, const graph_shape *s, graph_val *ret, error *err)
{
    return call_emit(e->c, OP_RESHAPE, &v, 1, &(shape_attr){.shape = *s}, ret, err);
}

/* Elements that lie on the diagonal of axes p and q, as axis p. */
static status take_diagonal(equation *e, term *t, int32_t p, int32_t q, error *err)
{
    const float nothing = 0.0f;
    int64_t n = e->size[t->label[p]];
    graph_val in[3] = {GRAPH_NONE, t->v};
    if (n > 0 && n > MOST_EYE / n)
        return call_refuse(
            err, "it takes the diagonal of an axis of %" PRId64 ", which is too long; gather it",
            n);
    graph_shape eye = {.rank = t->rank};
    for (int32_t i = 0; i < t->rank; i++)
        eye.dim[i] = i == p || i == q ? n : 1;
    uint8_t *on = arena_alloc(e->c->im->a, (size_t)(n * n) + 1);
    for (int64_t i = 0; i < n; i++)
        on[i * n + i] = 1;
    TRY(graph_const(e->c->im->g, NULL, DT_BOOL, eye, on, &in[0], err));
    TRY(graph_const(e->c->im->g, NULL, DT_F32, (graph_shape){.rank = 0}, &nothing, &in[2], err));
    TRY(call_emit(e->c, OP_WHERE, in, 3, NULL, &t->v, err));
    reduce_attr over = {.axes = {q}, .n_axes = 1, .drop_dims = true};
    TRY(call_emit(e->c, OP_REDUCE_SUM, &t->v, 1, &over, &t->v, err));
    for (int32_t i = q + 1; i < t->rank; i++)
        t->label[i - 1] = t->label[i];
    t->rank--;
    return OK;
}

/* Every label once, every axis of its label's size. */
static status straighten(equation *e, term *t, error *err)
{
    graph_shape full = shape_of(e, t), x = call_shape_of(e->c, t->v);
    if (!graph_shape_equal(&full, &x))
        TRY(call_emit(e->c, OP_EXPAND, &t->v, 1, &(shape_attr){.shape = full}, &t->v, err));
    for (int32_t q = t->rank - 1; q > 0; q--)
        for (int32_t p = 0; p < q; p++)
            if (t->label[p] == t->label[q]) {
                TRY(take_diagonal(e, t, p, q, err));
                break;
            }
    return OK;
}

/* Sums over what neither `beside`, nor the result, nor a term from `first` on wants. */
static status sum_unwanted(equation *e, term *t, const term *beside, int32_t first, error *err)
{
    reduce_attr over = {.drop_dims = true};
    term rest = {.v = t->v};
    for (int32_t i = 0; i < t->rank; i++) {
        if ((beside && has_label(beside, t->label[i])) || is_wanted(e, first, t->label[i]))
            rest.label[rest.rank++] = t->label[i];
        else
            over.axes[over.n_axes++] = i;
    }
    if (over.n_axes == 0)
        return OK;
    TRY(call_emit(e->c, OP_REDUCE_SUM, &t->v, 1, &over, &rest.v, err));
    *t = rest;
    return OK;
}

/* The axes in the order of `order`, all of whose labels the term has. */
static status transpose(equation *e, term *t, const term *order, error *err)
{
    transpose_attr a = {.reverse = false};
    bool turns = false;
    for (int32_t i = 0; i < order->rank; i++)
        for (int32_t k = 0; k < t->rank; k++)
            if (t->label[k] == order->label[i]) {
                a.perm[i] = k;
                turns |= i != k;
            }
    if (turns)
        TRY(call_emit(e->c, OP_TRANSPOSE, &t->v, 1, &a, &t->v, err));
    t->rank = order->rank;
    memcpy(t->label, order->label, sizeof t->label);
    return OK;
}

static void append(term *to, const term *from)
{
    for (int32_t i = 0; i < from->rank && to->rank < 2 * GRAPH_RANK; i++)
        to->label[to->rank++] = from->label[i];
}

static void joined(const term *a, const term *b, const term *c, term *ret)
{
    *ret = (term){.v = GRAPH_NONE};
    append(ret, a);
    append(ret, b);
    append(ret, c);
}

/* Labels of a that b has and somebody else wants; of a and b alone; of a and not of b; of b. */
typedef struct parts {
    term batch, depth, rows, columns;
} parts;

static parts part(const equation *e, const term *a, const term *b, int32_t first)
{
    parts p = {.batch = {.rank = 0}};
    for (int32_t i = 0; i < a->rank; i++) {
        int32_t label = a->label[i];
        term *to = !has_label(b, label)         ? &p.rows
                   : is_wanted(e, first, label) ? &p.batch
                                                : &p.depth;
        to->label[to->rank++] = label;
    }
    for (int32_t i = 0; i < b->rank; i++)
        if (!has_label(a, b->label[i]))
            p.columns.label[p.columns.rank++] = b->label[i];
    return p;
}

/* Element by element: axes that one of them lacks are 1 there. What is depth is summed behind. */
static status multiply_each(equation *e, term *a, term *b, const parts *p, int32_t first,
                            error *err)
{
    const term none = {.rank = 0};
    term common, left, right, all;
    joined(&p->batch, &p->depth, &none, &common);
    joined(&common, &p->rows, &none, &left);
    joined(&common, &p->columns, &none, &right);
    joined(&common, &p->rows, &p->columns, &all);
    TRY(transpose(e, a, &left, err));
    TRY(transpose(e, b, &right, err));
    graph_shape wide = shape_of(e, &all), narrow = wide;
    for (int32_t i = 0; i < p->columns.rank; i++)
        wide.dim[left.rank + i] = 1;
    for (int32_t i = 0; i < p->rows.rank; i++)
        narrow.dim[common.rank + i] = 1;
    graph_val in[2];
    TRY(reshaped(e, a->v, &wide, &in[0], err));
    TRY(reshaped(e, b->v, &narrow, &in[1], err));
    TRY(call_emit(e->c, OP_MUL, in, 2, NULL, &all.v, err));
    *a = all;
    return sum_unwanted(e, a, NULL, first, err);
}

static status multiply_matrices(equation *e, term *a, term *b, const parts *p, error *err)
{
    term left, right, all;
    joined(&p->batch, &p->rows, &p->depth, &left);
    joined(&p->batch, &p->depth, &p->columns, &right);
    joined(&p->batch, &p->rows, &p->columns, &all);
    TRY(transpose(e, a, &left, err));
    TRY(transpose(e, b, &right, err));
    int64_t n = elements(e, &p->batch), rows = elements(e, &p->rows);
    int64_t depth = elements(e, &p->depth), columns = elements(e, &p->columns);
    graph_shape x = {3, {n, rows, depth}}, y = {3, {n, depth, columns}};
    if (p->batch.rank == 0) {
        x = (graph_shape){2, {rows, depth}};
        y = (graph_shape){2, {depth, columns}};
    }
    graph_val in[2];
    graph_shape s = shape_of(e, &all);
    TRY(reshaped(e, a->v, &x, &in[0], err));
    TRY(reshaped(e, b->v, &y, &in[1], err));
    TRY(call_emit(e->c, OP_MATMUL, in, 2, NULL, &all.v, err));
    TRY(reshaped(e, all.v, &s, &all.v, err));
    *a = all;
    return OK;
}

/* Multiplies b, the term before `first`, to a. */
static status multiply(equation *e, term *a, term *b, int32_t first, error *err)
{
    TRY(sum_unwanted(e, a, b, first, err));
    TRY(sum_unwanted(e, b, a, first, err));
    parts p = part(e, a, b, first);
    bool each = p.depth.rank == 0 || (p.rows.rank == 0 && p.columns.rank == 0);
    if (a->rank + p.columns.rank > GRAPH_RANK)
        return call_refuse(err, "a product on the way has more than %d axes; write it as two",
                           GRAPH_RANK);
    return each ? multiply_each(e, a, b, &p, first, err) : multiply_matrices(e, a, b, &p, err);
}

status onnx_op_einsum(call *c, error *err)
{
    equation *e = arena_alloc(c->im->a, sizeof *e);
    e->c = c;
    for (int32_t i = 0; i < LABELS; i++)
        e->size[i] = -1;
    TRY(read_equation(e, err));
    for (int32_t i = 0; i < e->n; i++)
        TRY(bind_term(e, i, err));
    if (e->has_result)
        TRY(expand_dots(&e->result, e->dots, err));
    else
        TRY(imply_result(e, err));
    TRY(check_result(e, err));
    term all = e->terms[0];
    TRY(straighten(e, &all, err));
    TRY(sum_unwanted(e, &all, NULL, 1, err));
    for (int32_t i = 1; i < e->n; i++) {
        TRY(straighten(e, &e->terms[i], err));
        TRY(multiply(e, &all, &e->terms[i], i + 1, err));
    }
    TRY(transpose(e, &all, &e->result, err));
    call_return(c, 0, all.v);
    return OK;
}
