/* torch.nn.LSTM, GRU and RNN over texts (sequences.h). */
#include "model/sequences.h"

enum { GATES = 4, DIRECTIONS = 2 };

/* The operator, and where its gates stand among PyTorch's. */
typedef struct cell_form {
    const char *name;
    graph_op op;
    int64_t gates, order[GATES];
} cell_form;

static const cell_form cells[] = {
    [CELL_LSTM] = {"lstm", OP_LSTM, 4, {0, 3, 1, 2}}, /* PyTorch: i f g o; the operator: i o f g */
    [CELL_GRU] = {"gru", OP_GRU, 3, {1, 0, 2}},       /* r z n; z r h */
    [CELL_RNN] = {"rnn", OP_RNN, 1, {0}},
};

/* A layer in one of its forms: where it stands, and what its operands are. */
typedef struct recurrent_place {
    const cell_form *cell;
    const char *name;
    int64_t layer, hidden, inputs, directions;
} recurrent_place;

static const char *tensor_name(const net *n, const recurrent_place *p, const char *what, bool backward)
{
    return arena_printf(graph_arena(n->g), "%s_l%lld%s", what, (long long)p->layer, backward ? "_reverse" : "");
}

static status order_of_gates(net *n, const cell_form *cell, graph_val *ret, error *err)
{
    const char *name = arena_printf(graph_arena(n->g), "%s.gates", cell->name);
    *ret = graph_find(n->g, name);
    if (*ret != GRAPH_NONE)
        return OK;
    return graph_const(n->g, name, DT_I64, (graph_shape){1, {cell->gates}}, cell->order, ret, err);
}

/* A parameter [gates * hidden, columns] as the operator has it: [1, gates * hidden, columns]; columns 0: one axis
 * less. */
static status cell_weight(net *n, const recurrent_place *p, const char *tensor, int64_t columns, graph_val *ret,
                          error *err)
{
    double fan = (double)p->hidden;
    int32_t rank = columns ? 2 : 1;
    int64_t gates = p->cell->gates, rows = gates * p->hidden;
    graph_shape shape = {rank, {rows, columns}}, apart = {rank + 1, {gates, p->hidden, columns}};
    graph_shape whole = {rank + 1, {1, rows, columns}};
    graph_val in[2];
    TRY(net_weight(n, p->name, tensor, shape, fan, fan, ret, err));
    if (gates > 1) {
        TRY(net_reshape(n, *ret, apart, &in[0], err));
        TRY(order_of_gates(n, p->cell, &in[1], err));
        TRY(graph_add_1(n->g, OP_GATHER, NULL, in, 2, &(gather_attr){.axis = 0}, ret, err));
    }
    return net_reshape(n, *ret, whole, ret, err);
}

/* Side by side along an axis; one alone is itself. */
static status joined(net *n, const graph_val *in, int64_t many, int32_t axis, graph_val *ret, error *err)
{
    *ret = in[0];
    if (many == 1)
        return OK;
    return graph_add_1(n->g, OP_CONCAT, NULL, in, (int32_t)many, &(axis_attr){.axis = axis}, ret, err);
}

/* Weights of inputs, of states, and both biases. */
static status operands(net *n, const recurrent_place *p, graph_val ret[3], error *err)
{
    graph_val inputs[DIRECTIONS], states[DIRECTIONS], biases[DIRECTIONS], pair[2];
    for (int64_t d = 0; d < p->directions; d++) {
        TRY(cell_weight(n, p, tensor_name(n, p, "weight_ih", d > 0), p->inputs, &inputs[d], err));
        TRY(cell_weight(n, p, tensor_name(n, p, "weight_hh", d > 0), p->hidden, &states[d], err));
        TRY(cell_weight(n, p, tensor_name(n, p, "bias_ih", d > 0), 0, &pair[0], err));
        TRY(cell_weight(n, p, tensor_name(n, p, "bias_hh", d > 0), 0, &pair[1], err));
        TRY(joined(n, pair, 2, 1, &biases[d], err));
    }
    TRY(joined(n, inputs, p->directions, 0, &ret[0], err));
    TRY(joined(n, states, p->directions, 0, &ret[1], err));
    return joined(n, biases, p->directions, 0, &ret[2], err);
}

/* int32 [batch]; GRAPH_NONE where all texts are whole. */
static status lengths_of(net *n, const char *name, const sequences *s, graph_val *ret, error *err)
{
    const reduce_attr tokens = {.axes = {1, 2}, .n_axes = 2, .drop_dims = true};
    *ret = GRAPH_NONE;
    if (s->mask == GRAPH_NONE)
        return OK;
    TRY(graph_add_1(n->g, OP_REDUCE_SUM, net_below(n, name, "length"), &s->mask, 1, &tokens, ret, err));
    return graph_add_1(n->g, OP_CAST, net_below(n, name, "lengths"), ret, 1, &(cast_attr){.to = DT_I32}, ret, err);
}

static status turned(net *n, graph_val v, transpose_attr perm, graph_shape shape, graph_val *ret, error *err)
{
    TRY(graph_add_1(n->g, OP_TRANSPOSE, NULL, &v, 1, &perm, ret, err));
    return net_reshape(n, *ret, shape, ret, err);
}

static status one_layer(net *n, const recurrent_place *p, const sequences *s, graph_val lengths, graph_val *ret_last,
                        error *err)
{
    const char *name = arena_printf(graph_arena(n->g), "%s.l%lld", p->name, (long long)p->layer);
    int64_t wide = p->directions * p->hidden;
    graph_val in[5] = {GRAPH_NONE, GRAPH_NONE, GRAPH_NONE, GRAPH_NONE, lengths}, out[5];
    recurrent_attr attr = {.hidden = p->hidden,
                           .direction = p->directions > 1 ? RECURRENT_BOTH : RECURRENT_FORWARD,
                           .linear_before_reset = p->cell->op == OP_GRU};
    TRY(operands(n, p, in + 1, err));
    TRY(net_reshape(n, n->end, (graph_shape){3, {s->batch, s->tokens, p->inputs}}, &in[0], err));
    TRY(graph_add_1(n->g, OP_TRANSPOSE, NULL, &in[0], 1, &(transpose_attr){.perm = {1, 0, 2}}, &in[0], err));
    TRY(graph_add(n->g, p->cell->op, name, in, 5, &attr, out, err));
    if (ret_last)
        TRY(turned(n, out[1], (transpose_attr){.perm = {1, 0, 2}}, (graph_shape){2, {s->batch, wide}}, ret_last,
                   err));
    return turned(n, out[0], (transpose_attr){.perm = {2, 0, 1, 3}}, (graph_shape){2, {s->batch * s->tokens, wide}},
                  &n->end, err);
}

status net_recurrent(net *n, const char *name, const recurrent_layer *l, const sequences *s, graph_val *ret_last,
                     error *err)
{
    net_init init = n->init;
    graph_val lengths;
    n->init = NET_PYTORCH;
    TRY(lengths_of(n, name, s, &lengths, err));
    for (int64_t i = 0; i < l->layers; i++) {
        recurrent_place p = {&cells[l->cell], name, i, l->hidden, net_shape(n)->dim[1],
                             l->bidirectional ? DIRECTIONS : 1};
        bool is_last = i + 1 == l->layers;
        TRY(one_layer(n, &p, s, lengths, is_last ? ret_last : NULL, err));
        if (!is_last)
            TRY(net_dropout(n, arena_printf(graph_arena(n->g), "%s.drop%lld", name, (long long)i), l->dropout, err));
    }
    n->init = init;
    return OK;
}
