#include "differential/emit.h"

#include "numeric/support_values.h"
#include "onnx/write/maker.h"

#include <string.h>

enum { IR_VERSION = 10 };

void emit_init(emitter *e, int64_t opset)
{
    *e = (emitter){.a = arena_create()};
    Onnx__OperatorSetIdProto *set = arena_alloc(e->a, sizeof *set);
    onnx__model_proto__init(&e->model);
    onnx__graph_proto__init(&e->graph);
    onnx__operator_set_id_proto__init(set);
    set->has_version = e->model.has_ir_version = true;
    set->version = opset;
    e->model.ir_version = IR_VERSION;
    e->model.graph = &e->graph;
    e->graph.name = arena_strdup(e->a, "sketch");
    APPEND(e->a, e->model.opset_import, e->model.n_opset_import, set);
}

void emit_fini(emitter *e)
{
    arena_destroy(&e->a);
}

static Onnx__TypeProto *type_of(emitter *e, const term *t)
{
    Onnx__TypeProto *type = arena_alloc(e->a, sizeof *type);
    Onnx__TypeProto__Tensor *tensor = arena_alloc(e->a, sizeof *tensor);
    Onnx__TensorShapeProto *shape = arena_alloc(e->a, sizeof *shape);
    onnx__type_proto__init(type);
    onnx__type_proto__tensor__init(tensor);
    onnx__tensor_shape_proto__init(shape);
    type->tensor_type = tensor;
    tensor->has_elem_type = true;
    tensor->elem_type = maker_onnx_type(t->type);
    tensor->shape = shape;
    for (int32_t i = 0; i < t->shape.rank; i++) {
        Onnx__TensorShapeProto__Dimension *d = arena_alloc(e->a, sizeof *d);
        onnx__tensor_shape_proto__dimension__init(d);
        d->has_dim_value = true;
        d->dim_value = t->shape.dim[i];
        APPEND(e->a, shape->dim, shape->n_dim, d);
    }
    return type;
}

static Onnx__ValueInfoProto *value_info(emitter *e, const char *name)
{
    Onnx__ValueInfoProto *v = arena_alloc(e->a, sizeof *v);
    onnx__value_info_proto__init(v);
    v->name = arena_strdup(e->a, name);
    return v;
}

void emit_input(emitter *e, const term *t)
{
    Onnx__ValueInfoProto *v = value_info(e, t->name);
    v->type = type_of(e, t);
    APPEND(e->a, e->graph.input, e->graph.n_input, v);
}

void emit_output(emitter *e, const char *name)
{
    APPEND(e->a, e->graph.output, e->graph.n_output, value_info(e, name));
}

static Onnx__TensorProto *tensor_of(emitter *e, const term *t)
{
    Onnx__TensorProto *p = arena_alloc(e->a, sizeof *p);
    onnx__tensor_proto__init(p);
    p->name = arena_strdup(e->a, t->name);
    p->has_data_type = true;
    p->data_type = maker_onnx_type(t->type);
    for (int32_t i = 0; i < t->shape.rank; i++)
        APPEND(e->a, p->dims, p->n_dims, t->shape.dim[i]);
    p->has_raw_data = true;
    p->raw_data.len = (size_t)t->n * dtype_bytes(t->type);
    p->raw_data.data = arena_alloc(e->a, p->raw_data.len + 1);
    values_store(t->type, t->n, t->x[POINT_HERE], p->raw_data.data);
    return p;
}

void emit_initializer(emitter *e, const term *t)
{
    APPEND(e->a, e->graph.initializer, e->graph.n_initializer, tensor_of(e, t));
}

void emit_constant(emitter *e, const term *t)
{
    Onnx__NodeProto *n = arena_alloc(e->a, sizeof *n);
    Onnx__AttributeProto *value = arena_alloc(e->a, sizeof *value);
    onnx__node_proto__init(n);
    onnx__attribute_proto__init(value);
    n->op_type = arena_strdup(e->a, "Constant");
    n->name = arena_printf(e->a, "Constant_%s", t->name);
    APPEND(e->a, n->output, n->n_output, arena_strdup(e->a, t->name));
    value->name = arena_strdup(e->a, "value");
    value->has_type = true;
    value->type = EMIT_TENSOR;
    value->t = tensor_of(e, t);
    APPEND(e->a, n->attribute, n->n_attribute, value);
    emit_node(e, n);
}

void emit_node(emitter *e, Onnx__NodeProto *n)
{
    APPEND(e->a, e->graph.node, e->graph.n_node, n);
}

void emit_pack(const emitter *e, buf *ret)
{
    buf_reserve(ret, onnx__model_proto__get_packed_size(&e->model));
    ret->size += onnx__model_proto__pack(&e->model, (uint8_t *)ret->data + ret->size);
}

status emit_open(const emitter *e, onnx_model **ret, error *err)
{
    buf bytes = BUF_INIT;
    emit_pack(e, &bytes);
    status st = onnx_open_memory(bytes.data, bytes.size, "sketch.onnx", ret, err);
    buf_fini(&bytes);
    return st;
}
