/* See prediction.h. */
#include "model/prediction.h"

#include "model/loss.h"

#include <string.h>

static const char tag_logits[] = "tag_logits";
static const char logits[] = "logits", probability[] = "probability", numbers[] = "prediction";

static bool is_sigmoid(const graph *g, graph_val v)
{
    int32_t def = graph_value_at(g, v)->def;
    return def != GRAPH_NONE && graph_node_at(g, def)->op == OP_SIGMOID;
}

const char *prediction_name(const graph *g, graph_val scores, const char *loss)
{
    if (strcmp(loss, "mean_squared_error") == 0)
        return numbers;
    bool is_chance = strcmp(loss, "binary_cross_entropy") == 0 && is_sigmoid(g, scores);
    return is_chance ? probability : logits;
}

const char *prediction_second_name(const char *loss)
{
    return strcmp(loss, "dependencies") == 0 ? tag_logits : NULL;
}

/* The same, of a network that is built: a file's own values may be called so too. */
static const char *given_name(const graph *g, const char *loss)
{
    graph_val copy = graph_find(g, PREDICTION_COPY);
    if (copy != GRAPH_NONE)
        return prediction_name(g, graph_node_at(g, graph_value_at(g, copy)->def)->in[0], loss);
    graph_val chance = graph_find(g, probability);
    if (chance != GRAPH_NONE && graph_value_at(g, chance)->keep)
        return prediction_name(g, chance, loss);
    return strcmp(loss, "mean_squared_error") == 0 ? numbers : logits;
}

/* Classes lie behind rows of tokens, but before the pixels of an image (loss.h). `classes` 0: their
 * number is not known. */
static int32_t axis_of_classes(const graph_shape *s, int64_t classes)
{
    int32_t last = s->rank - 1, favourite = s->rank > 3 ? 1 : last, other = s->rank > 3 ? last : 1;
    return classes && s->dim[favourite] != classes && s->dim[other] == classes ? other : favourite;
}

static prediction_kind kind_of(const char *loss, const char *name)
{
    if (strcmp(loss, "cross_entropy") == 0)
        return PREDICTION_CLASSES;
    if (strcmp(loss, "span") == 0)
        return PREDICTION_SPAN;
    if (strcmp(loss, "dependencies") == 0)
        return PREDICTION_ARCS;
    if (strcmp(loss, "binary_cross_entropy") == 0)
        return name == logits ? PREDICTION_ODDS : PREDICTION_CHANCES;
    return PREDICTION_NUMBERS;
}

/* Each word's, as loss.h has it. */
static bool are_arcs(const graph *g, graph_val heads, graph_val tags)
{
    if (tags == GRAPH_NONE)
        return false;
    const graph_value *h = graph_value_at(g, heads), *t = graph_value_at(g, tags);
    bool fits = h->dtype == DT_F32 && t->dtype == DT_F32 && h->shape.rank == 3 &&
                h->shape.dim[2] == h->shape.dim[1] + 1 && (t->shape.rank == 3 || t->shape.rank == 4) &&
                (t->shape.rank == 3 || t->shape.dim[2] == h->shape.dim[2]);
    return fits && t->shape.dim[0] == h->shape.dim[0] && t->shape.dim[1] == h->shape.dim[1];
}

status prediction_of(const model_request *request, const graph *g, prediction *ret, error *err)
{
    model_loss loss;
    arena *a = arena_create();
    status st = loss_choose(request, a, &loss, err);
    arena_destroy(&a);
    TRY(st);
    prediction says = {.name = given_name(g, loss.kind)};
    const graph_shape *shape = &graph_value_at(g, graph_find(g, says.name))->shape;
    says.kind = kind_of(loss.kind, says.name);
    bool needs_axis = says.kind == PREDICTION_CLASSES || says.kind == PREDICTION_SPAN;
    if (needs_axis && shape->rank < 2)
        says.kind = PREDICTION_NUMBERS;
    if (says.kind == PREDICTION_CLASSES)
        says.axis = axis_of_classes(shape, loss.features);
    if (says.kind == PREDICTION_ARCS) {
        says.tags = tag_logits;
        if (!are_arcs(g, graph_find(g, says.name), graph_find(g, tag_logits)))
            return FAIL(err, E_CONFIG,
                        "%s: the first two outputs are not scores of heads [batch, words, 1 + words] and of tags",
                        config_path(request->model));
    }
    *ret = says;
    return OK;
}
