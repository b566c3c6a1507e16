/*
 * A model that came as an ONNX file, with other weights: the file's graph stays as it is, down to
 * fields that we do not know. Initializers get the weights of their names, an Identity of one that
 * became a weight of its own is an initializer now, BatchNormalization and Dropout are set to
 * inference. Messages are shallow copies in an arena, so that the read ones stay whole.
 */
#include "onnx/export.h"

#include "onnx/host.h"
#include "onnx/write/file.h"

#include <inttypes.h>
#include <string.h>

typedef struct editor {
    arena *memory;
    const onnx_model *m;
    const weights *w;
    Onnx__GraphProto graph; /* a shallow copy */
    int64_t opset;          /* of ai.onnx */
    bool resized;           /* a weight has another shape than in the file */
    size_t n_taken;
} editor;

static char *text(const char *s)
{
    return (char *)(uintptr_t)s;
}

/* --- weights --- */

/* A tensor of that name and data; float32, whatever the file had. */
static Onnx__TensorProto *tensor_of(editor *e, const st_tensor *from)
{
    Onnx__TensorProto *t = arena_alloc(e->memory, sizeof *t);
    onnx__tensor_proto__init(t);
    t->name = text(from->name);
    t->has_data_type = 1;
    t->data_type = 1;
    t->n_dims = (size_t)from->rank;
    t->dims = arena_alloc(e->memory, sizeof from->dim);
    memcpy(t->dims, from->dim, sizeof from->dim);
    t->has_raw_data = 1;
    t->raw_data.len = from->bytes;
    t->raw_data.data = (uint8_t *)(uintptr_t)from->data;
    e->n_taken++;
    return t;
}

static status check_weight(const editor *e, const st_tensor *from, const Onnx__TensorProto *old,
                           error *err)
{
    if (from->dtype == DT_F32 && (size_t)from->rank == old->n_dims)
        return OK;
    return FAIL(err, E_DATA, "'%s': tensor '%s' is %s with %" PRId32 " axes, '%s' has float32 and %zu",
                weights_origin(e->w), from->name, dtype_name(from->dtype), from->rank, e->m->path,
                old->n_dims);
}

/* Data that lie in another file come along. */
static status inlined(editor *e, const Onnx__TensorProto *old, Onnx__TensorProto **ret, error *err)
{
    Onnx__TensorProto *t = arena_alloc(e->memory, sizeof *t);
    host_tensor *data = NULL;
    TRY(host_read(e->m, old, e->memory, &data, err));
    *t = *old;
    t->n_external_data = 0;
    t->has_data_location = 0;
    t->has_data_type = 1;
    t->data_type = data->dtype == DT_F32 ? 1 : old->data_type;
    t->has_raw_data = 1;
    t->raw_data.len = (size_t)data->n * dtype_bytes(data->dtype);
    t->raw_data.data = data->data;
    *ret = t;
    return OK;
}

static status replace_initializers(editor *e, error *err)
{
    Onnx__GraphProto *g = &e->graph;
    Onnx__TensorProto **old = g->initializer;
    g->initializer =
        arena_alloc(e->memory, (g->n_initializer + g->n_node + 1) * sizeof *g->initializer);
    for (size_t i = 0; i < g->n_initializer; i++) {
        const st_tensor *from = weights_find(e->w, onnx_text(old[i]->name));
        g->initializer[i] = old[i];
        if (from) {
            TRY(check_weight(e, from, old[i], err));
            e->resized |= memcmp(from->dim, old[i]->dims, old[i]->n_dims * sizeof *from->dim) != 0;
            g->initializer[i] = tensor_of(e, from);
        } else if (old[i]->data_location == 1) {
            TRY(inlined(e, old[i], &g->initializer[i], err));
        }
    }
    return OK;
}

/* --- nodes --- */

static bool is(const Onnx__NodeProto *n, const char *type)
{
    const char *domain = onnx_text(n->domain);
    return strcmp(onnx_text(n->op_type), type) == 0 && (!*domain || strcmp(domain, "ai.onnx") == 0);
}

/* A copy of the node without the attribute, and with room for another one. */
static Onnx__NodeProto *without(editor *e, const Onnx__NodeProto *n, const char *attribute)
{
    Onnx__NodeProto *copy = arena_alloc(e->memory, sizeof *copy);
    *copy = *n;
    copy->attribute = arena_alloc(e->memory, (n->n_attribute + 1) * sizeof *copy->attribute);
    copy->n_attribute = 0;
    for (size_t i = 0; i < n->n_attribute; i++)
        if (strcmp(onnx_text(n->attribute[i]->name), attribute) != 0)
            copy->attribute[copy->n_attribute++] = n->attribute[i];
    return copy;
}

static void add_int(editor *e, Onnx__NodeProto *n, const char *name, int64_t value)
{
    Onnx__AttributeProto *a = arena_alloc(e->memory, sizeof *a);
    onnx__attribute_proto__init(a);
    a->name = text(name);
    a->has_type = a->has_i = 1;
    a->type = 2;
    a->i = value;
    n->attribute[n->n_attribute++] = a;
}

/* The statistics of training are not made at rest; before opset 7 an attribute says which it is. */
static Onnx__NodeProto *norm_at_rest(editor *e, const Onnx__NodeProto *n)
{
    Onnx__NodeProto *copy = without(e, n, e->opset < 7 ? "is_test" : "training_mode");
    if (e->opset < 7)
        add_int(e, copy, "is_test", 1);
    copy->n_output = 1;
    return copy;
}

static Onnx__NodeProto *at_rest(editor *e, Onnx__NodeProto *n);

static bool has_subgraph(const Onnx__NodeProto *n)
{
    for (size_t i = 0; i < n->n_attribute; i++)
        if (n->attribute[i]->g)
            return true;
    return false;
}

/* Branches and bodies of loops, set to inference. */
static Onnx__NodeProto *subgraphs_at_rest(editor *e, const Onnx__NodeProto *n)
{
    Onnx__NodeProto *copy = without(e, n, "");
    for (size_t i = 0; i < copy->n_attribute; i++) {
        const Onnx__AttributeProto *old = copy->attribute[i];
        if (!old->g)
            continue;
        Onnx__AttributeProto *a = arena_alloc(e->memory, sizeof *a);
        Onnx__GraphProto *g = arena_alloc(e->memory, sizeof *g);
        *a = *old;
        *g = *old->g;
        a->g = g;
        g->node = arena_alloc(e->memory, (g->n_node + 1) * sizeof *g->node);
        for (size_t k = 0; k < g->n_node; k++)
            g->node[k] = at_rest(e, old->g->node[k]);
        copy->attribute[i] = a;
    }
    return copy;
}

/* Set to inference; any other node stays the one it is. */
static Onnx__NodeProto *at_rest(editor *e, Onnx__NodeProto *n)
{
    if (is(n, "BatchNormalization"))
        return norm_at_rest(e, n);
    if (has_subgraph(n))
        return subgraphs_at_rest(e, n);
    if (!is(n, "Dropout") || n->n_input <= 2)
        return n;
    n = without(e, n, "");
    n->n_input = 2;
    return n;
}

/* In subgraphs too. */
static bool reads(Onnx__NodeProto *const *nodes, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < nodes[i]->n_input; k++)
            if (strcmp(nodes[i]->input[k], name) == 0)
                return true;
        for (size_t k = 0; k < nodes[i]->n_attribute; k++) {
            const Onnx__GraphProto *g = nodes[i]->attribute[k]->g;
            if (g && reads(g->node, g->n_node, name))
                return true;
        }
    }
    return false;
}

static bool is_among(Onnx__ValueInfoProto *const *values, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(onnx_text(values[i]->name), name) == 0)
            return true;
    return false;
}

static Onnx__NodeProto *identity(editor *e, char *from, char *to)
{
    Onnx__NodeProto *n = arena_alloc(e->memory, sizeof *n);
    onnx__node_proto__init(n);
    n->op_type = text("Identity");
    n->n_input = n->n_output = 1;
    n->input = arena_alloc(e->memory, 2 * sizeof *n->input);
    n->output = n->input + 1;
    n->input[0] = from;
    n->output[0] = to;
    return n;
}

/* At rest the running statistics stay what they were, for another call of the layer too; those of the
 * batch, outputs of before opset 14, are not made. */
static status add_statistics(editor *e, const Onnx__NodeProto *n, error *err)
{
    const Onnx__GraphProto *g = e->m->proto->graph;
    for (size_t k = 1; is(n, "BatchNormalization") && k < n->n_output; k++) {
        if (!*n->output[k] || !(reads(g->node, g->n_node, n->output[k]) ||
                                is_among(g->output, g->n_output, n->output[k])))
            continue;
        if (k > 2 || n->n_input < 5)
            return FAIL(err, E_UNSUPPORTED,
                        "'%s': node '%s' (BatchNormalization): '%s' is read, which is made in "
                        "training only; export the model in evaluation mode, or without it",
                        e->m->path, onnx_text(n->name), n->output[k]);
        e->graph.node[e->graph.n_node++] = identity(e, n->input[2 + k], n->output[k]);
    }
    return OK;
}

static status edit_nodes(editor *e, error *err)
{
    Onnx__GraphProto *g = &e->graph;
    Onnx__NodeProto **old = g->node;
    size_t n = g->n_node, capacity = n + 1;
    for (size_t i = 0; i < n; i++)
        capacity += old[i]->n_output;
    g->node = arena_alloc(e->memory, capacity * sizeof *g->node);
    g->n_node = 0;
    for (size_t i = 0; i < n; i++) {
        const st_tensor *own = NULL;
        if (is(old[i], "Identity") && old[i]->n_input == 1 && old[i]->n_output == 1 &&
            onnx_initializer(e->m, old[i]->input[0]) >= 0)
            own = weights_find(e->w, old[i]->output[0]);
        TRY(add_statistics(e, old[i], err));
        if (own)
            g->initializer[g->n_initializer++] = tensor_of(e, own);
        else
            g->node[g->n_node++] = at_rest(e, old[i]);
    }
    return OK;
}

/* Drops a constant, whether an initializer or a node, that was read in training only. */
static void drop_unread(editor *e, const char *name)
{
    Onnx__GraphProto *g = &e->graph;
    size_t n_initializers = 0, n_nodes = 0;
    if (reads(g->node, g->n_node, name) || is_among(g->output, g->n_output, name) ||
        is_among(g->input, g->n_input, name))
        return;
    for (size_t i = 0; i < g->n_initializer; i++)
        if (strcmp(onnx_text(g->initializer[i]->name), name) != 0)
            g->initializer[n_initializers++] = g->initializer[i];
    for (size_t i = 0; i < g->n_node; i++)
        if (!is(g->node[i], "Constant") || g->node[i]->n_output != 1 ||
            strcmp(g->node[i]->output[0], name) != 0)
            g->node[n_nodes++] = g->node[i];
    g->n_initializer = n_initializers;
    g->n_node = n_nodes;
}

static void drop_modes(editor *e)
{
    const Onnx__GraphProto *g = e->m->proto->graph;
    for (size_t i = 0; i < g->n_node; i++)
        if (is(g->node[i], "Dropout") && g->node[i]->n_input > 2)
            drop_unread(e, g->node[i]->input[2]);
}

/* In the bodies of functions too. */
static void edit_functions(editor *e, Onnx__ModelProto *model)
{
    Onnx__FunctionProto **old = model->functions;
    model->functions = arena_alloc(e->memory, (model->n_functions + 1) * sizeof *old);
    for (size_t i = 0; i < model->n_functions; i++) {
        Onnx__FunctionProto *f = arena_alloc(e->memory, sizeof *f);
        *f = *old[i];
        f->node = arena_alloc(e->memory, (f->n_node + 1) * sizeof *f->node);
        for (size_t k = 0; k < f->n_node; k++)
            f->node[k] = at_rest(e, old[i]->node[k]);
        model->functions[i] = f;
    }
}

/* --- what the file says about itself --- */

/* A note of a value with its type and how many axes it has, but without sizes that are numbers. */
static Onnx__ValueInfoProto *without_sizes(editor *e, const Onnx__ValueInfoProto *old)
{
    Onnx__ValueInfoProto *v = arena_alloc(e->memory, sizeof *v);
    *v = *old;
    if (!old->type || !old->type->tensor_type || !old->type->tensor_type->shape)
        return v;
    Onnx__TypeProto *type = arena_alloc(e->memory, sizeof *type);
    Onnx__TypeProto__Tensor *tensor = arena_alloc(e->memory, sizeof *tensor);
    Onnx__TensorShapeProto *shape = arena_alloc(e->memory, sizeof *shape);
    *type = *old->type;
    *tensor = *old->type->tensor_type;
    *shape = *old->type->tensor_type->shape;
    v->type = type;
    type->tensor_type = tensor;
    tensor->shape = shape;
    shape->dim = arena_alloc(e->memory, (shape->n_dim + 1) * sizeof *shape->dim);
    for (size_t i = 0; i < shape->n_dim; i++) {
        shape->dim[i] = arena_alloc(e->memory, sizeof *shape->dim[i]);
        *shape->dim[i] = *old->type->tensor_type->shape->dim[i];
        shape->dim[i]->has_dim_value = 0;
    }
    return v;
}

/* A list without the sizes of all, or of initializers; others stay or are left out. */
static Onnx__ValueInfoProto **forget(editor *e, Onnx__ValueInfoProto *const *old, size_t *n,
                                     bool all, bool keeps_others)
{
    Onnx__ValueInfoProto **list = arena_alloc(e->memory, (*n + 1) * sizeof *list);
    size_t kept = 0;
    for (size_t i = 0; i < *n; i++) {
        bool stale = all || onnx_initializer(e->m, onnx_text(old[i]->name)) >= 0;
        if (stale || keeps_others)
            list[kept++] = stale ? without_sizes(e, old[i]) : old[i];
    }
    *n = kept;
    return list;
}

/* Sizes that were noted do not hold where a head was replaced. What an initializer was to the
 * exporter still does, and old files list initializers among the inputs. */
static void forget_sizes(editor *e)
{
    Onnx__GraphProto *g = &e->graph;
    g->input = forget(e, g->input, &g->n_input, false, true);
    g->output = forget(e, g->output, &g->n_output, true, true);
    g->value_info = forget(e, g->value_info, &g->n_value_info, false, false);
}

static bool is_ours(const char *key, const onnx_meta *meta, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(meta[i].key, key) == 0)
            return true;
    return false;
}

static void edit_metadata(editor *e, Onnx__ModelProto *model, const onnx_meta *meta, size_t n)
{
    Onnx__StringStringEntryProto **old = model->metadata_props;
    size_t n_old = model->n_metadata_props;
    model->metadata_props = arena_alloc(e->memory, (n_old + n + 1) * sizeof *old);
    model->n_metadata_props = 0;
    for (size_t i = 0; i < n_old; i++)
        if (!is_ours(onnx_text(old[i]->key), meta, n))
            model->metadata_props[model->n_metadata_props++] = old[i];
    for (size_t i = 0; i < n; i++) {
        Onnx__StringStringEntryProto *entry = arena_alloc(e->memory, sizeof *entry);
        onnx__string_string_entry_proto__init(entry);
        entry->key = text(meta[i].key);
        entry->value = text(meta[i].value);
        model->metadata_props[model->n_metadata_props++] = entry;
    }
    model->producer_name = arena_strdup(e->memory, "tequio");
    model->producer_version = arena_strdup(e->memory, TEQUIO_VERSION);
}

static status edit_graph(editor *e, error *err)
{
    TRY(replace_initializers(e, err));
    TRY(edit_nodes(e, err));
    drop_modes(e);
    if (e->resized)
        forget_sizes(e);
    if (e->n_taken < weights_count(e->w))
        return FAIL(err, E_DATA, "'%s' has %zu tensors, '%s' has a place for %zu of them",
                    weights_origin(e->w), weights_count(e->w), e->m->path, e->n_taken);
    return OK;
}

status onnx_export_model(const onnx_model *m, const weights *w, const onnx_meta *meta,
                         size_t n_meta, const char *path, error *err)
{
    editor e = {.memory = arena_create(),
                .m = m,
                .w = w,
                .graph = *m->proto->graph,
                .opset = onnx_opset(m->proto->opset_import, m->proto->n_opset_import, "")};
    Onnx__ModelProto model = *m->proto;
    model.graph = &e.graph;
    status st = edit_graph(&e, err);
    if (st == OK) {
        edit_functions(&e, &model);
        edit_metadata(&e, &model, meta, n_meta);
        st = file_write_model(&model, path, err);
    }
    arena_destroy(&e.memory);
    return st;
}
