/* A network as nodes of TensorBoard's: its inputs, parameters and constants, and what computes. */
#include "cli/roles/board.h"

#include "common/base/alloc.h"
#include "common/base/log.h"
#include "common/store/events_graph.h"

#include <stdlib.h>
#include <string.h>

typedef struct picture {
    const graph *const *both;
    arena *memory;
    events_node *nodes;
    size_t n;
} picture;

/* Names are folded by their dots. */
static const char *node_name(arena *memory, const char *name)
{
    char *copy = arena_strdup(memory, name);
    for (char *at = copy; *at; at++)
        if (*at == '.' && at > copy && at[1])
            *at = '/';
    return copy;
}

static void set_tensor(const picture *p, graph_val v, events_tensor *ret)
{
    const graph_value *one = graph_value_at(p->both[0], v), *twin = graph_value_at(p->both[1], v);
    int64_t *dim = arena_alloc(p->memory, (size_t)(one->shape.rank > 0 ? one->shape.rank : 1) * sizeof *dim);
    for (int32_t i = 0; i < one->shape.rank; i++)
        dim[i] = one->shape.dim[i] == twin->shape.dim[i] ? one->shape.dim[i] : -1;
    *ret = (events_tensor){.type = one->dtype, .rank = one->shape.rank, .dim = dim};
}

static void add_value(picture *p, graph_val v)
{
    static const char *const ops[] = {[VAL_INPUT] = "Placeholder", [VAL_PARAM] = "VariableV2", [VAL_CONST] = "Const"};
    const graph_value *value = graph_value_at(p->both[0], v);
    events_tensor *tensor = arena_alloc(p->memory, sizeof *tensor);
    set_tensor(p, v, tensor);
    p->nodes[p->n++] = (events_node){
        .name = node_name(p->memory, value->name), .op = ops[value->kind], .outputs = tensor, .n_outputs = 1};
}

/* What an input of a node is called: by the node that makes it, and the output if that is not the first. */
static const char *input_name(const picture *p, graph_val v)
{
    const graph_value *value = graph_value_at(p->both[0], v);
    if (value->kind != VAL_TEMP)
        return node_name(p->memory, value->name);
    const graph_node *maker = graph_node_at(p->both[0], value->def);
    const char *name = node_name(p->memory, maker->name);
    for (int32_t i = 1; i < maker->n_out; i++)
        if (maker->out[i] == v) {
            char *text = xasprintf("%s:%d", name, (int)i);
            name = arena_strdup(p->memory, text);
            free(text);
        }
    return name;
}

static void add_node(picture *p, const graph_node *n)
{
    const char **inputs = arena_alloc(p->memory, (size_t)(graph_node_slots(n) + 1) * sizeof *inputs);
    events_tensor *outputs = arena_alloc(p->memory, (size_t)(n->n_out + 1) * sizeof *outputs);
    events_node node = {.name = node_name(p->memory, n->name), .op = graph_op_of(n->op)->name};
    for (int32_t i = 0; i < graph_node_slots(n); i++)
        if (n->in[i] != GRAPH_NONE)
            inputs[node.n_inputs++] = input_name(p, n->in[i]);
    for (int32_t i = 0; i < n->n_out; i++)
        if (n->out[i] != GRAPH_NONE)
            set_tensor(p, n->out[i], &outputs[node.n_outputs++]);
    node.inputs = inputs;
    node.outputs = outputs;
    p->nodes[p->n++] = node;
}

static void draw(picture *p)
{
    const graph *g = p->both[0];
    for (graph_val v = 0; v < graph_n_values(g); v++)
        if (graph_value_at(g, v)->kind != VAL_TEMP)
            add_value(p, v);
    for (int32_t i = 0; i < graph_n_nodes(g); i++)
        add_node(p, graph_node_at(g, i));
}

static status write_picture(const jobdir *dir, const picture *p, error *err)
{
    events *e = NULL;
    char *folder = jobdir_events(dir, NULL);
    status st = events_open(folder, &e, err);
    free(folder);
    TRY(st);
    events_graph(e, p->nodes, p->n);
    st = events_flush(e, err);
    events_close(&e);
    return st;
}

void board_network(void *dir, const graph *const both[2])
{
    error err = ERROR_INIT;
    size_t most = (size_t)graph_n_values(both[0]) + (size_t)graph_n_nodes(both[0]);
    if (most > BOARD_NODES || graph_n_values(both[0]) != graph_n_values(both[1]))
        return LOG_I("NO_GRAPH", "TensorBoard is not told the network: it has more than %d nodes, or depends on the "
                                 "size of the batch",
                     BOARD_NODES);
    picture p = {.both = both, .memory = arena_create(), .nodes = xcalloc(most + 1, sizeof *p.nodes)};
    draw(&p);
    if (write_picture(dir, &p, &err) != OK)
        LOG_W("NO_EVENTS", "TensorBoard is not told the network: %s", err.text);
    free(p.nodes);
    arena_destroy(&p.memory);
}
