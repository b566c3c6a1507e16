#include "model/allennlp_names.h"

#include "model/encoder.h"

#include <string.h>

/* Beginnings of names, by the type of the model. Ours: NULL stands for the network's own prefix, before `below`. The
 * first that fits counts. */
static const struct {
    const char *type, *theirs, *ours, *below;
} prefixes[] = {
    {"transformer_qa", "_text_field_embedder.token_embedder_tokens.transformer_model.", NULL, ""},
    {"transformer_qa", "_linear_layer.", "qa_outputs.", ""},
    {"basic_classifier", "_seq2vec_encoder.pooler.dense.", NULL, "pooler.dense."},
    {"basic_classifier", "_text_field_embedder.token_embedder_tokens.transformer_model.", NULL, ""},
    {"basic_classifier", "_classification_layer.", "classifier.", ""},
    {"simple_tagger", "text_field_embedder.token_embedder_tokens._matched_embedder.transformer_model.", NULL, ""},
    {"simple_tagger", "tag_projection_layer._module.", "classifier.", ""},
};

bool allennlp_is_file(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot && strcmp(dot, ".th") == 0;
}

const char *allennlp_tensor(const char *name, const checkpoint_names *names, arena *a)
{
    for (size_t i = 0; i < COUNT_OF(prefixes); i++) {
        size_t n = strlen(prefixes[i].theirs);
        if (strncmp(name, prefixes[i].theirs, n) == 0)
            return arena_printf(a, "%s%s%s", prefixes[i].ours ? prefixes[i].ours : names->ours, prefixes[i].below,
                                name + n);
    }
    return name;
}

const char *allennlp_name_of(const config *model, const char *name, arena *a)
{
    const encoder_family *f = encoder_family_of(model);
    for (size_t i = 0; f && i < COUNT_OF(prefixes); i++) {
        const char *ours = arena_printf(a, "%s%s", prefixes[i].ours ? prefixes[i].ours : f->names.ours,
                                        prefixes[i].below);
        if (strcmp(prefixes[i].type, config_str(model, "type")) == 0 && strncmp(name, ours, strlen(ours)) == 0)
            return arena_printf(a, "%s%s", prefixes[i].theirs, name + strlen(ours));
    }
    return NULL;
}
