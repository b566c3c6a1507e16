/*
 * AllenNLP's basic_classifier and simple_tagger: texts through a table of tokens or one of the encoders, then
 * through what their sections seq2seq_encoder, seq2vec_encoder and encoder say, to scores of the text, or of each
 * token. Over a table of tokens tensors have AllenNLP's names, over an encoder it has Hugging Face's.
 *
 * Fields: those of encoder.c, but for context_mask.
 */
#include "model/builders.h"
#include "model/encoder.h"
#include "model/sequences.h"

#include <string.h>

/* What a model's parts are called. */
typedef struct text_names {
    const char *table, *tokens, *text, *scores;
} text_names;

static const text_names classifier_names = {
    .table = "_text_field_embedder.token_embedder_tokens",
    .tokens = "_seq2seq_encoder._module",
    .text = "_seq2vec_encoder._module",
    .scores = "_classification_layer",
};
static const text_names tagger_names = {
    .table = "text_field_embedder.token_embedder_tokens",
    .tokens = "encoder._module",
    .scores = "tag_projection_layer._module",
};

typedef struct text_model {
    const config *section;
    const text_names *names;
    const encoder_family *family; /* NULL: a table of tokens */
    sequences texts;
} text_model;

/* --- tokens --- */

static status table_rows(net *n, const text_model *t, int64_t *ret_tokens, error *err)
{
    graph_val in[2];
    TRY(net_token_input(n, &in[1], err));
    int64_t rows = 0, width = net_option_or(t->section, "embedding_width", 0);
    *ret_tokens = graph_value_at(n->g, in[1])->shape.dim[1];
    if (width < 1)
        return FAIL(err, E_CONFIG, "%s.embedding_width: null; expected how many numbers stand for a token",
                    config_path(t->section));
    TRY(net_vocabulary(n, &rows, err));
    n->init = NET_XAVIER;
    TRY(net_weight(n, t->names->table, "weight", (graph_shape){2, {rows, width}}, (double)width, (double)rows, &in[0],
                   err));
    TRY(graph_add_1(n->g, OP_GATHER, t->names->table, in, 2, &(gather_attr){.axis = 0}, &n->end, err));
    return net_reshape(n, n->end, (graph_shape){2, {n->request->batch_size * *ret_tokens, width}}, &n->end, err);
}

/* Rows [batch * tokens, width], the end. */
static status embed_texts(net *n, text_model *t, error *err)
{
    int64_t tokens;
    if (t->family) {
        encoder e;
        TRY(encoder_rows(n, t->section, &e, err));
        tokens = e.tokens;
    } else {
        TRY(table_rows(n, t, &tokens, err));
    }
    n->init = NET_PYTORCH;
    return sequences_of(n, tokens, &t->texts, err);
}

/* --- encoders of them --- */

static status check_size(const net *n, const config *section, const char *key, error *err)
{
    int64_t is = net_shape(n)->dim[1];
    if (net_option_or(section, key, is) == is)
        return OK;
    return FAIL(err, E_CONFIG, "%s.%s: got %lld, but what it reads is %lld wide", config_path(section), key,
                (long long)config_int(section, key), (long long)is);
}

static lstm_layer lstm_of(const config *section)
{
    return (lstm_layer){.hidden = config_int(section, "hidden_size"),
                        .layers = config_int(section, "num_layers"),
                        .bidirectional = config_bool(section, "bidirectional"),
                        .dropout = config_f64(section, "dropout")};
}

/* A row a token stays one. */
static status encode_tokens(net *n, const text_model *t, const config *section, error *err)
{
    if (!section)
        return OK;
    if (strcmp(config_str(section, "type"), "pass_through") == 0)
        return check_size(n, section, "input_dim", err);
    lstm_layer l = lstm_of(section);
    TRY(check_size(n, section, "input_size", err));
    return net_lstm(n, t->names->tokens, &l, &t->texts, NULL, err);
}

static status pool_as_bert(net *n, const text_model *t, const config *section, error *err)
{
    const char *pooler = t->family ? t->family->own_pooler : NULL;
    if (!pooler)
        return FAIL(err, E_CONFIG, "%s.type: a network '%s' has no pooler; use cls_pooler", config_path(section),
                    config_str(t->section, "network"));
    if (config_has(t->section, "seq2seq_encoder"))
        return FAIL(err, E_CONFIG, "%s.type: bert_pooler reads the network itself; leave seq2seq_encoder out",
                    config_path(section));
    TRY(net_first_token(n, "pooler.first", t->texts.tokens, err));
    n->init = NET_NORMAL;
    TRY(net_linear(n, pooler, net_shape(n)->dim[1], true, err));
    n->init = NET_PYTORCH;
    TRY(net_activation(n, "pooler.activation", "tanh", err));
    return net_dropout(n, "pooler.dropout", config_f64(section, "dropout"), err);
}

/* Rows of tokens to one of the text, [batch, width]. */
static status encode_text(net *n, const text_model *t, const config *section, error *err)
{
    const char *type = config_str(section, "type");
    if (strcmp(type, "bert_pooler") == 0)
        return pool_as_bert(n, t, section, err);
    if (strcmp(type, "lstm") == 0) {
        lstm_layer l = lstm_of(section);
        graph_val last;
        TRY(check_size(n, section, "input_size", err));
        TRY(net_lstm(n, t->names->text, &l, &t->texts, &last, err));
        n->end = last;
        return OK;
    }
    TRY(check_size(n, section, "embedding_dim", err));
    if (strcmp(type, "cls_pooler") == 0)
        return net_first_token(n, "pooler.first", t->texts.tokens, err);
    return net_bag(n, "bag", &t->texts, config_bool(section, "averaged"), err);
}

/* --- the whole --- */

static text_model text_model_of(const config *model, const text_names *names)
{
    return (text_model){.section = model, .names = names, .family = encoder_family_of(model)};
}

static const char *scores_name(const text_model *t)
{
    return t->family ? "classifier" : t->names->scores;
}

status build_basic_classifier(net *n, const config *model, net_outputs *ret, error *err)
{
    text_model t = text_model_of(model, &classifier_names);
    TRY(embed_texts(n, &t, err));
    TRY(encode_tokens(n, &t, config_section(model, "seq2seq_encoder"), err));
    TRY(encode_text(n, &t, config_section(model, "seq2vec_encoder"), err));
    TRY(net_dropout(n, "dropout", net_share_or(model, "dropout", 0.0), err));
    return net_scores(n, scores_name(&t), ret, err);
}

status build_simple_tagger(net *n, const config *model, net_outputs *ret, error *err)
{
    text_model t = text_model_of(model, &tagger_names);
    TRY(embed_texts(n, &t, err));
    TRY(encode_tokens(n, &t, config_section(model, "encoder"), err));
    TRY(net_scores(n, scores_name(&t), ret, err));
    graph_shape scores = {3, {t.texts.batch, t.texts.tokens, net_shape(n)->dim[1]}};
    return net_reshape(n, n->end, scores, &ret->at[0], err);
}
