/*
 * LSTM, with peepholes, GRU, and RNN, one layer of tanh or relu. All have the same places for their
 * operands, so that one shape rule and one gradient rule serve them; places that a cell does not have
 * stay empty. Output 3 keeps the gates of every step, for backward, and 4 an LSTM's cells or a GRU's
 * candidate's recurrent term; an RNN's states are its output.
 *
 * S steps, B examples, I inputs, H hidden, D directions, G gates (LSTM 4: i o f c, GRU 3: z r h,
 * RNN 1), as ONNX with layout 0 says.
 */
#include "graph/ops/emit.h"
#include "graph/ops/rule.h"
#include "graph/recurrent_form.h"

#include <inttypes.h>

/* Layout and activations are ONNX's other attributes. */
static const attr_field fields[] = {
    ATTR_FIELD(recurrent_attr, hidden, "hidden_size", ATTR_INT, ATTR_OPEN),
    ATTR_CHOICE(recurrent_attr, direction, "direction", "forward reverse bidirectional",
                RECURRENT_FORWARD),
    ATTR_FIELD(recurrent_attr, linear_before_reset, "linear_before_reset", ATTR_BOOL, 0),
    ATTR_OURS(recurrent_attr, relu, ATTR_BOOL, 0),
    ATTR_MORE,
};

static graph_shape shape_3(int64_t a, int64_t b, int64_t c)
{
    return (graph_shape){.rank = 3, .dim = {a, b, c}};
}

static status check_lengths(const graph *g, const graph_node *n, int64_t batch, error *err)
{
    if (!rule_has(n, RECURRENT_LENGTHS))
        return OK;
    dtype t = rule_type(g, n, RECURRENT_LENGTHS);
    if (t != DT_I32 && t != DT_I64)
        return rule_fail(n, err, "the sequence lengths are %s, must be int32 or int64",
                         dtype_name(t));
    return rule_expect(g, n, RECURRENT_LENGTHS, "the sequence lengths",
                       &(graph_shape){.rank = 1, .dim = {batch}}, err);
}

/* The operands that forward and backward have in common. */
static status check(const graph *g, const graph_node *n, error *err)
{
    const graph_shape *x = rule_shape(g, n, RECURRENT_X), *w = rule_shape(g, n, RECURRENT_W);
    recurrent_attr *a = (recurrent_attr *)n->attr;
    int64_t gates = recurrent_gates_of(n->op), directions = a->direction == RECURRENT_BOTH ? 2 : 1;
    TRY(rule_float(g, n, RECURRENT_X, err));
    if (x->rank != 3)
        return rule_fail(n, err, "the input %s must be [steps,batch,features]", SHAPE(x));
    if (w->rank != 3 || w->dim[0] != directions || w->dim[1] < gates || w->dim[1] % gates != 0 ||
        w->dim[2] != x->dim[2])
        return rule_fail(n, err,
                         "the weights %s must be [%" PRId64 ",%" PRId64 " * hidden,%" PRId64 "]",
                         SHAPE(w), directions, gates, x->dim[2]);
    int64_t hidden = w->dim[1] / gates, batch = x->dim[1];
    if (a->hidden != ATTR_OPEN && a->hidden != hidden)
        return rule_fail(n, err, "hidden_size is %" PRId64 " but the weights %s make it %" PRId64,
                         a->hidden, SHAPE(w), hidden);
    a->hidden = hidden;
    const graph_shape state = shape_3(directions, batch, hidden);
    const struct {
        int32_t place;
        const char *what;
        graph_shape shape;
    } others[] = {
        {RECURRENT_R, "the recurrent weights", shape_3(directions, gates * hidden, hidden)},
        {RECURRENT_B, "the bias", {.rank = 2, .dim = {directions, 2 * gates * hidden}}},
        {RECURRENT_H0, "the initial state", state},
        {RECURRENT_C0, "the initial cell", state},
        {RECURRENT_P, "the peepholes", {.rank = 2, .dim = {directions, 3 * hidden}}},
    };
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        if (!rule_has(n, others[i].place))
            continue;
        TRY(rule_same_type(g, n, RECURRENT_X, others[i].place, err));
        TRY(rule_expect(g, n, others[i].place, others[i].what, &others[i].shape, err));
    }
    return check_lengths(g, n, batch, err);
}

static status infer(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                    error *err)
{
    TRY(check(g, n, err));
    const graph_shape *x = rule_shape(g, n, RECURRENT_X), *w = rule_shape(g, n, RECURRENT_W);
    const recurrent_attr *a = n->attr;
    int64_t steps = x->dim[0], batch = x->dim[1], directions = w->dim[0], hidden = a->hidden;
    const graph_shape each = {.rank = 4, .dim = {directions, steps, batch, hidden}};
    ret_shape[0] = (graph_shape){.rank = 4, .dim = {steps, directions, batch, hidden}};
    ret_shape[1] = shape_3(directions, batch, hidden);
    if (n->op == OP_LSTM)
        ret_shape[2] = ret_shape[1];
    if (n->op != OP_RNN) {
        ret_shape[3] = ret_shape[4] = each;
        ret_shape[3].dim[3] = w->dim[1];
    }
    for (int i = 0; i < RECURRENT_OUT; i++)
        ret_dtype[i] = rule_type(g, n, RECURRENT_X);
    return OK;
}

static status infer_bwd(const graph *g, const graph_node *n, graph_shape *ret_shape,
                        dtype *ret_dtype, error *err)
{
    TRY(check(g, n, err));
    if (!rule_has(n, RECURRENT_Y))
        return rule_fail(n, err, "it needs the output of forward");
    for (int32_t i = 0; i < RECURRENT_IN; i++) {
        ret_dtype[i] = rule_type(g, n, RECURRENT_X);
        if (rule_has(n, i) && i != RECURRENT_LENGTHS)
            ret_shape[i] = *rule_shape(g, n, i);
    }
    for (int32_t i = 0; i < 3; i++) {
        const graph_shape *y = rule_shape(g, n, RECURRENT_Y);
        const graph_shape last = shape_3(y->dim[1], y->dim[2], y->dim[3]);
        if (rule_has(n, RECURRENT_DY + i))
            TRY(rule_expect(g, n, RECURRENT_DY + i, "the gradient", i == 0 ? y : &last, err));
    }
    return OK;
}

/* Of every step and example, by every weight. */
static double flops(const graph *g, const graph_node *n)
{
    const graph_shape *x = rule_shape(g, n, RECURRENT_X);
    double weights = (double)graph_shape_elements(rule_shape(g, n, RECURRENT_W)) +
                     (double)graph_shape_elements(rule_shape(g, n, RECURRENT_R));
    return 2.0 * (double)x->dim[0] * (double)x->dim[1] * weights;
}

static double flops_bwd(const graph *g, const graph_node *n)
{
    return 2.0 * flops(g, n);
}

#define CELL(ID, name_, onnx)                                                                      \
    GRAPH_OP(ID, name_, onnx, ATTRIBUTES(recurrent_attr, fields), .infer = infer,                  \
             BACKWARD(ID##_BWD, X(0), X(1), X(2), X(3), X(4), X(5), X(6), X(7), Y(0), Y(3), Y(4),  \
                      DY(0), DY(1), DY(2)),                                                         \
             .flops = flops);                                                                      \
    GRAPH_OP(ID##_BWD, name_##_bwd, onnx "Bwd", ATTRIBUTES(recurrent_attr, fields),                \
             .infer = infer_bwd, .flops = flops_bwd)

CELL(LSTM, lstm, "LSTM");
CELL(GRU, gru, "GRU");
CELL(RNN, rnn, "RNN");
