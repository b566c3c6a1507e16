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

/* Do the data say of which word each token is: int64 word_ids [tokens], 0 of none, the words of a text from 1? */
bool net_has_words(const net *n);
/* From rows of tokens, the end, to rows of words, in the same places from the text's first on: the mean of a word's
 * tokens, or its first one. s->mask becomes that of words; *ret_members says which tokens are whose. */
MUST_USE status net_words(net *n, bool averaged, sequences *s, graph_val *ret_members, error *err);
/* The way back: each token has its word's row, a token of no word zeros. */
MUST_USE status net_tokens_of_words(net *n, const sequences *s, graph_val members, error *err);

/* torch.nn.LSTM, GRU and RNN. */
typedef enum recurrent_cell { CELL_LSTM, CELL_GRU, CELL_RNN } recurrent_cell;

typedef struct recurrent_layer {
    recurrent_cell cell;
    int64_t hidden, layers;
    bool bidirectional;
    double dropout; /* between layers, in training */
} recurrent_layer;

/* torch's with its names ("<name>.weight_ih_l0", ...), first weights and gates. The end becomes the states of
 * all tokens, rows [batch * tokens, hidden, or twice that], 0 where there is none; ret_last, if not NULL, those
 * of each text's end, [batch, the same]: its last token forward, its first backward. */
MUST_USE status net_recurrent(net *n, const char *name, const recurrent_layer *l, const sequences *s,
                              graph_val *ret_last, error *err);

typedef struct ngram_layer {
    int64_t filters;            /* of each size */
    const int64_t *sizes;       /* [n_sizes] tokens that a filter sees */
    size_t n_sizes;
    const char *activation;     /* NULL: none */
} ngram_layer;

/* AllenNLP's CnnEncoder without its projection: filters over every so many neighbouring tokens of a text ("<name>.
 * conv_layer_0.weight" [filters, width, size], ...), and of each the largest; 0 where the text is shorter than the
 * filter. [batch, filters * n_sizes]. Zhang and Wallace, 1510.03820. */
MUST_USE status net_ngrams(net *n, const char *name, const ngram_layer *l, const sequences *s, error *err);

/* The sum of a text's rows, or their mean: [batch, width]. */
MUST_USE status net_bag(net *n, const char *name, const sequences *s, bool averaged, error *err);
/* The row of its first token. */
MUST_USE status net_first_token(net *n, const char *name, int64_t tokens, error *err);

#endif
