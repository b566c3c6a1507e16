/*
 * AllenNLP's basic_classifier and simple_tagger: texts through a table of tokens or one of the encoders, then
 * through what their sections seq2seq_encoder, seq2vec_encoder and encoder say, to scores of the text, or of each
 * token. Over a table of tokens tensors have AllenNLP's names, over an encoder it has Hugging Face's.
 *
 * Fields: those of encoder.c, but for context_mask.
 */
#include "model/builders.h"
#include "model/encoder.h"
#include "model/text_models.h"

#include "common/base/alloc.h"

#include <string.h>

static const text_names classifier_names = {
    .table = "_text_field_embedder.token_embedder_tokens",
    .tokens = "_seq2seq_encoder._module",
    .text = "_seq2vec_encoder",
    .feedforward = "_feedforward",
    .scores = "_classification_layer",
};
static const text_names tagger_names = {
    .table = "text_field_embedder.token_embedder_tokens",
    .tokens = "encoder._module",
    .feedforward = "feedforward",
    .scores = "tag_projection_layer._module",
};

enum { NGRAM_SIZES = 16 };

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

/* False: the section names none of torch's. */
static bool recurrent_of(const config *section, recurrent_layer *ret)
{
    static const char *const cells[] = {[CELL_LSTM] = "lstm", [CELL_GRU] = "gru", [CELL_RNN] = "rnn"};
    size_t cell = 0;
    while (cell < COUNT_OF(cells) && strcmp(cells[cell], config_str(section, "type")) != 0)
        cell++;
    if (cell == COUNT_OF(cells))
        return false;
    *ret = (recurrent_layer){.cell = (recurrent_cell)cell, .hidden = config_int(section, "hidden_size"),
                             .layers = config_int(section, "num_layers"),
                             .bidirectional = config_bool(section, "bidirectional"),
                             .dropout = config_f64(section, "dropout")};
    return true;
}

/* A row a token stays one. */
static status encode_tokens(net *n, const text_model *t, const config *section, error *err)
{
    recurrent_layer l;
    if (!section)
        return OK;
    if (!recurrent_of(section, &l))
        return check_size(n, section, "input_dim", err);
    TRY(check_size(n, section, "input_size", err));
    return net_recurrent(n, t->names->tokens, &l, &t->texts, NULL, err);
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

/* AllenNLP's activations, as net_activation calls them; NULL: none. */
static const struct {
    const char *theirs, *ours;
} activations[] = {{"linear", NULL}, {"relu", "relu"},       {"tanh", "tanh"},
                   {"gelu", "gelu"}, {"sigmoid", "sigmoid"}, {"swish", "silu"}};

static status activation_of(const char *place, const char *theirs, const char **ret, error *err)
{
    size_t i = 0;
    while (i < COUNT_OF(activations) && strcmp(activations[i].theirs, theirs) != 0)
        i++;
    if (i == COUNT_OF(activations))
        return FAIL(err, E_CONFIG, "%s: '%s' is not known; known: linear relu tanh gelu sigmoid swish", place, theirs);
    *ret = activations[i].ours;
    return OK;
}

static status filter_ngrams(net *n, const text_model *t, const config *section, error *err)
{
    const json_t *list = config_json(section, "ngram_filter_sizes");
    int64_t sizes[NGRAM_SIZES];
    ngram_layer l = {.filters = config_int(section, "num_filters"),
                     .sizes = sizes,
                     .n_sizes = json_array_size(list)};
    if (l.n_sizes < 1 || l.n_sizes > COUNT_OF(sizes))
        return FAIL(err, E_CONFIG, "%s.ngram_filter_sizes: got %zu items; expected 1 to %zu", config_path(section),
                    l.n_sizes, COUNT_OF(sizes));
    for (size_t i = 0; i < l.n_sizes; i++)
        sizes[i] = json_integer_value(json_array_get(list, i));
    TRY(activation_of(net_below(n, config_path(section), "conv_layer_activation"),
                      config_str(section, "conv_layer_activation"), &l.activation, err));
    TRY(net_ngrams(n, t->names->text, &l, &t->texts, err));
    if (!config_has(section, "output_dim"))
        return OK;
    return net_linear(n, net_below(n, t->names->text, "projection_layer"), config_int(section, "output_dim"), true,
                      err);
}

/* Rows of tokens to one of the text, [batch, width]. */
static status encode_text(net *n, const text_model *t, const config *section, error *err)
{
    const char *type = config_str(section, "type");
    recurrent_layer l;
    if (strcmp(type, "bert_pooler") == 0)
        return pool_as_bert(n, t, section, err);
    if (recurrent_of(section, &l)) {
        graph_val last;
        TRY(check_size(n, section, "input_size", err));
        TRY(net_recurrent(n, net_below(n, t->names->text, "_module"), &l, &t->texts, &last, err));
        n->end = last;
        return OK;
    }
    TRY(check_size(n, section, "embedding_dim", err));
    if (strcmp(type, "cnn") == 0)
        return filter_ngrams(n, t, section, err);
    if (strcmp(type, "cls_pooler") == 0)
        return net_first_token(n, "pooler.first", t->texts.tokens, err);
    return net_bag(n, "bag", &t->texts, config_bool(section, "averaged"), err);
}

/* --- layers behind them --- */

/* Item i of a list that may be one value for all, of which there are `layers`. */
static status layer_value(const config *section, const char *key, int64_t layers, int64_t i, const json_t **ret,
                          error *err)
{
    const json_t *value = config_json(section, key);
    *ret = json_is_array(value) ? json_array_get(value, (size_t)i) : value;
    if (!json_is_array(value) || (int64_t)json_array_size(value) == layers)
        return OK;
    return FAIL(err, E_CONFIG, "%s.%s: got %zu items; expected one, or %lld, as num_layers says", config_path(section),
                key, json_array_size(value), (long long)layers);
}

static status one_of_layers(net *n, const char *name, const config *section, int64_t layers, int64_t i, error *err)
{
    arena *memory = graph_arena(n->g);
    const json_t *width, *share, *word;
    const char *activation = NULL;
    TRY(layer_value(section, "hidden_dims", layers, i, &width, err));
    TRY(layer_value(section, "dropout", layers, i, &share, err));
    TRY(layer_value(section, "activations", layers, i, &word, err));
    TRY(activation_of(net_below(n, config_path(section), "activations"), json_string_value(word), &activation, err));
    TRY(net_linear(n, arena_printf(memory, "%s._linear_layers.%lld", name, (long long)i), json_integer_value(width),
                   true, err));
    if (activation)
        TRY(net_activation(n, arena_printf(memory, "%s.activation%lld", name, (long long)i), activation, err));
    return net_dropout(n, arena_printf(memory, "%s.drop%lld", name, (long long)i), json_number_value(share), err);
}

/* AllenNLP's FeedForward. */
static status feed_forward(net *n, const text_model *t, error *err)
{
    const config *section = config_section(t->section, "feedforward_layers");
    int64_t layers = section ? config_int(section, "num_layers") : 0;
    if (section)
        TRY(check_size(n, section, "input_dim", err));
    for (int64_t i = 0; i < layers; i++)
        TRY(one_of_layers(n, t->names->feedforward, section, layers, i, err));
    return OK;
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
    TRY(feed_forward(n, &t, err));
    return net_scores(n, scores_name(&t), ret, err);
}

status text_rows(net *n, const config *model, const text_names *names, double dropout, sequences *ret, error *err)
{
    text_model t = {.section = model, .names = names};
    TRY(embed_texts(n, &t, err));
    TRY(net_dropout(n, "input_dropout", dropout, err));
    TRY(encode_tokens(n, &t, config_section(model, "encoder"), err));
    *ret = t.texts;
    return OK;
}

/* Is a word more than its first token? Where it is not, rows of tokens serve as they are. */
static bool reads_words(const net *n, const text_model *t)
{
    const char *mode = config_str(t->section, "sub_token_mode");
    bool is_first = strcmp(mode, "first") == 0;
    bool passes = strcmp(config_str(t->section, "encoder.type"), "pass_through") == 0;
    return t->family && net_has_words(n) && !(is_first && passes);
}

status build_simple_tagger(net *n, const config *model, net_outputs *ret, error *err)
{
    text_model t = text_model_of(model, &tagger_names);
    graph_val members = GRAPH_NONE;
    TRY(embed_texts(n, &t, err));
    if (reads_words(n, &t))
        TRY(net_words(n, strcmp(config_str(model, "sub_token_mode"), "avg") == 0, &t.texts, &members, err));
    TRY(encode_tokens(n, &t, config_section(model, "encoder"), err));
    if (members != GRAPH_NONE)
        TRY(net_tokens_of_words(n, &t.texts, members, err));
    TRY(feed_forward(n, &t, err));
    TRY(net_scores(n, scores_name(&t), ret, err));
    graph_shape scores = {3, {t.texts.batch, t.texts.tokens, net_shape(n)->dim[1]}};
    return net_reshape(n, n->end, scores, &ret->at[0], err);
}
