/* A graph of ours as an ONNX model: what its outputs need, in the order of the graph. */
#include "onnx/export.h"

#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/base/json.h"
#include "onnx/write/file.h"
#include "onnx/write/ops.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { IR_VERSION = 8 };

/* --- what is needed --- */

static status find_output(const graph *g, const char *name, graph_val *ret, error *err)
{
    *ret = graph_find(g, name);
    return *ret != GRAPH_NONE ? OK : FAIL(err, E_CONFIG, "the model has no value '%s'", name);
}

static bool node_is_needed(const graph_node *n, const bool *needed)
{
    for (int32_t i = 0; i < n->n_out; i++)
        if (n->out[i] != GRAPH_NONE && needed[n->out[i]])
            return true;
    return false;
}

/* Marks values, from the outputs backwards. `needed` is zeroed. */
static status mark_needed(const onnx_export *r, bool *needed, error *err)
{
    for (size_t i = 0; i < r->n_outputs; i++) {
        graph_val v;
        TRY(find_output(r->g, r->outputs[i], &v, err));
        needed[v] = true;
    }
    for (int32_t at = graph_n_nodes(r->g); at-- > 0;) {
        const graph_node *n = graph_node_at(r->g, at);
        for (int32_t i = 0; i < n->n_in && node_is_needed(n, needed); i++)
            if (n->in[i] != GRAPH_NONE)
                needed[n->in[i]] = true;
    }
    return OK;
}

/* --- inputs, outputs, initializers --- */

static void describe_axis(maker *m, Onnx__TensorShapeProto__Dimension *d, int64_t size,
                          int64_t twin_size)
{
    if (size == twin_size) {
        d->has_dim_value = 1;
        d->dim_value = size;
    } else if (size == m->request->batch && twin_size == m->request->twin_batch) {
        d->dim_param = arena_strdup(m->memory, "N");
    }
}

static Onnx__ValueInfoProto *describe(maker *m, graph_val v)
{
    const graph_value *value = graph_value_at(m->g, v);
    const graph_shape *s = &value->shape, *s2 = maker_twin_shape(m, v);
    Onnx__ValueInfoProto *info = arena_alloc(m->memory, sizeof *info);
    Onnx__TypeProto *type = arena_alloc(m->memory, sizeof *type);
    Onnx__TypeProto__Tensor *tensor = arena_alloc(m->memory, sizeof *tensor);
    Onnx__TensorShapeProto *shape = arena_alloc(m->memory, sizeof *shape);
    onnx__value_info_proto__init(info);
    onnx__type_proto__init(type);
    onnx__type_proto__tensor__init(tensor);
    onnx__tensor_shape_proto__init(shape);
    info->name = arena_strdup(m->memory, value->name);
    info->type = type;
    type->tensor_type = tensor;
    tensor->has_elem_type = 1;
    tensor->elem_type = maker_onnx_type(value->dtype);
    tensor->shape = shape;
    shape->n_dim = (size_t)s->rank;
    shape->dim = arena_alloc(m->memory, (shape->n_dim + 1) * sizeof *shape->dim);
    for (int32_t i = 0; i < s->rank; i++) {
        shape->dim[i] = arena_alloc(m->memory, sizeof **shape->dim);
        onnx__tensor_shape_proto__dimension__init(shape->dim[i]);
        describe_axis(m, shape->dim[i], s->dim[i], s2->dim[i]);
    }
    return info;
}

static status add_weight(maker *m, const graph_value *value, error *err)
{
    const st_tensor *t = weights_find(m->request->weights, value->name);
    const char *origin = weights_origin(m->request->weights);
    char ours[SHAPE_TEXT], theirs[SHAPE_TEXT];
    if (!t)
        return FAIL(err, E_DATA, "'%s': has no tensor '%s', which the model asks for", origin,
                    value->name);
    graph_shape shape = {.rank = t->rank};
    memcpy(shape.dim, t->dim, sizeof shape.dim);
    if (!graph_shape_equal(&shape, &value->shape) || t->dtype != value->dtype)
        return FAIL(err, E_DATA, "'%s': tensor '%s' is %s %s, the model asks for %s %s", origin,
                    t->name, dtype_name(t->dtype), graph_shape_text(&shape, theirs, sizeof theirs),
                    dtype_name(value->dtype), graph_shape_text(&value->shape, ours, sizeof ours));
    maker_tensor(m, value->name, t->dtype, &shape, t->data, t->bytes);
    return OK;
}

static status add_const(maker *m, graph_val v, error *err)
{
    const graph_value *value = graph_value_at(m->g, v), *twin = value;
    if (m->twin)
        twin = graph_value_at(m->twin, v);
    size_t bytes = (size_t)graph_shape_elements(&value->shape) * dtype_bytes(value->dtype);
    if (!graph_shape_equal(&value->shape, &twin->shape) ||
        memcmp(value->data, twin->data, bytes) != 0)
        return FAIL(err, E_UNSUPPORTED, "the constant '%s' changes with the size of the batch",
                    value->name);
    maker_tensor(m, value->name, value->dtype, &value->shape, value->data, bytes);
    return OK;
}

static status add_values(maker *m, const bool *needed, error *err)
{
    int32_t n = graph_n_values(m->g);
    m->graph->input = arena_alloc(m->memory, ((size_t)n + 1) * sizeof *m->graph->input);
    for (graph_val v = 0; v < n; v++) {
        const graph_value *value = graph_value_at(m->g, v);
        if (!needed[v])
            continue;
        if (value->kind == VAL_INPUT)
            m->graph->input[m->graph->n_input++] = describe(m, v);
        else if (value->kind == VAL_PARAM)
            TRY(add_weight(m, value, err));
        else if (value->kind == VAL_CONST)
            TRY(add_const(m, v, err));
    }
    size_t n_outputs = m->request->n_outputs;
    m->graph->output = arena_alloc(m->memory, (n_outputs + 1) * sizeof *m->graph->output);
    for (size_t i = 0; i < n_outputs; i++)
        m->graph->output[m->graph->n_output++] =
            describe(m, graph_find(m->g, m->request->outputs[i]));
    return OK;
}

/* --- nodes --- */

static bool can_be_said(const graph_node *n, const bool *needed)
{
    for (int32_t k = write_outputs(n); k < n->n_out; k++)
        if (n->out[k] != GRAPH_NONE && needed[n->out[k]])
            return false;
    return write_of(n) != NULL;
}

static status refuse(const graph *g, const bool *needed, error *err)
{
    buf names = BUF_INIT;
    for (int32_t i = 0; i < graph_n_nodes(g); i++) {
        const graph_node *n = graph_node_at(g, i);
        if (node_is_needed(n, needed) && !can_be_said(n, needed))
            buf_addf(&names, "%s'%s' (%s)", names.size ? ", " : "", n->name,
                     graph_op_of(n->op)->name);
    }
    status st = names.size ? FAIL(err, E_UNSUPPORTED, "ONNX cannot say: %s", names.data) : OK;
    buf_fini(&names);
    return st;
}

static status add_nodes(maker *m, const bool *needed, error *err)
{
    TRY(refuse(m->g, needed, err));
    for (int32_t i = 0; i < graph_n_nodes(m->g); i++) {
        const graph_node *n = graph_node_at(m->g, i);
        if (node_is_needed(n, needed))
            TRY(write_of(n)(m, n, err));
    }
    return OK;
}

/* --- the file --- */

static void add_entry(maker *m, Onnx__ModelProto *model, const char *key, const char *value)
{
    Onnx__StringStringEntryProto *entry = arena_alloc(m->memory, sizeof *entry);
    onnx__string_string_entry_proto__init(entry);
    entry->key = arena_strdup(m->memory, key);
    entry->value = arena_strdup(m->memory, value);
    model->metadata_props[model->n_metadata_props++] = entry;
}

/* What of the initializers moves (moves.h), for who trains the file. */
static void add_moves(maker *m, const bool *needed, Onnx__ModelProto *model)
{
    json_t *parameters = json_object(), *buffers = json_array();
    for (graph_val v = 0; v < graph_n_values(m->g); v++) {
        const graph_value *value = graph_value_at(m->g, v);
        if (!needed[v] || value->kind != VAL_PARAM)
            continue;
        if (value->param->kind == TENSOR_STATE)
            json_array_append_new(buffers, json_string(value->name));
        else
            json_object_set_new(parameters, value->name,
                                json_boolean(value->param->kind == TENSOR_TRAINABLE));
    }
    char *texts[] = {json_text(parameters), json_text(buffers)};
    add_entry(m, model, "tequio.parameters", texts[0]);
    add_entry(m, model, "tequio.buffers", texts[1]);
    free(texts[0]);
    free(texts[1]);
    json_decref(parameters);
    json_decref(buffers);
}

static void add_meta(maker *m, const bool *needed, Onnx__ModelProto *model)
{
    const onnx_export *r = m->request;
    model->metadata_props = arena_alloc(m->memory, (r->n_meta + 2) * sizeof *model->metadata_props);
    add_moves(m, needed, model);
    for (size_t i = 0; i < r->n_meta; i++)
        add_entry(m, model, r->meta[i].key, r->meta[i].value);
}

static status write_model(maker *m, const bool *needed, const char *path, error *err)
{
    Onnx__ModelProto model = ONNX__MODEL_PROTO__INIT;
    Onnx__OperatorSetIdProto opset = ONNX__OPERATOR_SET_ID_PROTO__INIT, *opsets = &opset;
    opset.domain = arena_strdup(m->memory, "");
    opset.has_version = 1;
    opset.version = WRITE_OPSET;
    model.has_ir_version = 1;
    model.ir_version = IR_VERSION;
    model.producer_name = arena_strdup(m->memory, "tequio");
    model.producer_version = arena_strdup(m->memory, TEQUIO_VERSION);
    model.graph = m->graph;
    model.graph->name = arena_strdup(m->memory, "main");
    model.n_opset_import = 1;
    model.opset_import = &opsets;
    add_meta(m, needed, &model);
    return file_write_model(&model, path, err);
}

static status export_needed(maker *m, const bool *needed, const char *path, error *err)
{
    TRY(add_values(m, needed, err));
    TRY(add_nodes(m, needed, err));
    return write_model(m, needed, path, err);
}

static bool are_twins(const graph *a, const graph *b)
{
    return graph_n_nodes(a) == graph_n_nodes(b) && graph_n_values(a) == graph_n_values(b);
}

status onnx_export_graph(const onnx_export *request, const char *path, error *err)
{
    BUG_ON(request->twin && !are_twins(request->g, request->twin));
    Onnx__GraphProto proto = ONNX__GRAPH_PROTO__INIT;
    maker m = {.memory = arena_create(),
               .g = request->g,
               .twin = request->twin,
               .request = request,
               .graph = &proto};
    bool *needed = xcalloc((size_t)graph_n_values(request->g) + 1, sizeof *needed);
    status st = mark_needed(request, needed, err);
    if (st == OK)
        st = export_needed(&m, needed, path, err);
    free(needed);
    arena_destroy(&m.memory);
    return st;
}
