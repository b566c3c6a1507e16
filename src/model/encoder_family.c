/* The encoders there are (encoder.h). */
#include "model/encoder.h"

#include <string.h>

static const encoder_layer_names bert_layer = {
    .attention = "attention.self",
    .query = "attention.self.query",
    .key = "attention.self.key",
    .value = "attention.self.value",
    .mix = "attention.output.dense",
    .mix_norm = "attention.output.LayerNorm",
    .mix_drop = "attention.output.dropout",
    .up = "intermediate.dense",
    .act = "intermediate.act",
    .down = "output.dense",
    .norm = "output.LayerNorm",
    .down_drop = "output.dropout",
};

static const encoder_layer_names distilbert_layer = {
    .attention = "attention",
    .query = "attention.q_lin",
    .key = "attention.k_lin",
    .value = "attention.v_lin",
    .mix = "attention.out_lin",
    .mix_norm = "sa_layer_norm",
    .up = "ffn.lin1",
    .act = "ffn.activation",
    .down = "ffn.lin2",
    .norm = "output_layer_norm",
    .down_drop = "ffn.dropout",
};

static const encoder_layer_names albert_layer = {
    .attention = "attention",
    .query = "attention.query",
    .key = "attention.key",
    .value = "attention.value",
    .mix = "attention.dense",
    .mix_norm = "attention.LayerNorm",
    .mix_drop = "attention.output_dropout",
    .up = "ffn",
    .act = "activation",
    .down = "ffn_output",
    .norm = "full_layer_layer_norm",
};

static const encoder_family families[] = {
    {
        .name = "bert", /* Devlin et al., 1810.04805 */
        .class_name = "Bert",
        .names = {"bert.", "bert."},
        .layers = "bert.encoder.layer",
        .has_types = true,
        .own_pooler = "bert.pooler.dense",
        .layer = &bert_layer,
        .pooler = {.dense = "bert.pooler.dense", .activation = "tanh", .scores = "classifier"},
    },
    {
        .name = "roberta", /* Liu et al., 1907.11692 */
        .class_name = "Roberta",
        .names = {"roberta.", "roberta."},
        .layers = "roberta.encoder.layer",
        .has_types = true,
        .counts_behind_padding = true,
        .own_pooler = "roberta.pooler.dense",
        .layer = &bert_layer,
        .pooler = {"classifier.dense", "tanh", "classifier.out_proj", .drops_first = true},
    },
    {
        .name = "distilbert", /* Sanh et al., 1910.01108 */
        .class_name = "DistilBert",
        .names = {"distilbert.", "distilbert."},
        .layers = "distilbert.transformer.layer",
        .drops_answers = true,
        .layer = &distilbert_layer,
        .pooler = {.dense = "pre_classifier", .activation = "relu", .scores = "classifier"},
    },
    {
        .name = "electra", /* Clark et al., 2003.10555 */
        .class_name = "Electra",
        .names = {"electra.", "electra."},
        .layers = "electra.encoder.layer",
        .project = "electra.embeddings_project",
        .has_types = true,
        .layer = &bert_layer,
        .pooler = {"classifier.dense", "gelu", "classifier.out_proj", .drops_first = true},
    },
    {
        .name = "albert", /* Lan et al., 1909.11942 */
        .class_name = "Albert",
        .names = {"albert.", "albert."},
        .layers = "albert.encoder.layer",
        .shared = "albert.encoder.albert_layer_groups.0.albert_layers.0",
        .project = "albert.encoder.embedding_hidden_mapping_in",
        .projects_always = true,
        .has_types = true,
        .own_pooler = "albert.pooler",
        .layer = &albert_layer,
        .pooler = {.dense = "albert.pooler", .activation = "tanh", .scores = "classifier"},
    },
};

static const encoder_family *find(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(families); i++)
        if (strcmp(families[i].name, name) == 0)
            return &families[i];
    return NULL;
}

const encoder_family *encoder_family_of(const config *model)
{
    const encoder_family *by_type = find(config_str(model, "type"));
    return by_type || !config_has(model, "network") ? by_type : find(config_str(model, "network"));
}
