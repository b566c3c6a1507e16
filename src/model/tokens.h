/*
 * Layers over tokens. Between them the net's end is [batch * tokens, width], a row a token, as
 * linear layers take it. Threads and errors: as layers.h.
 */
#ifndef TEQUIO_MODEL_TOKENS_H
#define TEQUIO_MODEL_TOKENS_H

#include "model/layers.h"

typedef struct attention_layer {
    int64_t heads, tokens;
    bool causal;
    double dropout; /* of the probabilities, in training */
    graph_val mask; /* GRAPH_NONE, or bool or f32, broadcast to [batch,heads,tokens,tokens] */
} attention_layer;

/* The field "input_ids", else the first of int64 that is no label; [batch, tokens]. */
MUST_USE status net_token_input(net *n, graph_val *ret, error *err);

/* "<name>.weight" [rows, width], and the row of each index: [index shape..., width]. */
MUST_USE status net_embedding(net *n, const char *name, int64_t rows, int64_t width,
                              graph_val index, graph_val *ret_table, graph_val *ret, error *err);
MUST_USE status net_layer_norm(net *n, const char *name, double epsilon, error *err);
/* A linear layer whose weight lies [in, out], as GPT-2's Conv1D. `deviation` 0: the net's rule. */
MUST_USE status net_conv1d(net *n, const char *name, int64_t features, double deviation,
                           error *err);
/* The end holds queries, keys and values side by side: [batch * tokens, 3 * width]. */
MUST_USE status net_attention(net *n, const char *name, const attention_layer *l, error *err);
/* The same of three values [batch * tokens, width]. */
MUST_USE status net_attention_of(net *n, const char *name, const attention_layer *l,
                                 const graph_val qkv[3], error *err);

/* Scores [batch, tokens, n] become the lowest number there is where the field context_mask is 0; nothing is done where
 * the data have no such field. */
MUST_USE status net_mask_positions(net *n, graph_val *scores, error *err);

/* E_CONFIG if the data's tokens are more than a table of `rows` has. */
MUST_USE status net_check_tokens(const net *n, int64_t rows, error *err);
/* E_CONFIG unless the heads divide the width. */
MUST_USE status net_check_heads(const net *n, int64_t width, int64_t heads, error *err);
/* The numbers an option gives, or, where it is null, `otherwise`. */
int64_t net_option_or(const config *model, const char *key, int64_t otherwise);
/* The same of a share, as of dropout. */
double net_share_or(const config *model, const char *key, double otherwise);

#endif
