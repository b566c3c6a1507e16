/* The list of values and nodes, and what values come in by; nodes come by add.c. */
#include "graph/graph.h"

#include "graph/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 16 TB: no sum of sizes over a graph can overflow. */
#define LARGEST_TENSOR ((size_t)1 << 44)

status graph_create(graph **ret, error *err)
{
    (void)err;
    graph *g = xcalloc(1, sizeof *g);
    g->arena = arena_create();
    *ret = g;
    return OK;
}

void graph_destroy(graph **g)
{
    if (!g || !*g)
        return;
    free((*g)->values);
    free((*g)->nodes);
    free((*g)->out_shapes);
    free((*g)->out_dtypes);
    names_fini(&(*g)->value_names);
    names_fini(&(*g)->node_names);
    arena_destroy(&(*g)->arena);
    free(*g);
    *g = NULL;
}

const char *graph_shape_defect(const graph_shape *s, dtype t)
{
    if (s->rank < 0 || s->rank > GRAPH_RANK)
        return "has more than 8 axes";
    size_t bytes = dtype_bytes(t);
    for (int32_t i = 0; i < s->rank; i++) {
        if (s->dim[i] < 0)
            return "has a negative axis";
        size_t size = s->dim[i] ? (size_t)s->dim[i] : 1;
        if (!size_mul(bytes, size, &bytes) || bytes > LARGEST_TENSOR)
            return "is larger than 16 TB";
    }
    return NULL;
}

static status check_outer(const graph *g, const char *what, const char *name, dtype t,
                          const graph_shape *s, error *err)
{
    char text[SHAPE_TEXT];
    if (!name || !*name)
        return FAIL(err, E_CONFIG, "%s needs a name", what);
    if (names_get(&g->value_names, name, NULL))
        return FAIL(err, E_CONFIG, "%s '%s': the name is taken already", what, name);
    const char *defect = graph_shape_defect(s, t);
    if (defect)
        return FAIL(err, E_CONFIG, "%s '%s': the shape %s %s", what, name,
                    graph_shape_text(s, text, sizeof text), defect);
    return OK;
}

graph_val graph_append_value(graph *g, const graph_value *value)
{
    GROW(g->values, g->cap_values, g->n_values + 1);
    g->values[g->n_values] = *value;
    names_put(&g->value_names, value->name, g->n_values);
    return g->n_values++;
}

status graph_input(graph *g, const char *name, dtype t, graph_shape shape, graph_val *ret,
                   error *err)
{
    TRY(check_outer(g, "input", name, t, &shape, err));
    *ret = graph_append_value(g, &(graph_value){.name = arena_strdup(g->arena, name),
                                          .kind = VAL_INPUT,
                                          .dtype = t,
                                          .shape = shape,
                                          .def = GRAPH_NONE,
                                          .grad = GRAPH_NONE});
    return OK;
}

status graph_param(graph *g, const tensor_decl *decl, graph_val *ret, error *err)
{
    graph_shape shape = {.rank = decl->rank};
    for (int32_t i = 0; i < decl->rank && i < GRAPH_RANK; i++)
        shape.dim[i] = decl->dim[i];
    TRY(check_outer(g, "parameter", decl->name, DT_F32, &shape, err));
    tensor_decl *copy = arena_alloc(g->arena, sizeof *copy);
    *copy = *decl;
    copy->name = arena_strdup(g->arena, decl->name);
    *ret = graph_append_value(g, &(graph_value){.name = copy->name,
                                          .kind = VAL_PARAM,
                                          .dtype = DT_F32,
                                          .shape = shape,
                                          .def = GRAPH_NONE,
                                          .param = copy,
                                          .grad = GRAPH_NONE});
    return OK;
}

const char *graph_free_name(graph *g, const names *taken, const char *base, int32_t number)
{
    const char *name = base;
    while (names_get(taken, name, NULL))
        name = arena_printf(g->arena, "%s.%" PRId32, base, number++);
    return name;
}

status graph_const(graph *g, const char *name, dtype t, graph_shape shape, const void *data,
                   graph_val *ret, error *err)
{
    if (!name)
        name = graph_free_name(g, &g->value_names, "const", g->n_values);
    TRY(check_outer(g, "constant", name, t, &shape, err));
    size_t bytes = (size_t)graph_shape_elements(&shape) * dtype_bytes(t);
    void *copy = arena_alloc(g->arena, bytes);
    if (bytes)
        memcpy(copy, data, bytes);
    *ret = graph_append_value(g, &(graph_value){.name = arena_strdup(g->arena, name),
                                          .kind = VAL_CONST,
                                          .dtype = t,
                                          .shape = shape,
                                          .def = GRAPH_NONE,
                                          .data = copy,
                                          .grad = GRAPH_NONE});
    return OK;
}

void graph_keep(graph *g, graph_val v)
{
    BUG_ON(v < 0 || v >= g->n_values);
    g->values[v].keep = true;
}

/* A declaration of its own, to be changed. */
static tensor_decl *own_param(graph *g, graph_val param)
{
    BUG_ON(param < 0 || param >= g->n_values || g->values[param].kind != VAL_PARAM);
    tensor_decl *own = arena_alloc(g->arena, sizeof *own);
    *own = *g->values[param].param;
    g->values[param].param = own;
    return own;
}

void graph_freeze(graph *g, graph_val param)
{
    tensor_decl *frozen = own_param(g, param);
    frozen->kind = TENSOR_FROZEN;
    frozen->momentum = 0.0f;
    frozen->decay = false;
    frozen->group = 0;
    frozen->whole = false;
}

void graph_set_group(graph *g, graph_val param, int32_t group)
{
    own_param(g, param)->group = group;
}

void graph_keep_whole(graph *g, graph_val param)
{
    own_param(g, param)->whole = true;
}

void graph_spare_decay(graph *g, graph_val param)
{
    own_param(g, param)->decay = false;
}

status graph_rename(graph *g, graph_val v, const char *name, error *err)
{
    BUG_ON(v < 0 || v >= g->n_values);
    if (strcmp(g->values[v].name, name) == 0)
        return OK;
    if (names_get(&g->value_names, name, NULL))
        return FAIL(err, E_CONFIG, "value '%s' cannot be called '%s': the name is taken already",
                    g->values[v].name, name);
    g->values[v].name = arena_strdup(g->arena, name);
    graph_reindex(g);
    return OK;
}

int32_t graph_n_values(const graph *g)
{
    return g->n_values;
}

int32_t graph_n_nodes(const graph *g)
{
    return g->n_nodes;
}

int32_t graph_n_forward(const graph *g)
{
    return g->has_backward ? g->n_forward : g->n_nodes;
}

graph_val graph_original(const graph *g, graph_val v)
{
    return g->originals ? g->originals[v] : v;
}

const graph_value *graph_value_at(const graph *g, graph_val v)
{
    BUG_ON(v < 0 || v >= g->n_values);
    return &g->values[v];
}

const graph_node *graph_node_at(const graph *g, int32_t node)
{
    BUG_ON(node < 0 || node >= g->n_nodes);
    return &g->nodes[node];
}

int32_t graph_node_slots(const graph_node *n)
{
    int32_t most = graph_op_of(n->op)->max_in;
    return most == OP_MANY ? n->n_in : most;
}

int32_t graph_node_inplace(const graph_node *n)
{
    int traits = graph_op_of(n->op)->traits;
    if (traits & OP_INPLACE)
        return 0;
    int32_t base = graph_node_slots(n) - 1;
    return traits & OP_ADDS && n->in[base] != GRAPH_NONE ? base : GRAPH_NONE;
}

graph_val graph_find(const graph *g, const char *name)
{
    graph_val v;
    return names_get(&g->value_names, name, &v) ? v : GRAPH_NONE;
}

arena *graph_arena(graph *g)
{
    return g->arena;
}

int64_t graph_shape_elements(const graph_shape *s)
{
    int64_t n = 1;
    for (int32_t i = 0; i < s->rank; i++)
        n *= s->dim[i];
    return n;
}

bool graph_shape_equal(const graph_shape *a, const graph_shape *b)
{
    if (a->rank != b->rank)
        return false;
    for (int32_t i = 0; i < a->rank; i++) {
        if (a->dim[i] != b->dim[i])
            return false;
    }
    return true;
}

const char *graph_shape_text(const graph_shape *s, char *buffer, size_t bytes)
{
    BUG_ON(bytes == 0);
    size_t at = 0;
    buffer[0] = '\0';
    for (int32_t i = -1; i <= s->rank && at < bytes; i++) {
        int n;
        if (i < 0)
            n = snprintf(buffer + at, bytes - at, "[");
        else if (i == s->rank || i == GRAPH_RANK)
            n = snprintf(buffer + at, bytes - at, "]");
        else
            n = snprintf(buffer + at, bytes - at, "%s%" PRId64, i ? "," : "", s->dim[i]);
        at += (size_t)n;
        if (i == GRAPH_RANK)
            break;
    }
    return buffer;
}

int32_t graph_n_params(const graph *g)
{
    int32_t n = 0;
    for (int32_t v = 0; v < g->n_values; v++)
        n += g->values[v].kind == VAL_PARAM;
    return n;
}

typedef struct param_key {
    bool frozen;
    int32_t ready; /* node that makes the gradient */
    graph_val v;   /* creation */
} param_key;

static int compare_keys(const void *left, const void *right)
{
    const param_key *a = left, *b = right;
    if (a->frozen != b->frozen)
        return a->frozen ? 1 : -1;
    if (a->ready != b->ready)
        return a->ready < b->ready ? -1 : 1;
    return a->v < b->v ? -1 : a->v > b->v;
}

void graph_param_order(const graph *g, graph_val *ret)
{
    int32_t n = graph_n_params(g), at = 0;
    param_key *keys = xcalloc((size_t)n, sizeof *keys);
    for (int32_t v = 0; v < g->n_values; v++) {
        const graph_value *value = &g->values[v];
        if (value->kind != VAL_PARAM)
            continue;
        bool made = value->grad != GRAPH_NONE;
        keys[at++] = (param_key){.frozen = value->param->kind == TENSOR_FROZEN,
                                 .ready = made ? g->values[value->grad].def : 0,
                                 .v = v};
    }
    qsort(keys, (size_t)n, sizeof *keys, compare_keys);
    for (int32_t i = 0; i < n; i++)
        ret[i] = keys[i].v;
    free(keys);
}

void graph_append_node(graph *g, const graph_node *n)
{
    GROW(g->nodes, g->cap_nodes, g->n_nodes + 1);
    for (int32_t k = 0; k < n->n_out; k++) {
        if (n->out[k] != GRAPH_NONE)
            g->values[n->out[k]].def = g->n_nodes;
    }
    g->nodes[g->n_nodes++] = *n;
}

void graph_reindex(graph *g)
{
    names_clear(&g->value_names);
    names_clear(&g->node_names);
    for (int32_t i = 0; i < g->n_values; i++)
        names_put(&g->value_names, g->values[i].name, i);
    for (int32_t i = 0; i < g->n_nodes; i++)
        names_put(&g->node_names, g->nodes[i].name, i);
}

double graph_node_flops(const graph *g, int32_t node)
{
    const graph_node *n = graph_node_at(g, node);
    return graph_op_of(n->op)->flops ? graph_op_of(n->op)->flops(g, n) : 0;
}

double graph_flops(const graph *g)
{
    double sum = 0;
    for (int32_t i = 0; i < graph_n_nodes(g); i++)
        sum += graph_node_flops(g, i);
    return sum;
}
