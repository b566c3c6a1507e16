/*
 * Which initializers are weights, and which of those move.
 *
 * PyTorch's newer exporter says what an initializer was: a parameter moves, a buffer stays.
 * Otherwise a float initializer moves unless it is a scalar. Names that an exporter made up
 * ("val_7", "onnx::MatMul_249", "31") tell nothing: these move if an operator that has weights
 * reads them, and are constants of the graph if not.
 */
#include "onnx/walk.h"

#include <string.h>

/* "val_7", "onnx::MatMul_249", "31" */
static bool is_made_up(const char *name)
{
    if (strncmp(name, "onnx::", 6) == 0)
        return true;
    if (strncmp(name, "val_", 4) == 0)
        name += 4;
    return *name && strspn(name, "0123456789") == strlen(name);
}

/* Whether an operator reads the name where it takes a weight. */
static bool is_operand(const Onnx__GraphProto *g, const char *name)
{
    static const char *const types[] = {"MatMul",        "Gemm",   "Conv",
                                        "ConvTranspose", "Gather", "LSTM"};
    for (size_t i = 0; i < g->n_node; i++) {
        const Onnx__NodeProto *n = g->node[i];
        bool reads = false, weighs = false;
        for (size_t k = 0; k < n->n_input; k++)
            reads |= strcmp(n->input[k], name) == 0;
        for (size_t k = 0; reads && k < COUNT_OF(types); k++)
            weighs |= strcmp(onnx_text(n->op_type), types[k]) == 0;
        if (weighs)
            return true;
    }
    return false;
}

/* What the exporter noted about a name ("PARAMETER", "BUFFER", ...), "" if nothing. */
static const char *exported_kind(const importer *im, const char *name)
{
    int32_t at;
    if (!names_get(&im->infos, name, &at))
        return "";
    const Onnx__ValueInfoProto *v = im->m->proto->graph->value_info[at];
    for (size_t k = 0; k < v->n_metadata_props; k++)
        if (strstr(onnx_text(v->metadata_props[k]->key), "InputSpec.kind"))
            return onnx_text(v->metadata_props[k]->value);
    return "";
}

/* Nothing in it can be trained. */
static bool is_empty(const Onnx__TensorProto *t)
{
    bool empty = false;
    for (size_t i = 0; i < t->n_dims; i++)
        empty |= t->dims[i] == 0;
    return empty;
}

static weight classify(const importer *im, const Onnx__GraphProto *g, size_t i)
{
    const Onnx__TensorProto *t = g->initializer[i];
    const char *kind = exported_kind(im, t->name);
    weight w = {.name = t->name, .initializer = (int32_t)i, .value = GRAPH_NONE};
    if (is_empty(t))
        w.is_constant = true;
    else if (*kind)
        w.kind = strstr(kind, "PARAMETER") ? TENSOR_TRAINABLE : TENSOR_FROZEN;
    else
        w.is_constant = t->n_dims == 0 || (is_made_up(t->name) && !is_operand(g, t->name));
    return w;
}

/* An initializer of the main graph may be a weight; those of subgraphs are constants. */
static status put_initializer(importer *im, scope *s, const Onnx__GraphProto *g, size_t i,
                              error *err)
{
    const Onnx__TensorProto *t = g->initializer[i];
    slot value = {.kind = SLOT_HOST, .value = GRAPH_NONE};
    dtype type;
    graph_shape shape;
    if (!*onnx_text(t->name))
        return FAIL(err, E_DATA, "initializer %zu has no name", i);
    TRY(host_describe(t, &type, &shape, err));
    if (s->parent || type != DT_F32) {
        TRY(host_read(im->m, t, im->a, &value.host, err));
    } else {
        value.kind = SLOT_WEIGHT;
        value.weight = (int32_t)im->n_weights;
        GROW(im->weights, im->cap_weights, im->n_weights + 1);
        im->weights[im->n_weights++] = classify(im, g, i);
    }
    return scope_put(im, s, t->name, &value, err);
}

status walk_initializers(importer *im, scope *s, const Onnx__GraphProto *g, error *err)
{
    for (size_t i = 0; !s->parent && i < g->n_value_info; i++)
        names_put(&im->infos, onnx_text(g->value_info[i]->name), (int32_t)i);
    for (size_t i = 0; i < g->n_initializer; i++)
        TRY(put_initializer(im, s, g, i, err));
    return OK;
}
