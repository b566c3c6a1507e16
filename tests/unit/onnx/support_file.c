#include "unit/onnx/support_file.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#define APPEND(a, list, n, item)                                                                   \
    do {                                                                                           \
        void *grown_ = arena_alloc((a), ((n) + 1) * sizeof *(list));                               \
        if (n)                                                                                     \
            memcpy(grown_, (list), (n) * sizeof *(list));                                          \
        (list) = grown_;                                                                           \
        (list)[(n)++] = (item);                                                                    \
    } while (0)

/* The next word of a text that words are cut from, NULL at its end. */
static char *word(char **text, const char *separators)
{
    char *w;
    do
        w = strsep(text, separators);
    while (w && !*w);
    return w;
}

static file *file_in(arena *a, int64_t opset)
{
    file *f = arena_alloc(a, sizeof *f);
    f->a = a;
    onnx__model_proto__init(&f->proto);
    onnx__graph_proto__init(&f->graph);
    f->proto.graph = &f->graph;
    f->proto.has_ir_version = true;
    f->proto.ir_version = 8;
    file_opset(f, "", opset);
    return f;
}

file *file_create(int64_t opset)
{
    return file_in(arena_create(), opset);
}

file *file_inside(file *f)
{
    return file_in(f->a, f->proto.opset_import[0]->version);
}

void file_destroy(file **f)
{
    arena *a = (*f)->a;
    arena_destroy(&a);
    *f = NULL;
}

static Onnx__TypeProto *tensor_type(file *f, int32_t type, const char *shape)
{
    Onnx__TypeProto *t = arena_alloc(f->a, sizeof *t);
    Onnx__TypeProto__Tensor *tensor = arena_alloc(f->a, sizeof *tensor);
    Onnx__TensorShapeProto *dims = arena_alloc(f->a, sizeof *dims);
    onnx__type_proto__init(t);
    onnx__type_proto__tensor__init(tensor);
    onnx__tensor_shape_proto__init(dims);
    t->tensor_type = tensor;
    tensor->has_elem_type = true;
    tensor->elem_type = type;
    tensor->shape = dims;
    char *text = arena_strdup(f->a, shape), *w;
    while ((w = word(&text, ","))) {
        Onnx__TensorShapeProto__Dimension *d = arena_alloc(f->a, sizeof *d);
        onnx__tensor_shape_proto__dimension__init(d);
        d->has_dim_value = *w >= '0' && *w <= '9';
        d->dim_value = atoll(w);
        d->dim_param = d->has_dim_value ? NULL : w;
        APPEND(f->a, dims->dim, dims->n_dim, d);
    }
    return t;
}

static Onnx__ValueInfoProto *value_info(file *f, const char *name)
{
    Onnx__ValueInfoProto *v = arena_alloc(f->a, sizeof *v);
    onnx__value_info_proto__init(v);
    v->name = arena_strdup(f->a, name);
    return v;
}

void file_input(file *f, const char *name, int32_t type, const char *shape)
{
    Onnx__ValueInfoProto *v = value_info(f, name);
    v->type = tensor_type(f, type, shape);
    APPEND(f->a, f->graph.input, f->graph.n_input, v);
}

void file_output(file *f, const char *name)
{
    APPEND(f->a, f->graph.output, f->graph.n_output, value_info(f, name));
}

static Onnx__TensorProto *initializer(file *f, const char *name, int32_t type)
{
    Onnx__TensorProto *t = arena_alloc(f->a, sizeof *t);
    onnx__tensor_proto__init(t);
    t->name = arena_strdup(f->a, name);
    t->has_data_type = true;
    t->data_type = type;
    APPEND(f->a, f->graph.initializer, f->graph.n_initializer, t);
    return t;
}

Onnx__TensorProto *file_weights(file *f, const char *name, const char *shape)
{
    Onnx__TensorProto *t = initializer(f, name, FILE_FLOAT);
    char *text = arena_strdup(f->a, shape), *w;
    size_t n = 1;
    while ((w = word(&text, ","))) {
        APPEND(f->a, t->dims, t->n_dims, atoll(w));
        n *= (size_t)atoll(w);
    }
    t->float_data = arena_alloc(f->a, n * sizeof(float));
    t->n_float_data = n;
    for (size_t i = 0; i < n; i++)
        t->float_data[i] = (float)i + 0.5f;
    return t;
}

Onnx__TensorProto *file_ints(file *f, const char *name, const char *values)
{
    Onnx__TensorProto *t = initializer(f, name, FILE_INT64);
    char *text = arena_strdup(f->a, values), *w;
    while ((w = word(&text, ",")))
        APPEND(f->a, t->int64_data, t->n_int64_data, atoll(w));
    APPEND(f->a, t->dims, t->n_dims, (int64_t)t->n_int64_data);
    return t;
}

Onnx__NodeProto *file_node(file *f, const char *type, const char *inputs, const char *outputs)
{
    Onnx__NodeProto *n = arena_alloc(f->a, sizeof *n);
    onnx__node_proto__init(n);
    n->op_type = arena_strdup(f->a, type);
    char *in = arena_strdup(f->a, inputs), *out = arena_strdup(f->a, outputs), *w;
    while ((w = word(&in, " ")))
        APPEND(f->a, n->input, n->n_input, strcmp(w, "-") == 0 ? arena_strdup(f->a, "") : w);
    while ((w = word(&out, " ")))
        APPEND(f->a, n->output, n->n_output, strcmp(w, "-") == 0 ? arena_strdup(f->a, "") : w);
    n->name = arena_printf(f->a, "%s_%zu", type, f->graph.n_node);
    APPEND(f->a, f->graph.node, f->graph.n_node, n);
    return n;
}

static Onnx__AttributeProto *attribute(file *f, Onnx__NodeProto *n, const char *name, int32_t type)
{
    Onnx__AttributeProto *a = arena_alloc(f->a, sizeof *a);
    onnx__attribute_proto__init(a);
    a->name = arena_strdup(f->a, name);
    a->has_type = true;
    a->type = type;
    APPEND(f->a, n->attribute, n->n_attribute, a);
    return a;
}

void file_int(file *f, Onnx__NodeProto *n, const char *name, int64_t value)
{
    Onnx__AttributeProto *a = attribute(f, n, name, 2);
    a->has_i = true;
    a->i = value;
}

void file_string(file *f, Onnx__NodeProto *n, const char *name, const char *value)
{
    Onnx__AttributeProto *a = attribute(f, n, name, 3);
    a->has_s = true;
    a->s.data = (uint8_t *)arena_strdup(f->a, value);
    a->s.len = strlen(value);
}

void file_float(file *f, Onnx__NodeProto *n, const char *name, float value)
{
    Onnx__AttributeProto *a = attribute(f, n, name, 1);
    a->has_f = true;
    a->f = value;
}

void file_list(file *f, Onnx__NodeProto *n, const char *name, const char *values)
{
    Onnx__AttributeProto *a = attribute(f, n, name, 7);
    char *text = arena_strdup(f->a, values), *w;
    while ((w = word(&text, ",")))
        APPEND(f->a, a->ints, a->n_ints, atoll(w));
}

void file_subgraph(file *f, Onnx__NodeProto *n, const char *name, const file *body)
{
    Onnx__GraphProto *g = arena_alloc(f->a, sizeof *g);
    *g = body->graph;
    attribute(f, n, name, 5)->g = g;
}

void file_opset(file *f, const char *domain, int64_t version)
{
    Onnx__OperatorSetIdProto *o = arena_alloc(f->a, sizeof *o);
    onnx__operator_set_id_proto__init(o);
    o->domain = arena_strdup(f->a, domain);
    o->has_version = true;
    o->version = version;
    APPEND(f->a, f->proto.opset_import, f->proto.n_opset_import, o);
}

void file_function(file *f, const char *domain, const char *name, const char *inputs,
                   const char *outputs, const file *body)
{
    Onnx__FunctionProto *p = arena_alloc(f->a, sizeof *p);
    onnx__function_proto__init(p);
    p->domain = arena_strdup(f->a, domain);
    p->name = arena_strdup(f->a, name);
    char *in = arena_strdup(f->a, inputs), *out = arena_strdup(f->a, outputs), *w;
    while ((w = word(&in, " ")))
        APPEND(f->a, p->input, p->n_input, w);
    while ((w = word(&out, " ")))
        APPEND(f->a, p->output, p->n_output, w);
    p->node = body->graph.node;
    p->n_node = body->graph.n_node;
    p->opset_import = body->proto.opset_import;
    p->n_opset_import = body->proto.n_opset_import;
    APPEND(f->a, f->proto.functions, f->proto.n_functions, p);
}

void file_pack(const file *f, buf *ret)
{
    buf_reserve(ret, onnx__model_proto__get_packed_size(&f->proto));
    ret->size += onnx__model_proto__pack(&f->proto, (uint8_t *)ret->data + ret->size);
}

onnx_model *file_open(const file *f)
{
    buf bytes = BUF_INIT;
    error err = ERROR_INIT;
    onnx_model *m = NULL;
    file_pack(f, &bytes);
    if (onnx_open_memory(bytes.data, bytes.size, "test.onnx", &m, &err) != OK)
        fail_msg("%s", err.text);
    buf_fini(&bytes);
    return m;
}
