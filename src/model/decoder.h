/*
 * Decoders of text by one table: what a network that says the next token calls its tensors, and in what
 * else it differs. Names are those of Hugging Face's transformers.
 *
 * Threads: pure functions.
 */
#ifndef TEQUIO_MODEL_DECODER_H
#define TEQUIO_MODEL_DECODER_H

#include "model/pretrained.h"
#include "model/tokens.h"

typedef struct decoder decoder;

typedef struct decoder_family {
    const char *name;           /* config.json's model_type */
    const char *class_name;     /* of the network with its last layer */
    checkpoint_names names;
    const char *table;          /* the tensor with a row for each token */
    const char *places;         /* the one with a row for each position; NULL: none is learned */
    const char *activation;     /* where a section says none; so are the next two */
    double dropout;
    bool is_tied;               /* the table is the last layer too */
    bool qkv_bias;              /* queries, keys and values have biases, whatever attention_bias says */
    /* Tokens [batch, tokens] to rows [batch * tokens, width], the end; ret_table is what `table` names. */
    status (*build)(net *n, const config *model, const decoder *d, graph_val ids, graph_val *ret_table,
                    error *err);
} decoder_family;

/* Of a section `model` of the type transformer_lm; NULL if it is of another. */
const decoder_family *decoder_family_of(const config *model);

struct decoder {
    const decoder_family *family;
    int64_t layers, tokens, places, width, feedforward, vocabulary;
    double dropout, epsilon;
    double deviation;           /* of first weights */
    const char *activation;
    bool is_tied;
    attention_layer attention;
};

/* GPT-2's shape: learned positions, layers that lie [in, out]. */
MUST_USE status build_gpt2(net *n, const config *model, const decoder *d, graph_val ids, graph_val *ret_table,
                           error *err);
/* Llama's: positions by rotation, a feed-forward with a gate, heads of keys and values that queries share. */
MUST_USE status build_llama(net *n, const config *model, const decoder *d, graph_val ids, graph_val *ret_table,
                            error *err);

#endif
