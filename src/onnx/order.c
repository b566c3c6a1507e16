#include "onnx/order.h"

#include "graph/names.h"

#include <stdio.h>
#include <stdlib.h>

typedef enum mark { UNSEEN, OPEN, DONE } mark;

/* A node on the way down, and which of what it reads comes next. */
typedef struct visit {
    int32_t node;
    size_t next;
} visit;

typedef struct sorter {
    Onnx__NodeProto *const *nodes;
    size_t n_nodes;
    names makers; /* value -> node */
    mark *marks;
    visit *stack;
    size_t n_stack;
    int32_t *order;
    size_t n_order;
    const char **reads; /* of the node last looked at, with what its subgraphs read */
    size_t n_reads, cap_reads;
    int32_t reads_of;
} sorter;

const char *onnx_node_text(const Onnx__NodeProto *n, char *buffer, size_t bytes)
{
    const char *name = onnx_text(n->name);
    if (!*name && n->n_output)
        name = n->output[0];
    snprintf(buffer, bytes, "node '%.120s' (%.60s)", name, onnx_text(n->op_type));
    return buffer;
}

static status find_makers(sorter *s, error *err)
{
    for (size_t i = 0; i < s->n_nodes; i++) {
        const Onnx__NodeProto *n = s->nodes[i];
        for (size_t k = 0; k < n->n_output; k++) {
            int32_t other;
            if (!*n->output[k])
                continue;
            if (names_get(&s->makers, n->output[k], &other))
                return FAIL(err, E_DATA, "%s makes '%s', and so does %s", NODE(n), n->output[k],
                            NODE(s->nodes[other]));
            names_put(&s->makers, n->output[k], (int32_t)i);
        }
    }
    return OK;
}

static void add_reads(sorter *s, const Onnx__NodeProto *n)
{
    GROW(s->reads, s->cap_reads, s->n_reads + n->n_input);
    for (size_t i = 0; i < n->n_input; i++)
        s->reads[s->n_reads++] = n->input[i];
    for (size_t i = 0; i < n->n_attribute; i++) {
        const Onnx__GraphProto *g = n->attribute[i]->g;
        for (size_t k = 0; g && k < g->n_node; k++)
            add_reads(s, g->node[k]);
        GROW(s->reads, s->cap_reads, s->n_reads + (g ? g->n_output : 0));
        for (size_t k = 0; g && k < g->n_output; k++)
            s->reads[s->n_reads++] = onnx_text(g->output[k]->name);
    }
}

/* The k-th value that a node reads, NULL behind the last. */
static const char *read_of(sorter *s, int32_t node, size_t k)
{
    if (s->reads_of != node) {
        s->n_reads = 0;
        s->reads_of = node;
        add_reads(s, s->nodes[node]);
    }
    return k < s->n_reads ? s->reads[k] : NULL;
}

/* Everything that `value` needs, deepest first. */
static status descend(sorter *s, const char *value, error *err)
{
    int32_t node;
    if (!*value || !names_get(&s->makers, value, &node) || s->marks[node] == DONE)
        return OK;
    s->marks[node] = OPEN;
    s->stack[s->n_stack++] = (visit){.node = node};
    while (s->n_stack) {
        visit *v = &s->stack[s->n_stack - 1];
        const char *read = read_of(s, v->node, v->next++);
        if (!read) {
            s->marks[v->node] = DONE;
            s->order[s->n_order++] = v->node;
            s->n_stack--;
            continue;
        }
        if (!*read || !names_get(&s->makers, read, &node) || s->marks[node] == DONE)
            continue;
        if (s->marks[node] == OPEN)
            return FAIL(err, E_DATA, "%s reads '%s', which depends on its own output: a cycle",
                        NODE(s->nodes[v->node]), read);
        s->marks[node] = OPEN;
        s->stack[s->n_stack++] = (visit){.node = node};
    }
    return OK;
}

static bool file_order_works(sorter *s)
{
    for (size_t i = 0; i < s->n_nodes; i++) {
        const char *read;
        int32_t maker;
        for (size_t k = 0; s->marks[i] == DONE && (read = read_of(s, (int32_t)i, k)); k++)
            if (*read && names_get(&s->makers, read, &maker) && maker >= (int32_t)i)
                return false;
    }
    return true;
}

static status sort(sorter *s, const char *const *wanted, size_t n_wanted, error *err)
{
    TRY(find_makers(s, err));
    for (size_t i = 0; i < n_wanted; i++)
        TRY(descend(s, wanted[i], err));
    if (!file_order_works(s))
        return OK;
    s->n_order = 0;
    for (size_t i = 0; i < s->n_nodes; i++)
        if (s->marks[i] == DONE)
            s->order[s->n_order++] = (int32_t)i;
    return OK;
}

status onnx_order_nodes(arena *a, Onnx__NodeProto *const *nodes, size_t n_nodes,
                        const char *const *wanted, size_t n_wanted, onnx_order *ret, error *err)
{
    sorter s = {.nodes = nodes, .n_nodes = n_nodes, .makers = NAMES_INIT, .reads_of = -1};
    s.marks = xcalloc(n_nodes + 1, sizeof *s.marks);
    s.stack = xcalloc(n_nodes + 1, sizeof *s.stack);
    s.order = arena_alloc(a, (n_nodes + 1) * sizeof *s.order);
    status st = sort(&s, wanted, n_wanted, err);
    if (st == OK)
        *ret = (onnx_order){.nodes = s.order, .n = s.n_order};
    names_fini(&s.makers);
    free(s.marks);
    free(s.stack);
    free(s.reads);
    return st;
}
