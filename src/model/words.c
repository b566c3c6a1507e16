/* Words of tokens (sequences.h): each way between both is a product with a matrix of what belongs to what. */
#include "model/sequences.h"

#include "common/base/alloc.h"

#include <string.h>

bool net_has_words(const net *n)
{
    const data_field *f = net_find(n, "word_ids", DT_I64);
    return f && strcmp(f->name, "word_ids") == 0;
}

/* f32 [batch, words, tokens]: 1 where the token is one of the word. A text has no more words than tokens. */
static status members(net *n, const sequences *s, graph_val ids, graph_val *ret, error *err)
{
    arena *memory = graph_arena(n->g);
    int64_t *numbers = arena_alloc(memory, (size_t)s->tokens * sizeof *numbers);
    graph_val in[2];
    for (int64_t i = 0; i < s->tokens; i++)
        numbers[i] = i + 1;
    TRY(net_reshape(n, ids, (graph_shape){3, {s->batch, 1, s->tokens}}, &in[0], err));
    TRY(graph_const(n->g, "words.numbers", DT_I64, (graph_shape){2, {s->tokens, 1}}, numbers, &in[1], err));
    TRY(graph_add_1(n->g, OP_EQUAL, "words.is", in, 2, NULL, ret, err));
    return graph_add_1(n->g, OP_CAST, "words.members", ret, 1, &(cast_attr){.to = DT_F32}, ret, err);
}

/* f32 [batch, 1, tokens]: 1 where a token's number is not that of the token before it. */
static status beginnings(net *n, const sequences *s, graph_val ids, graph_val *ret, error *err)
{
    const slice_attr head = {.n_axes = 1, .axes = {1}, .end = {1}, .step = {1}};
    const slice_attr but_last = {.n_axes = 1, .axes = {1}, .end = {s->tokens - 1}, .step = {1}};
    graph_val in[2] = {ids}, before[2];
    TRY(graph_add_1(n->g, OP_SLICE, "words.head", &ids, 1, &head, &before[0], err));
    TRY(graph_add_1(n->g, OP_SUB, "words.none", (graph_val[]){before[0], before[0]}, 2, NULL, &before[0], err));
    in[1] = before[0];
    if (s->tokens > 1) {
        TRY(graph_add_1(n->g, OP_SLICE, "words.before", &ids, 1, &but_last, &before[1], err));
        TRY(graph_add_1(n->g, OP_CONCAT, "words.previous", before, 2, &(axis_attr){.axis = 1}, &in[1], err));
    }
    TRY(graph_add_1(n->g, OP_EQUAL, "words.goes_on", in, 2, NULL, ret, err));
    TRY(graph_add_1(n->g, OP_NOT, "words.begins", ret, 1, NULL, ret, err));
    TRY(graph_add_1(n->g, OP_CAST, "words.first", ret, 1, &(cast_attr){.to = DT_F32}, ret, err));
    return net_reshape(n, *ret, (graph_shape){3, {s->batch, 1, s->tokens}}, ret, err);
}

/* The end by a matrix [batch, rows, rows]; rows [batch * tokens, width] before and behind. */
static status by_matrix(net *n, const char *name, const sequences *s, graph_val matrix, error *err)
{
    int64_t width = net_shape(n)->dim[1];
    graph_val in[2] = {matrix};
    TRY(net_reshape(n, n->end, (graph_shape){3, {s->batch, s->tokens, width}}, &in[1], err));
    TRY(graph_add_1(n->g, OP_MATMUL, name, in, 2, NULL, &n->end, err));
    return net_reshape(n, n->end, (graph_shape){2, {s->batch * s->tokens, width}}, &n->end, err);
}

status net_words(net *n, bool averaged, sequences *s, graph_val *ret_members, error *err)
{
    const reduce_attr along = {.axes = {2}, .n_axes = 1};
    const float number = 1.0f;
    graph_val ids, one, share[2], count[2];
    TRY(net_field(n, net_find(n, "word_ids", DT_I64), &ids, err));
    TRY(members(n, s, ids, ret_members, err));
    TRY(graph_add_1(n->g, OP_REDUCE_SUM, "words.count", ret_members, 1, &along, &count[0], err));
    TRY(graph_const(n->g, "words.one", DT_F32, (graph_shape){.rank = 0}, &number, &one, err));
    count[1] = one;
    TRY(graph_add_1(n->g, OP_MIN, "words.mask", count, 2, NULL, &s->mask, err));
    TRY(graph_add_1(n->g, OP_MAX, "words.divisor", count, 2, NULL, &count[0], err));
    share[0] = *ret_members;
    share[1] = count[0];
    if (!averaged)
        TRY(beginnings(n, s, ids, &share[1], err));
    TRY(graph_add_1(n->g, averaged ? OP_DIV : OP_MUL, "words.shares", share, 2, NULL, &share[0], err));
    return by_matrix(n, "words", s, share[0], err);
}

status net_tokens_of_words(net *n, const sequences *s, graph_val members_of, error *err)
{
    TRY(graph_add_1(n->g, OP_TRANSPOSE, "words.of_tokens", &members_of, 1, &(transpose_attr){.perm = {0, 2, 1}},
                    &members_of, err));
    return by_matrix(n, "words.tokens", s, members_of, err);
}
