/* Initializers as slots: those of the main graph may be weights (moves.h). */
#include "onnx/walk.h"

#include <string.h>

static weight classify(const importer *im, const char *name, int32_t initializer)
{
    const Onnx__TensorProto *t = im->m->proto->graph->initializer[initializer];
    onnx_move move = onnx_moves_of(im->moves, name, t);
    return (weight){.name = name,
                    .initializer = initializer,
                    .value = GRAPH_NONE,
                    .is_constant = !move.is_weight,
                    .kind = move.moves ? TENSOR_TRAINABLE : TENSOR_FROZEN};
}

slot walk_weight(importer *im, const char *name, int32_t initializer)
{
    GROW(im->weights, im->cap_weights, im->n_weights + 1);
    im->weights[im->n_weights] = classify(im, name, initializer);
    return (slot){
        .kind = SLOT_WEIGHT, .value = GRAPH_NONE, .weight = (int32_t)im->n_weights++};
}

/* Those of subgraphs are constants. */
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
    if (s->parent || type != DT_F32 || element_of(t->data_type)->bits < 16)
        TRY(host_read(im->m, t, im->a, &value.host, err));
    else
        value = walk_weight(im, t->name, (int32_t)i);
    return scope_put(im, s, t->name, &value, err);
}

status walk_initializers(importer *im, scope *s, const Onnx__GraphProto *g, error *err)
{
    for (size_t i = 0; i < g->n_initializer; i++)
        TRY(put_initializer(im, s, g, i, err));
    return OK;
}
