/*
 * Layers over tokens. Between them the net's end is [batch * tokens, width], a row a token, as
 * linear layers take it. Threads and errors: as layers.h.
 */
#ifndef TEQUIO_MODEL_TOKENS_H
#define TEQUIO_MODEL_TOKENS_H

#include "model/layers.h"

/* Angles by which queries and keys are turned, as they stand: [batch, tokens, width of a head / 2] each. */
typedef struct rotation {
    graph_val cosine, sine;
} rotation;

typedef struct attention_layer {
    int64_t heads, tokens;
    int64_t kv_heads;       /* each of keys and values serves as many neighbouring ones; 0: as `heads` */
    bool causal;
    double dropout;         /* of the probabilities, in training */
    graph_val mask;         /* GRAPH_NONE, or bool or f32, broadcast to [batch,heads,tokens,tokens] */
    const rotation *turn;   /* NULL: positions come otherwise */
} attention_layer;

/* The field "input_ids", else the first of int64 that is no label; [batch, tokens]. */
MUST_USE status net_token_input(net *n, graph_val *ret, error *err);

/* "<name>.weight" [rows, width], and the row of each index: [index shape..., width]. */
MUST_USE status net_embedding(net *n, const char *name, int64_t rows, int64_t width,
                              graph_val index, graph_val *ret_table, graph_val *ret, error *err);
MUST_USE status net_layer_norm(net *n, const char *name, double epsilon, error *err);
/* By the root of the mean of squares, without a bias. */
MUST_USE status net_rms_norm(net *n, const char *name, double epsilon, error *err);
/* A linear layer whose weight lies [in, out], as GPT-2's Conv1D. `deviation` 0: the net's rule. */
MUST_USE status net_conv1d(net *n, const char *name, int64_t features, double deviation,
                           error *err);
/* The end holds queries, keys and values side by side: [batch * tokens, 3 * width]. */
MUST_USE status net_attention(net *n, const char *name, const attention_layer *l, error *err);
/* The same of three values [batch * tokens, width], keys and values maybe narrower; these alone are turned. */
MUST_USE status net_attention_of(net *n, const char *name, const attention_layer *l,
                                 const graph_val qkv[3], error *err);

/* x + what the end holds, dropped in part: the next layers begin there. */
MUST_USE status net_close_branch(net *n, const char *name, double dropout, graph_val x, error *err);

/* Scores [batch, tokens, n] become the lowest number there is where the field context_mask is 0; nothing is done where
 * the data have no such field. */
MUST_USE status net_mask_positions(net *n, graph_val *scores, error *err);

/* How many tokens there are, as `vocabulary` says or, where it is null, the data. E_CONFIG: nobody says it, the data
 * have more, or, where the table is pretrained, so many fewer that it was made for others. */
MUST_USE status net_vocabulary(const net *n, int64_t *ret, error *err);
/* E_CONFIG unless the heads divide the width. */
MUST_USE status net_check_heads(const net *n, int64_t width, int64_t heads, error *err);

#endif
