/*
 * From a configuration to a graph (model.h): inputs, the architecture's layers, the loss, and in
 * training its gradient.
 */
#include "model/model.h"

#include "common/base/alloc.h"
#include "graph/attrs.h"
#include "model/builders.h"

#include <stdlib.h>
#include <string.h>

enum { SHAPE_BYTES = 128 };

typedef status build_fn(net *n, const config *model, int64_t classes, error *err);

static const struct {
    const char *type;
    build_fn *build;
} architectures[] = {
    {"mlp", build_mlp},
    {"cnn", build_cnn},
    {"sequential", build_sequential},
};

static status find_architecture(const config *model, build_fn **ret, error *err)
{
    const char *type = config_str(model, "type"), *names[COUNT_OF(architectures)];
    for (size_t i = 0; i < COUNT_OF(architectures); i++) {
        names[i] = architectures[i].type;
        if (type && strcmp(type, names[i]) == 0) {
            *ret = architectures[i].build;
            return OK;
        }
    }
    const char *near = type ? config_did_you_mean(type, names, COUNT_OF(names)) : NULL;
    return FAIL(err, E_CONFIG, "%s.type: no model '%s'; %s %s", config_path(model),
                type ? type : "null", near ? "did you mean" : "there are mlp, cnn and sequential",
                near ? near : "");
}

typedef struct model_inputs {
    graph_val image, label; /* GRAPH_NONE when the data have none */
    int64_t classes;
} model_inputs;

static graph_shape batch_shape(const data_field *f, int64_t batch_size)
{
    graph_shape s = {.rank = f->rank + 1, .dim = {batch_size}};
    for (int32_t i = 0; i < f->rank; i++)
        s.dim[i + 1] = f->dim[i];
    return s;
}

/* The network reads the first field of float32 and is held against the first one with classes. */
static status add_inputs(graph *g, const model_request *r, model_inputs *ret, error *err)
{
    *ret = (model_inputs){.image = GRAPH_NONE, .label = GRAPH_NONE};
    for (size_t i = 0; i < r->n_fields; i++) {
        const data_field *f = &r->fields[i];
        graph_val v;
        if (f->rank + 1 > GRAPH_RANK)
            return FAIL(err, E_CONFIG, "field '%s' has %d axes, more than a model takes", f->name,
                        f->rank);
        TRY(graph_input(g, f->name, f->dtype, batch_shape(f, r->batch_size), &v, err));
        if (f->dtype == DT_F32 && ret->image == GRAPH_NONE)
            ret->image = v;
        if (f->dtype == DT_I64 && f->classes > 0 && ret->label == GRAPH_NONE) {
            ret->label = v;
            ret->classes = f->classes;
        }
    }
    if (ret->image == GRAPH_NONE || ret->label == GRAPH_NONE)
        return FAIL(err, E_CONFIG, "%s: the data have no %s for it", config_path(r->model),
                    ret->image == GRAPH_NONE ? "float32 field" : "label with classes");
    return OK;
}

static status add_logits(net *n, const model_request *r, const model_inputs *in, error *err)
{
    build_fn *build = NULL;
    TRY(find_architecture(r->model, &build, err));
    n->end = in->image;
    TRY(build(n, r->model, in->classes, err));
    const graph_value *end = graph_value_at(n->g, n->end);
    const graph_shape wanted = {.rank = 2, .dim = {r->batch_size, in->classes}};
    if (end->kind != VAL_TEMP)
        return FAIL(err, E_CONFIG, "%s: has no layers", config_path(r->model));
    char a[SHAPE_BYTES], b[SHAPE_BYTES];
    if (!graph_shape_equal(&end->shape, &wanted))
        return FAIL(err, E_CONFIG,
                    "%s: the last layer '%s' gives %s, but the labels need %s (batch, classes)",
                    config_path(r->model), end->name, graph_shape_text(&end->shape, a, sizeof a),
                    graph_shape_text(&wanted, b, sizeof b));
    TRY(graph_rename(n->g, n->end, "logits", err));
    graph_keep(n->g, n->end);
    return OK;
}

static status fill_graph(graph *g, const model_request *r, error *err)
{
    const graph_shape one = {.rank = 1, .dim = {1}};
    model_inputs in;
    net n = {.g = g, .mode = r->mode, .seed = r->seed};
    TRY(add_inputs(g, r, &in, err));
    TRY(graph_input(g, "batch.id", DT_I64, one, &n.batch_id, err));
    TRY(add_logits(&n, r, &in, err));

    graph_val loss, scored[2] = {n.end, in.label};
    sce_attr mean = {.reduction = SCE_MEAN};
    TRY(graph_add_1(g, OP_SOFTMAX_CROSS_ENTROPY_LOSS, "loss", scored, 2, &mean, &loss, err));
    graph_keep(g, loss);
    if (r->mode == MODEL_EVAL)
        return OK;
    graph_val weight;
    TRY(graph_input(g, "slot.weight", DT_F32, one, &weight, err));
    return graph_backward(g, loss, weight, err);
}

status model_build(const model_request *request, graph **ret, error *err)
{
    graph *g = NULL;
    TRY(graph_create(&g, err));
    status st = fill_graph(g, request, err);
    if (st != OK) {
        graph_destroy(&g);
        return st;
    }
    *ret = g;
    return OK;
}

size_t model_outputs(const graph *g, int64_t batch_size, const char **ret, size_t most)
{
    size_t n = 0;
    for (graph_val v = 0; v < graph_n_values(g) && n < most; v++) {
        const graph_value *value = graph_value_at(g, v);
        if (value->keep && value->shape.rank > 0 && value->shape.dim[0] == batch_size)
            ret[n++] = value->name;
    }
    return n;
}

status model_flat(const graph *g, flat **ret, error *err)
{
    size_t n = (size_t)graph_n_params(g);
    graph_val *order = xcalloc(n + 1, sizeof *order);
    tensor_decl *decls = xcalloc(n + 1, sizeof *decls);
    graph_param_order(g, order);
    for (size_t i = 0; i < n; i++)
        decls[i] = *graph_value_at(g, order[i])->param;
    status st = flat_create(decls, n, ret, err);
    free(decls);
    free(order);
    return st;
}
