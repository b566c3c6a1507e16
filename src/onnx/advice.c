#include "onnx/advice.h"

#include "common/base/buf.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef struct signs {
    size_t norms, biased_convs; /* BatchNormalization; Conv with a bias */
    size_t merged;              /* Identity of an initializer */
    size_t renamed;             /* initializers that lost their name */
    const char *example;        /* one of them */
} signs;

static bool lost_its_name(const Onnx__TensorProto *t)
{
    const char *name = onnx_text(t->name), *made_up[] = {"onnx::Conv_", "onnx::MatMul_", "val_"};
    for (size_t i = 0; t->data_type == 1 && t->n_dims >= 1 && i < 3; i++)
        if (strncmp(name, made_up[i], strlen(made_up[i])) == 0)
            return i < 2 || t->n_dims >= 2;
    return false;
}

static signs look(const onnx_model *m)
{
    const Onnx__GraphProto *g = m->proto->graph;
    signs s = {.norms = 0};
    for (size_t i = 0; i < g->n_node; i++) {
        const Onnx__NodeProto *n = g->node[i];
        const char *type = onnx_text(n->op_type);
        s.norms += strcmp(type, "BatchNormalization") == 0;
        s.biased_convs +=
            strcmp(type, "Conv") == 0 && n->n_input > 2 &&
            (strncmp(n->input[2], "onnx::", 6) == 0 || strstr(n->input[2], ".weight_bias"));
        s.merged += strcmp(type, "Identity") == 0 && n->n_input == 1 &&
                    onnx_initializer(m, n->input[0]) >= 0;
    }
    for (size_t i = 0; i < g->n_initializer; i++) {
        if (!lost_its_name(g->initializer[i]))
            continue;
        s.renamed++;
        s.example = g->initializer[i]->name;
    }
    return s;
}

char *onnx_advice(const onnx_model *m)
{
    signs s = look(m);
    buf text = BUF_INIT;
    bool folded = s.norms == 0 && s.biased_convs > 0;
    if (!folded && !s.merged && !s.renamed)
        return NULL;
    buf_addf(&text, "'%s' was exported for inference:", m->path);
    if (folded)
        buf_addf(&text, " batch norm is folded into %zu convolutions and will not be trained;",
                 s.biased_convs);
    if (s.renamed)
        buf_addf(&text, " %zu weights lost their names (one is '%s');", s.renamed, s.example);
    if (s.merged)
        buf_addf(&text, " %zu equal weights were merged and are told apart again;", s.merged);
    buf_adds(&text, " docs/MODELS.md says how to export for training");
    return buf_detach(&text);
}
