/*
 * Encoders of text by one table: what a network of the family of BERT calls its tensors, and in what
 * else it differs. Names are those of Hugging Face's transformers.
 *
 * Threads: pure functions.
 */
#ifndef TEQUIO_MODEL_ENCODER_H
#define TEQUIO_MODEL_ENCODER_H

#include "model/pretrained.h"
#include "model/tokens.h"

/* Below "<layers>.<i>". */
typedef struct encoder_layer_names {
    const char *attention;              /* the node, no tensor */
    const char *query, *key, *value;
    const char *mix, *mix_norm;         /* what attention gives, and the norm behind it */
    const char *mix_drop;               /* the dropout between; NULL: none */
    const char *up, *act, *down, *norm; /* the two linear layers, and the norm behind them */
    const char *down_drop;
} encoder_layer_names;

/* The head `sequence`: dense and activation over the first token's row, dropout, the scores. */
typedef struct encoder_pooler {
    const char *dense, *activation, *scores;
    bool drops_first;                   /* dropout before the dense layer too */
} encoder_pooler;

typedef struct encoder_family {
    const char *name;                   /* config.json's model_type; its tensors begin with "<name>." */
    const char *class_name;             /* "Bert" of BertForQuestionAnswering */
    checkpoint_names names;
    const char *layers;
    const char *shared;                 /* the layer that all layers are; NULL: each its own */
    const char *project;                /* from the tables' width to the layers'; NULL: one width */
    bool projects_always;               /* also where both are the same */
    bool has_types;                     /* kinds of tokens */
    bool counts_behind_padding;         /* positions: padding + 1 on, padding of padding tokens */
    bool drops_answers;                 /* the head `qa` drops what it reads */
    const char *own_pooler;             /* dense, then tanh, of the network without a head; NULL: it has none */
    const encoder_layer_names *layer;
    encoder_pooler pooler;
} encoder_family;

/* Of a section `model`, by its type or `network`; NULL if it is no encoder. */
const encoder_family *encoder_family_of(const config *model);

typedef struct encoder {
    const encoder_family *family;
    int64_t vocabulary, tokens, width, embedding_width, feedforward;
    double dropout, head_dropout, epsilon;
    const char *activation;
    attention_layer attention;
} encoder;

/* From the tokens of the data to rows [batch * tokens, width], the end. */
MUST_USE status encoder_rows(net *n, const config *model, encoder *ret, error *err);
/* Appends the head that `model.head` names to rows [batch * tokens, width]. */
MUST_USE status encoder_head(net *n, const config *model, const encoder *e, net_outputs *ret, error *err);

#endif
