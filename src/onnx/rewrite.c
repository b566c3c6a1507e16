#include "onnx/rewrite.h"

#include "common/base/detmath.h"
#include "graph/attrs.h"
#include "onnx/fuse/fuse.h"

#include <stdlib.h>
#include <string.h>

/* --- the head --- */

/* A parameter, maybe transposed: *axis then counts in the parameter. */
static graph_val param_behind(const graph *g, graph_val v, int32_t *axis)
{
    const graph_value *value = graph_value_at(g, v);
    if (value->kind == VAL_PARAM)
        return v;
    if (value->kind != VAL_TEMP || graph_node_at(g, value->def)->op != OP_TRANSPOSE)
        return GRAPH_NONE;
    *axis = 1 - *axis;
    v = graph_node_at(g, value->def)->in[0];
    return graph_value_at(g, v)->kind == VAL_PARAM ? v : GRAPH_NONE;
}

static bool take_linear(const graph *g, const graph_node *n, rewrite_head *head)
{
    bool is_gemm = n->op == OP_GEMM;
    head->axis = is_gemm && ((const gemm_attr *)n->attr)->trans_b ? 0 : 1;
    head->weight = param_behind(g, n->in[1], &head->axis);
    if (is_gemm && n->n_in > 2 && n->in[2] != GRAPH_NONE &&
        graph_value_at(g, n->in[2])->kind == VAL_PARAM)
        head->bias = n->in[2];
    return head->weight != GRAPH_NONE && graph_value_at(g, head->weight)->shape.rank == 2;
}

/* The value that a step back from the output leads to, or GRAPH_NONE. */
static graph_val step_back(const graph *g, const graph_node *n, rewrite_head *head)
{
    if (n->op == OP_ADD) {
        for (int32_t k = 0; k < 2; k++)
            if (graph_value_at(g, n->in[k])->kind == VAL_PARAM && head->bias == GRAPH_NONE) {
                head->bias = n->in[k];
                return n->in[1 - k];
            }
        return GRAPH_NONE;
    }
    return n->n_in == 1 ? n->in[0] : GRAPH_NONE;
}

status rewrite_find_head(const graph *g, graph_val output, int64_t features, rewrite_head *ret,
                         error *err)
{
    rewrite_head head = {.weight = GRAPH_NONE, .bias = GRAPH_NONE, .features = features};
    graph_val v = output;
    while (v != GRAPH_NONE && graph_value_at(g, v)->kind == VAL_TEMP) {
        const graph_node *n = graph_node_at(g, graph_value_at(g, v)->def);
        if ((n->op == OP_GEMM || n->op == OP_MATMUL) && take_linear(g, n, &head)) {
            *ret = head;
            return OK;
        }
        v = step_back(g, n, &head);
    }
    return FAIL(
        err, E_UNSUPPORTED,
        "there is no linear layer right before the output '%s' whose head could be replaced",
        graph_value_at(g, output)->name);
}

static void head_declare(const rewrite_head *head, graph_val v, tensor_decl *d)
{
    const bool is_weight = v == head->weight;
    d->dim[is_weight ? head->axis : d->rank - 1] = head->features;
    d->init = (init_rule){.kind = INIT_CONSTANT};
    if (is_weight) {
        float bound = (float)(1.0 / det_sqrt((double)d->dim[1 - head->axis]));
        d->init = (init_rule){.kind = INIT_UNIFORM, .a = -bound, .b = bound};
    }
}

/* --- the copy --- */

/* What is copied, and what becomes of each node. */
typedef struct copying {
    const graph *from;
    const rewrite_head *head;
    fusion *fusions; /* [nodes] */
    bool *live;      /* [values] */
    graph *to;
    graph_val *to_of;
} copying;

static void find_fusions(copying *c, const graph_val *outputs, size_t n_outputs)
{
    const graph *g = c->from;
    int32_t *readers = xcalloc((size_t)graph_n_values(g) + 1, sizeof *readers);
    for (size_t i = 0; i < n_outputs; i++)
        readers[outputs[i]]++;
    for (int32_t i = 0; i < graph_n_nodes(g); i++) {
        const graph_node *n = graph_node_at(g, i);
        for (int32_t k = 0; k < n->n_in; k++)
            if (n->in[k] != GRAPH_NONE)
                readers[n->in[k]]++;
    }
    fuser f = {.g = g, .readers = readers};
    for (int32_t i = 0; i < graph_n_nodes(g); i++)
        fuse_node(&f, graph_node_at(g, i), &c->fusions[i]);
    free(readers);
}

static bool is_live(const copying *c, const graph_node *n)
{
    for (int32_t k = 0; k < n->n_out; k++)
        if (n->out[k] != GRAPH_NONE && c->live[n->out[k]])
            return true;
    return false;
}

static void mark_live(copying *c, const graph_val *outputs, size_t n_outputs)
{
    for (size_t i = 0; i < n_outputs; i++)
        c->live[outputs[i]] = true;
    for (int32_t i = graph_n_nodes(c->from); i-- > 0;) {
        const graph_node *n = graph_node_at(c->from, i);
        const fusion *f = &c->fusions[i];
        const graph_val *in = f->matched ? f->in : n->in;
        int32_t n_in = f->matched ? f->n_in : n->n_in;
        for (int32_t k = 0; is_live(c, n) && k < n_in; k++)
            if (in[k] != GRAPH_NONE)
                c->live[in[k]] = true;
    }
}

static status copy_param(const graph_value *value, graph_val v, const rewrite_head *head, graph *to,
                         graph_val *ret, error *err)
{
    tensor_decl decl = *value->param;
    if (head->weight != GRAPH_NONE && (v == head->weight || v == head->bias))
        head_declare(head, v, &decl);
    return graph_param(to, &decl, ret, err);
}

static status copy_outer(copying *c, graph_val v, error *err)
{
    const graph_value *value = graph_value_at(c->from, v);
    if (value->kind == VAL_PARAM)
        return copy_param(value, v, c->head, c->to, &c->to_of[v], err);
    if (value->kind == VAL_CONST)
        return graph_const(c->to, NULL, value->dtype, value->shape, value->data, &c->to_of[v], err);
    return OK; /* inputs are there already */
}

/* Names that a model's own values have (model.h), or inputs: the file's are called differently. */
static const char *free_name(graph *to, const char *name)
{
    static const char *const taken[] = {"logits", "loss", "slot.weight", "accuracy.right",
                                        "accuracy.counted"};
    bool is_taken = graph_find(to, name) != GRAPH_NONE;
    for (size_t i = 0; i < COUNT_OF(taken); i++)
        is_taken |= strcmp(name, taken[i]) == 0;
    return is_taken ? arena_printf(graph_arena(to), "onnx:%s", name) : name;
}

static status copy_node(copying *c, const graph_node *n, error *err)
{
    graph_val *in = xcalloc((size_t)n->n_in + 1, sizeof *in);
    graph_val *out = xcalloc((size_t)n->n_out + 1, sizeof *out);
    for (int32_t k = 0; k < n->n_in; k++)
        in[k] = n->in[k] == GRAPH_NONE ? GRAPH_NONE : c->to_of[n->in[k]];
    status st = graph_add(c->to, n->op, free_name(c->to, n->name), in, n->n_in, n->attr, out, err);
    for (int32_t k = 0; st == OK && k < n->n_out; k++)
        if (n->out[k] != GRAPH_NONE)
            c->to_of[n->out[k]] = out[k];
    free(in);
    free(out);
    return st;
}

/* [a, b, ..., n] as [a b ..., n] */
static status as_rows(graph *g, graph_val v, graph_val *ret, error *err)
{
    graph_shape s = graph_value_at(g, v)->shape;
    s.rank--;
    graph_shape rows = {.rank = 2, .dim = {graph_shape_elements(&s), s.dim[s.rank]}};
    return graph_add_1(g, OP_RESHAPE, NULL, &v, 1, &(shape_attr){.shape = rows}, ret, err);
}

/* Back to the shape of input 0 before, but for the last axis. */
static status from_rows(graph *g, graph_val v, const graph_shape *before, const char *name,
                        graph_val *ret, error *err)
{
    graph_shape s = *before;
    s.dim[s.rank - 1] = graph_value_at(g, v)->shape.dim[1];
    return graph_add_1(g, OP_RESHAPE, name, &v, 1, &(shape_attr){.shape = s}, ret, err);
}

static status copy_fusion(copying *c, const graph_node *n, const fusion *f, error *err)
{
    graph_val in[FUSED_IN], out[4];
    const char *name = free_name(c->to, n->name);
    BUG_ON(graph_op_of(f->op)->n_out > (int32_t)COUNT_OF(out));
    for (int32_t k = 0; k < f->n_in; k++) {
        in[k] = f->in[k] == GRAPH_NONE ? GRAPH_NONE : c->to_of[f->in[k]];
        if (f->turns[k])
            TRY(graph_add_1(c->to, OP_TRANSPOSE, NULL, &in[k], 1, &f->turned[k], &in[k], err));
    }
    graph_shape before = graph_value_at(c->to, in[0])->shape;
    if (f->as_rows)
        TRY(as_rows(c->to, in[0], &in[0], err));
    TRY(graph_add(c->to, f->op, f->as_rows ? NULL : name, in, f->n_in, &f->attr, out, err));
    if (f->as_rows)
        TRY(from_rows(c->to, out[0], &before, name, &out[0], err));
    c->to_of[n->out[0]] = out[0];
    return OK;
}

/* Values that no node makes come first, in their order, so that the order of weights stays. */
static status copy_live(copying *c, error *err)
{
    for (graph_val v = 0; v < graph_n_values(c->from); v++) {
        const graph_value *value = graph_value_at(c->from, v);
        bool state = value->kind == VAL_PARAM && value->param->kind == TENSOR_STATE;
        if (value->kind != VAL_TEMP && (c->live[v] || state))
            TRY(copy_outer(c, v, err));
    }
    for (int32_t i = 0; i < graph_n_nodes(c->from); i++) {
        const graph_node *n = graph_node_at(c->from, i);
        if (is_live(c, n))
            TRY(c->fusions[i].matched ? copy_fusion(c, n, &c->fusions[i], err)
                                      : copy_node(c, n, err));
    }
    return OK;
}

status rewrite_copy(const graph *from, const graph_val *outputs, size_t n_outputs,
                    const rewrite_head *head, graph *to, graph_val *to_of, error *err)
{
    copying c = {.from = from, .head = head, .to = to, .to_of = to_of};
    c.live = xcalloc((size_t)graph_n_values(from) + 1, sizeof *c.live);
    c.fusions = xcalloc((size_t)graph_n_nodes(from) + 1, sizeof *c.fusions);
    find_fusions(&c, outputs, n_outputs);
    mark_live(&c, outputs, n_outputs);
    status st = copy_live(&c, err);
    free(c.live);
    free(c.fusions);
    return st;
}
