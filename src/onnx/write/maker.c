#include "onnx/write/maker.h"

#include <string.h>

/* protobuf-c wants writable strings, and writes none. */
static char *text(const char *s)
{
    return (char *)(uintptr_t)s;
}

static const char *name_of(const maker *m, graph_val v)
{
    return v == GRAPH_NONE ? "" : graph_value_at(m->g, v)->name;
}

const char *maker_in(const maker *m, const graph_node *n, int32_t i)
{
    return i < graph_node_slots(n) ? name_of(m, n->in[i]) : "";
}

const char *maker_out(const maker *m, const graph_node *n, int32_t i)
{
    return i < n->n_out ? name_of(m, n->out[i]) : "";
}

const graph_shape *maker_shape(const maker *m, graph_val v)
{
    return &graph_value_at(m->g, v)->shape;
}

const graph_shape *maker_twin_shape(const maker *m, graph_val v)
{
    return &graph_value_at(m->twin ? m->twin : m->g, v)->shape;
}

/* --- nodes --- */

/* Room for one more pointer in an array of the arena; what it outgrows stays there. */
static void *grow(maker *m, void *array, size_t n, size_t *cap)
{
    if (n < *cap)
        return array;
    size_t larger = *cap ? *cap * 2 : 64;
    void **copy = arena_alloc(m->memory, larger * sizeof *copy);
    if (n)
        memcpy(copy, array, n * sizeof *copy);
    *cap = larger;
    return copy;
}

static char **copy_names(maker *m, const char *const *names, size_t n)
{
    char **copy = arena_alloc(m->memory, (n + 1) * sizeof *copy);
    for (size_t i = 0; i < n; i++)
        copy[i] = text(names[i]);
    return copy;
}

Onnx__NodeProto *maker_node(maker *m, const char *type, const char *const *in, size_t n_in,
                            const char *const *out, size_t n_out)
{
    Onnx__NodeProto *node = arena_alloc(m->memory, sizeof *node);
    onnx__node_proto__init(node);
    node->op_type = text(type);
    node->name = text(out[0]);
    while (n_in > 0 && !*in[n_in - 1])
        n_in--; /* optional ones at the end */
    node->n_input = n_in;
    node->input = copy_names(m, in, n_in);
    node->n_output = n_out;
    node->output = copy_names(m, out, n_out);
    Onnx__GraphProto *g = m->graph;
    g->node = grow(m, g->node, g->n_node, &m->cap_nodes);
    g->node[g->n_node++] = node;
    return node;
}

const char *maker_call(maker *m, const char *type, const char *out, const char *a, const char *b,
                       const char *c)
{
    const char *in[] = {a, b, c};
    size_t n = 0;
    while (n < COUNT_OF(in) && in[n])
        n++;
    maker_node(m, type, in, n, &out, 1);
    return out;
}

const char *maker_inside(maker *m, const graph_node *n, const char *what)
{
    return arena_printf(m->memory, "%s/%s", maker_out(m, n, 0), what);
}

/* --- attributes --- */

enum { TYPE_FLOAT = 1, TYPE_INT = 2, TYPE_STRING = 3, TYPE_INTS = 7 };

static Onnx__AttributeProto *add_attribute(maker *m, Onnx__NodeProto *node, const char *name,
                                           int32_t type)
{
    Onnx__AttributeProto *a = arena_alloc(m->memory, sizeof *a);
    onnx__attribute_proto__init(a);
    a->name = text(name);
    a->has_type = 1;
    a->type = type;
    Onnx__AttributeProto **more = arena_alloc(m->memory, (node->n_attribute + 1) * sizeof *more);
    if (node->n_attribute)
        memcpy(more, node->attribute, node->n_attribute * sizeof *more);
    node->attribute = more;
    node->attribute[node->n_attribute++] = a;
    return a;
}

void maker_int(maker *m, Onnx__NodeProto *node, const char *name, int64_t value)
{
    Onnx__AttributeProto *a = add_attribute(m, node, name, TYPE_INT);
    a->has_i = 1;
    a->i = value;
}

void maker_float(maker *m, Onnx__NodeProto *node, const char *name, float value)
{
    Onnx__AttributeProto *a = add_attribute(m, node, name, TYPE_FLOAT);
    a->has_f = 1;
    a->f = value;
}

void maker_string(maker *m, Onnx__NodeProto *node, const char *name, const char *value)
{
    Onnx__AttributeProto *a = add_attribute(m, node, name, TYPE_STRING);
    a->has_s = 1;
    a->s.len = strlen(value);
    a->s.data = (uint8_t *)arena_strdup(m->memory, value);
}

void maker_ints(maker *m, Onnx__NodeProto *node, const char *name, const int64_t *values, size_t n)
{
    Onnx__AttributeProto *a = add_attribute(m, node, name, TYPE_INTS);
    a->n_ints = n;
    a->ints = arena_alloc(m->memory, (n + 1) * sizeof *a->ints);
    memcpy(a->ints, values, n * sizeof *values);
}

/* --- initializers --- */

int32_t maker_onnx_type(dtype t)
{
    switch (t) {
    case DT_F32:
        return 1;
    case DT_U8:
        return 2;
    case DT_I32:
        return 6;
    case DT_I64:
        return 7;
    case DT_BOOL:
        return 9;
    case DT_F16:
        return 10;
    case DT_F64:
        return 11;
    case DT_BF16:
        return 16;
    default:
        BUG("no element type %d", (int)t);
    }
}

void maker_tensor(maker *m, const char *name, dtype t, const graph_shape *shape, const void *data,
                  size_t bytes)
{
    Onnx__TensorProto *tensor = arena_alloc(m->memory, sizeof *tensor);
    onnx__tensor_proto__init(tensor);
    tensor->name = text(name);
    tensor->has_data_type = 1;
    tensor->data_type = maker_onnx_type(t);
    tensor->n_dims = (size_t)shape->rank;
    tensor->dims = arena_alloc(m->memory, sizeof shape->dim);
    memcpy(tensor->dims, shape->dim, sizeof shape->dim);
    tensor->has_raw_data = 1;
    tensor->raw_data.len = bytes;
    tensor->raw_data.data = (uint8_t *)(uintptr_t)data;
    Onnx__GraphProto *g = m->graph;
    g->initializer = grow(m, g->initializer, g->n_initializer, &m->cap_initializers);
    g->initializer[g->n_initializer++] = tensor;
}

const char *maker_const_ints(maker *m, const char *name, const int64_t *values, size_t n)
{
    int64_t *copy = arena_alloc(m->memory, (n + 1) * sizeof *copy);
    memcpy(copy, values, n * sizeof *values);
    maker_tensor(m, name, DT_I64, &(graph_shape){.rank = 1, .dim = {(int64_t)n}}, copy,
                 n * sizeof *copy);
    return name;
}

const char *maker_const_float(maker *m, const char *name, float value)
{
    float *copy = arena_alloc(m->memory, sizeof *copy);
    *copy = value;
    maker_tensor(m, name, DT_F32, &(graph_shape){.rank = 0}, copy, sizeof *copy);
    return name;
}
