#include "common/store/events_graph.h"

#include "common/base/alloc.h"
#include "proto/event.pb-c.h"

#include <stdlib.h>

typedef Tequio__Tb__NodeDef Node;
typedef Tequio__Tb__NodeDef__AttrEntry Attribute;
typedef Tequio__Tb__AttrValue AttrValue;
typedef Tequio__Tb__TensorShapeProto Shape;
typedef Tequio__Tb__TensorShapeProto__Dim Dim;

/* TensorFlow's numbers of types. */
static const int32_t types[DTYPE_COUNT] = {
    [DT_F32] = 1, [DT_F16] = 19, [DT_BF16] = 14, [DT_F64] = 2, [DT_I64] = 9, [DT_I32] = 3, [DT_U8] = 4, [DT_BOOL] = 10,
};

static Shape *shape_of(arena *memory, const events_tensor *t)
{
    Shape *s = arena_alloc(memory, sizeof *s);
    tequio__tb__tensor_shape_proto__init(s);
    s->n_dim = (size_t)t->rank;
    s->dim = arena_alloc(memory, s->n_dim * sizeof *s->dim + 1);
    for (size_t i = 0; i < s->n_dim; i++) {
        s->dim[i] = arena_alloc(memory, sizeof(Dim));
        tequio__tb__tensor_shape_proto__dim__init(s->dim[i]);
        s->dim[i]->size = t->dim[i];
    }
    return s;
}

static Attribute *attribute(arena *memory, const char *key)
{
    Attribute *a = arena_alloc(memory, sizeof *a);
    tequio__tb__node_def__attr_entry__init(a);
    a->key = (char *)(uintptr_t)key;
    a->value = arena_alloc(memory, sizeof *a->value);
    tequio__tb__attr_value__init(a->value);
    return a;
}

/* Where TensorBoard looks for what flows along an edge. */
static void set_outputs(arena *memory, const events_node *n, Node *ret)
{
    enum { ATTRIBUTES = 2 };
    Tequio__Tb__AttrValue__ListValue *list = arena_alloc(memory, sizeof *list);
    tequio__tb__attr_value__list_value__init(list);
    list->n_shape = n->n_outputs;
    list->shape = arena_alloc(memory, n->n_outputs * sizeof *list->shape + 1);
    for (size_t i = 0; i < n->n_outputs; i++)
        list->shape[i] = shape_of(memory, &n->outputs[i]);
    ret->n_attr = ATTRIBUTES;
    ret->attr = arena_alloc(memory, ATTRIBUTES * sizeof *ret->attr);
    ret->attr[0] = attribute(memory, "T");
    ret->attr[0]->value->value_case = TEQUIO__TB__ATTR_VALUE__VALUE_TYPE;
    ret->attr[0]->value->type = types[n->outputs[0].type];
    ret->attr[1] = attribute(memory, "_output_shapes");
    ret->attr[1]->value->value_case = TEQUIO__TB__ATTR_VALUE__VALUE_LIST;
    ret->attr[1]->value->list = list;
}

static Node *node_of(arena *memory, const events_node *n)
{
    Node *ret = arena_alloc(memory, sizeof *ret);
    tequio__tb__node_def__init(ret);
    ret->name = (char *)(uintptr_t)n->name;
    ret->op = (char *)(uintptr_t)n->op;
    ret->n_input = n->n_inputs;
    ret->input = (char **)(uintptr_t)n->inputs;
    if (n->n_outputs)
        set_outputs(memory, n, ret);
    return ret;
}

void events_graph(events *e, const events_node *nodes, size_t n)
{
    arena *memory = arena_create();
    Tequio__Tb__GraphDef graph = TEQUIO__TB__GRAPH_DEF__INIT;
    graph.n_node = n;
    graph.node = arena_alloc(memory, n * sizeof *graph.node + 1);
    for (size_t i = 0; i < n; i++)
        graph.node[i] = node_of(memory, &nodes[i]);
    size_t bytes = tequio__tb__graph_def__get_packed_size(&graph);
    unsigned char *packed = xmalloc(bytes + 1);
    tequio__tb__graph_def__pack(&graph, packed);
    events_graph_bytes(e, packed, bytes);
    free(packed);
    arena_destroy(&memory);
}
