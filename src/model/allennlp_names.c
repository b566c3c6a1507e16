#include "model/allennlp_names.h"

#include <string.h>

static const struct {
    const char *theirs;
    const char *ours; /* NULL: the network's own prefix */
} prefixes[] = {
    {"_text_field_embedder.token_embedder_tokens.transformer_model.", NULL},
    {"_linear_layer.", "qa_outputs."},
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
            return arena_printf(a, "%s%s", prefixes[i].ours ? prefixes[i].ours : names->ours, name + n);
    }
    return name;
}
