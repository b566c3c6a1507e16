/*
 * Layers over texts of unlike length: rows [batch * tokens, width], of which a mask says where tokens are. As
 * AllenNLP's encoders of them. Threads and errors: as layers.h.
 */
#ifndef TEQUIO_MODEL_SEQUENCES_H
#define TEQUIO_MODEL_SEQUENCES_H

#include "model/tokens.h"

typedef struct sequences {
    int64_t batch, tokens;
    graph_val mask; /* f32 [batch, tokens, 1], 1 where there are tokens, 0 behind; GRAPH_NONE: they are everywhere */
} sequences;

/* By the field attention_mask, where the data have one. */
MUST_USE status sequences_of(net *n, int64_t tokens, sequences *ret, error *err);

typedef struct lstm_layer {
    int64_t hidden, layers;
    bool bidirectional;
    double dropout; /* between layers, in training */
} lstm_layer;

/* torch.nn.LSTM with its names ("<name>.weight_ih_l0", ...), first weights and gates. The end becomes the states of
 * all tokens, rows [batch * tokens, hidden, or twice that], 0 where there is none; ret_last, if not NULL, those
 * of each text's end, [batch, the same]: its last token forward, its first backward. */
MUST_USE status net_lstm(net *n, const char *name, const lstm_layer *l, const sequences *s, graph_val *ret_last,
                         error *err);

/* The sum of a text's rows, or their mean: [batch, width]. */
MUST_USE status net_bag(net *n, const char *name, const sequences *s, bool averaged, error *err);
/* The row of its first token. */
MUST_USE status net_first_token(net *n, const char *name, int64_t tokens, error *err);

#endif
