/*
 * The one door through which nodes come into a graph.
 *
 * graph_add is where a graph is kept right: it checks the number and kind of inputs, copies the
 * attributes, lets the operator's shape rule complete that copy and infer the outputs, and only
 * then appends. So a node that stands in a graph has passed its shape rule, and a failed graph_add
 * leaves the graph as it was.
 *
 * Output 0 carries its node's name, output k the name with ".k". Names nobody gave are made from
 * the operator and the node's index, or, while a gradient is formed, from the forward node's name.
 */
#include "graph/internal.h"
#include "graph/schema.h"

#include <inttypes.h>
#include <string.h>

static status name_node(graph *g, const graph_op_info *info, const char *name, graph_node *node,
                        error *err)
{
    if (name && *name) {
        if (names_get(&g->node_names, name, NULL))
            return FAIL(err, E_CONFIG, "node '%s' (%s): another node has that name", name,
                        info->name);
        if (names_get(&g->value_names, name, NULL))
            return FAIL(err, E_CONFIG, "node '%s' (%s): another value has that name", name,
                        info->name);
        node->name = arena_strdup(g->arena, name);
        return OK;
    }
    const char *base = g->prefix ? arena_printf(g->arena, "%s.%s", g->prefix, info->name)
                                 : arena_printf(g->arena, "%s.%" PRId32, info->name, g->n_nodes);
    const char *made = graph_free_name(g, &g->node_names, base, g->n_nodes);
    while (names_get(&g->value_names, made, NULL) || names_get(&g->node_names, made, NULL))
        made = arena_printf(g->arena, "%s_", made);
    node->name = made;
    return OK;
}

static status take_inputs(graph *g, const graph_op_info *info, const graph_val *in, int32_t n_in,
                          graph_node *node, error *err)
{
    while (n_in > info->min_in && in[n_in - 1] == GRAPH_NONE)
        n_in--;
    if (n_in < info->min_in || n_in > info->max_in) {
        const char *bound = info->min_in == info->max_in ? "exactly"
                            : n_in < info->min_in        ? "at least"
                                                         : "at most";
        return FAIL(err, E_CONFIG, "%s (%s): has %" PRId32 " input%s, takes %s %" PRId32,
                    node->name, info->name, n_in, n_in == 1 ? "" : "s", bound,
                    n_in < info->min_in ? info->min_in : info->max_in);
    }
    node->n_in = n_in;
    int32_t n_slots = graph_node_slots(node);
    node->in = arena_alloc(g->arena, (size_t)n_slots * sizeof *node->in);
    for (int32_t i = 0; i < n_slots; i++)
        node->in[i] = i < n_in ? in[i] : GRAPH_NONE;
    for (int32_t i = 0; i < n_in; i++) {
        bool absent = in[i] == GRAPH_NONE && i >= info->min_in;
        if (!absent && (in[i] < 0 || in[i] >= g->n_values))
            return FAIL(err, E_CONFIG, "%s (%s): input %" PRId32 " is not a value of this graph",
                        node->name, info->name, i);
    }
    return OK;
}

/* Shapes and types of the outputs, where infer writes them. */
static void blank_outputs(graph *g, int32_t n_out)
{
    GROW(g->out_shapes, g->cap_out_shapes, n_out);
    GROW(g->out_dtypes, g->cap_out_dtypes, n_out);
    for (int32_t i = 0; i < n_out; i++) {
        g->out_shapes[i] = (graph_shape){.rank = GRAPH_NONE};
        g->out_dtypes[i] = DT_F32;
    }
}

static status infer_outputs(graph *g, const graph_op_info *info, const graph_node *node, error *err)
{
    blank_outputs(g, info->n_out);
    TRY(info->infer(g, node, g->out_shapes, g->out_dtypes, err));
    for (int32_t i = 0; i < info->n_out; i++) {
        const graph_shape *s = &g->out_shapes[i];
        char text[SHAPE_TEXT];
        const char *defect = s->rank == GRAPH_NONE ? NULL : graph_shape_defect(s, g->out_dtypes[i]);
        if (defect)
            return FAIL(err, E_CONFIG, "%s (%s): the output %s %s", node->name, info->name,
                        graph_shape_text(s, text, sizeof text), defect);
    }
    return OK;
}

static void append_outputs(graph *g, graph_node *node)
{
    for (int32_t i = 0; i < node->n_out; i++) {
        node->out[i] = GRAPH_NONE;
        if (g->out_shapes[i].rank == GRAPH_NONE)
            continue;
        const char *name = node->name;
        if (i > 0)
            name = graph_free_name(g, &g->value_names, arena_printf(g->arena, "%s.%" PRId32, name, i),
                             g->n_nodes);
        node->out[i] = graph_append_value(g, &(graph_value){.name = name,
                                                      .kind = VAL_TEMP,
                                                      .dtype = g->out_dtypes[i],
                                                      .shape = g->out_shapes[i],
                                                      .def = g->n_nodes,
                                                      .grad = GRAPH_NONE});
    }
}

static status append_node(graph *g, graph_op op, const char *name, const graph_val *in,
                          int32_t n_in, const void *attr, int32_t *ret, error *err)
{
    const graph_op_info *info = graph_op_of(op);
    graph_node node = {.op = op, .n_out = info->n_out};
    node.out = arena_alloc(g->arena, (size_t)node.n_out * sizeof *node.out);
    TRY(name_node(g, info, name, &node, err));
    TRY(take_inputs(g, info, in, n_in, &node, err));
    if (info->attr_bytes) {
        void *copy = arena_alloc(g->arena, info->attr_bytes);
        if (attr)
            memcpy(copy, attr, info->attr_bytes);
        else
            schema_set_defaults(info->fields, copy);
        node.attr = copy;
    }
    TRY(schema_complete(g, &node, err));
    TRY(infer_outputs(g, info, &node, err));
    append_outputs(g, &node);
    GROW(g->nodes, g->cap_nodes, g->n_nodes + 1);
    g->nodes[g->n_nodes] = node;
    names_put(&g->node_names, node.name, g->n_nodes);
    *ret = g->n_nodes++;
    return OK;
}

status graph_add(graph *g, graph_op op, const char *name, const graph_val *in, int32_t n_in,
                 const void *attr, graph_val *ret_out, error *err)
{
    int32_t node;
    TRY(append_node(g, op, name, in, n_in, attr, &node, err));
    memcpy(ret_out, g->nodes[node].out, (size_t)g->nodes[node].n_out * sizeof *ret_out);
    return OK;
}

status graph_add_1(graph *g, graph_op op, const char *name, const graph_val *in, int32_t n_in,
                   const void *attr, graph_val *ret, error *err)
{
    int32_t node;
    TRY(append_node(g, op, name, in, n_in, attr, &node, err));
    *ret = g->nodes[node].out[0];
    return OK;
}
