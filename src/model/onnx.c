/*
 * onnx: the network is an ONNX file. Its inputs are fields of the data, by name or by model.inputs;
 * its first output is what the loss reads, unless the file holds the loss (model.loss: output).
 */
#include "model/builders.h"
#include "onnx/import.h"

#include <stdlib.h>
#include <string.h>

/* The field that feeds an input: the one that model.inputs says, or of its name, or for the only
 * input the first one of its type. */
static const data_field *field_for(const net *n, const config *model, const onnx_io *io, bool only)
{
    const json_t *map = config_json(model, "inputs");
    const char *said = map ? json_string_value(json_object_get(map, io->name)) : NULL;
    const char *wanted = said ? said : io->name;
    for (size_t i = 0; i < n->request->n_fields; i++)
        if (strcmp(n->request->fields[i].name, wanted) == 0)
            return &n->request->fields[i];
    return only && !said ? net_find(n, NULL, io->has_type ? io->dtype : DT_F32) : NULL;
}

static status bind_inputs(net *n, const config *model, const onnx_model *m, onnx_request *r,
                          error *err)
{
    arena *a = graph_arena(n->g);
    size_t n_inputs = onnx_n_inputs(m);
    onnx_binding *bound = arena_alloc(a, (n_inputs + 1) * sizeof *bound);
    for (size_t i = 0; i < n_inputs; i++) {
        onnx_io io;
        TRY(onnx_input(m, i, &io, err));
        const data_field *f = field_for(n, model, &io, n_inputs == 1);
        if (!f)
            continue; /* an error if the outputs need it */
        onnx_binding *b = &bound[r->n_inputs++];
        b->input = io.name;
        TRY(net_field(n, f, &b->value, err));
    }
    r->inputs = bound;
    return OK;
}

static void bind_dims(net *n, const config *model, onnx_request *r)
{
    json_t *map = (json_t *)(uintptr_t)config_json(model, "dims");
    onnx_dim *dims = arena_alloc(graph_arena(n->g), (json_object_size(map) + 1) * sizeof *dims);
    const char *name;
    json_t *size;
    json_object_foreach(map, name, size) dims[r->n_dims++] =
        (onnx_dim){.param = name, .size = json_integer_value(size)};
    r->dims = dims;
}

static void bind_train(net *n, onnx_request *r)
{
    const json_t *train = n->request->train;
    const char **globs =
        arena_alloc(graph_arena(n->g), (json_array_size(train) + 1) * sizeof *globs);
    for (size_t i = 0; i < json_array_size(train); i++)
        globs[r->n_train++] = json_string_value(json_array_get(train, i));
    r->train = globs;
}

static bool holds_loss(const net *n)
{
    return strcmp(n->loss->kind, "output") == 0;
}

/* The output that is the file's loss: that of its name, or the only one. NULL: it holds none. */
static status find_loss(const net *n, const config *model, const onnx_model *m, const char **ret,
                        error *err)
{
    onnx_io io = {.name = NULL};
    *ret = holds_loss(n) ? config_str(model, "loss_output") : NULL;
    for (size_t i = 0; *ret && i < onnx_n_outputs(m); i++) {
        TRY(onnx_output(m, i, &io, err));
        if (strcmp(io.name, *ret) == 0)
            return OK;
    }
    if (!*ret || onnx_n_outputs(m) == 1) {
        *ret = io.name;
        return OK;
    }
    return FAIL(err, E_CONFIG, "loss_output: '%s' has no output '%s'; it has %zu, the last one is '%s'",
                config_str(model, "path"), *ret, onnx_n_outputs(m), io.name);
}

/* Those of the configuration, or all of the file but its loss; the loss comes last. */
static status choose_outputs(net *n, const config *model, const onnx_model *m, onnx_request *r,
                             error *err)
{
    const json_t *given = config_json(model, "outputs");
    const char *loss = NULL;
    TRY(find_loss(n, model, m, &loss, err));
    size_t n_all = given ? json_array_size(given) : onnx_n_outputs(m);
    const char **names = arena_alloc(graph_arena(n->g), (n_all + 2) * sizeof *names);
    for (size_t i = 0; i < n_all; i++) {
        onnx_io io = {.name = NULL};
        if (given)
            io.name = json_string_value(json_array_get(given, i));
        else
            TRY(onnx_output(m, i, &io, err));
        if (!loss || strcmp(io.name, loss) != 0)
            names[r->n_outputs++] = io.name;
    }
    bool makes_loss = loss && n->request->mode != MODEL_PREDICT;
    if (r->n_outputs > MODEL_OUTPUTS)
        return FAIL(err, E_CONFIG,
                    "'%s' has %zu outputs beside its loss; %d are taken at most, model.outputs "
                    "chooses",
                    config_str(model, "path"), r->n_outputs, MODEL_OUTPUTS);
    if (r->n_outputs == 0 && !makes_loss)
        return FAIL(err, E_CONFIG,
                    "'%s' gives its loss and nothing that could be predicted; export it with its "
                    "scores as another output",
                    config_str(model, "path"));
    if (makes_loss)
        names[r->n_outputs++] = loss;
    r->outputs = names;
    return OK;
}

static status take_outputs(const net *n, const onnx_imported *imported, net_outputs *ret,
                           error *err)
{
    bool loss_is_last = holds_loss(n) && n->request->mode != MODEL_PREDICT;
    for (size_t i = 0; i < imported->n_outputs; i++) {
        const onnx_result *r = &imported->outputs[i];
        if (r->host || graph_value_at(n->g, r->value)->kind != VAL_TEMP)
            return FAIL(err, E_CONFIG, "the output '%s' does not depend on the data", r->name);
        if (loss_is_last && i + 1 == imported->n_outputs)
            ret->loss = r->value;
        else
            ret->at[ret->n++] = r->value;
    }
    return OK;
}

static status import(net *n, const config *model, const onnx_model *m, net_outputs *ret,
                     error *err)
{
    onnx_request r = {
        .mode = n->request->mode == MODEL_TRAIN ? ONNX_TRAIN : ONNX_EVAL,
        .seed = n->request->seed,
        .batch_id = n->batch_id,
        .keep_tied = config_bool(model, "keep_tied"),
        .head_features = config_int(model, "replace_head"),
    };
    onnx_imported imported = {.memory = NULL};
    TRY(bind_inputs(n, model, m, &r, err));
    TRY(choose_outputs(n, model, m, &r, err));
    bind_dims(n, model, &r);
    bind_train(n, &r);
    TRY(onnx_import(m, n->g, &r, &imported, err));
    status st = take_outputs(n, &imported, ret, err);
    onnx_imported_fini(&imported);
    return st;
}

status build_onnx(net *n, const config *model, net_outputs *ret, error *err)
{
    onnx_model *m = NULL;
    TRYF(onnx_open(config_str(model, "path"), &m, err), err, "%s.path", config_path(model));
    status st = import(n, model, m, ret, err);
    if (st == E_CONFIG)
        error_prepend(err, "%s", config_path(model));
    onnx_close(&m);
    return st;
}
