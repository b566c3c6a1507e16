#include "onnx/rewrite.h"

#include "common/base/detmath.h"
#include "graph/attrs.h"
#include "onnx/fuse/fuse.h"

#include <stdlib.h>
#include <string.h>

/* --- the head --- */

static bool is_transposed(const transpose_attr *t)
{
    return t->reverse || t->perm[0] == 1;
}

/* A parameter, maybe a matrix that is transposed: *axis then counts in the parameter. */
static graph_val param_behind(const graph *g, graph_val v, int32_t *axis)
{
    const graph_value *value = graph_value_at(g, v);
    if (value->kind == VAL_PARAM)
        return v;
    const graph_node *n = value->kind == VAL_TEMP ? graph_node_at(g, value->def) : NULL;
    if (!n || n->op != OP_TRANSPOSE || value->shape.rank != 2)
        return GRAPH_NONE;
    *axis = is_transposed(n->attr) ? 1 - *axis : *axis;
    v = n->in[0];
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

static int32_t readers_of(const graph *g, graph_val v)
{
    int32_t n = 0;
    for (int32_t i = 0; i < graph_n_nodes(g); i++)
        for (int32_t k = 0; k < graph_node_at(g, i)->n_in; k++)
            n += graph_node_at(g, i)->in[k] == v;
    return n;
}

/* A tied weight cannot be another one here and stay the same there. */
static status check_readers(const graph *g, const graph_node *n, const rewrite_head *head,
                            error *err)
{
    const graph_val own[] = {head->weight, head->bias, n->in[1]};
    for (size_t i = 0; i < COUNT_OF(own); i++)
        if (own[i] != GRAPH_NONE && readers_of(g, own[i]) > 1)
            return FAIL(err, E_UNSUPPORTED,
                        "model.replace_head: '%s' of the last linear layer is read elsewhere too "
                        "(tied weights); export the model with a head of its own",
                        graph_value_at(g, own[i])->name);
    return OK;
}

status rewrite_find_head(const graph *g, graph_val output, int64_t features, rewrite_head *ret,
                         error *err)
{
    rewrite_head head = {.weight = GRAPH_NONE, .bias = GRAPH_NONE, .features = features};
    graph_val v = output;
    while (v != GRAPH_NONE && graph_value_at(g, v)->kind == VAL_TEMP) {
        const graph_node *n = graph_node_at(g, graph_value_at(g, v)->def);
        if ((n->op == OP_GEMM || n->op == OP_MATMUL) && take_linear(g, n, &head)) {
            TRY(check_readers(g, n, &head, err));
            *ret = head;
            return OK;
        }
        v = step_back(g, n, &head);
    }
    return FAIL(
        err, E_UNSUPPORTED,
        "model.replace_head: there is no linear layer right before the output '%s' that could be "
        "replaced",
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

/*
 * What is copied, and what becomes of each node. Linear layers work on matrices. What they give for
 * a value of more axes stays one, `rows`, for as long as others can work on it too; to_of then gets
 * its shape back when somebody asks for it.
 */
typedef struct copying {
    const graph *from;
    const rewrite_head *head;
    fusion *fusions; /* [nodes] */
    bool *live;      /* [values] */
    graph *to;
    graph_val *to_of;
    graph_val *rows; /* [values] as [a b ..., n]; GRAPH_NONE: not there */
} copying;

/* What stands for a node. */
typedef struct step {
    graph_op op;
    const graph_val *in; /* values of `from` */
    int32_t n_in;
    const void *attr;
    const fusion *fused; /* NULL: the node itself */
} step;

static step step_of(const copying *c, int32_t node)
{
    const graph_node *n = graph_node_at(c->from, node);
    const fusion *f = &c->fusions[node];
    if (f->matched)
        return (step){f->op, f->in, f->n_in, &f->attr, f};
    return (step){n->op, n->in, n->n_in, n->attr, NULL};
}

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
        step s = step_of(c, i);
        for (int32_t k = 0; is_live(c, n) && k < s.n_in; k++) {
            if (s.in[k] != GRAPH_NONE)
                c->live[s.in[k]] = true;
            if (s.fused && s.fused->adds[k])
                c->live[s.fused->addend[k]] = true;
        }
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
    static const char *const taken[] = {"logits", "prediction", "probability", "loss", "slot.weight",
                                        "accuracy.right", "accuracy.counted"};
    bool is_taken = graph_find(to, name) != GRAPH_NONE;
    for (size_t i = 0; i < COUNT_OF(taken); i++)
        is_taken |= strcmp(name, taken[i]) == 0;
    return is_taken ? arena_printf(graph_arena(to), "onnx:%s", name) : name;
}

/* The copy of a value, in its shape. */
static status whole(copying *c, graph_val v, graph_val *ret, error *err)
{
    if (v != GRAPH_NONE && c->to_of[v] == GRAPH_NONE && c->rows[v] != GRAPH_NONE) {
        const graph_value *value = graph_value_at(c->from, v);
        shape_attr attr = {.shape = value->shape};
        attr.shape.dim[value->shape.rank - 1] = graph_value_at(c->to, c->rows[v])->shape.dim[1];
        TRY(graph_add_1(c->to, OP_RESHAPE, free_name(c->to, value->name), &c->rows[v], 1, &attr,
                        &c->to_of[v], err));
    }
    *ret = v == GRAPH_NONE ? GRAPH_NONE : c->to_of[v];
    return OK;
}

/* The copy of a value, [a, b, ..., n] as [a b ..., n]. */
static status as_rows(copying *c, graph_val v, graph_val *ret, error *err)
{
    if (c->rows[v] == GRAPH_NONE) {
        TRY(whole(c, v, ret, err));
        graph_shape s = graph_value_at(c->to, *ret)->shape;
        s.rank--;
        shape_attr attr = {.shape = {2, {graph_shape_elements(&s), s.dim[s.rank]}}};
        TRY(graph_add_1(c->to, OP_RESHAPE, NULL, ret, 1, &attr, &c->rows[v], err));
    }
    *ret = c->rows[v];
    return OK;
}

/* How many inputs, from 0 on, become matrices, as the output does: that of a linear layer; and
 * those of an operator that treats all rows alike, if one of them is a matrix already. */
static int32_t n_as_rows(const copying *c, const graph_node *n, const step *s)
{
    const graph_shape *y = &graph_value_at(c->from, n->out[0])->shape;
    bool is_matrix = false;
    if (s->fused && s->fused->as_rows)
        return 1;
    for (int32_t k = 1; k < n->n_out; k++)
        if (n->out[k] != GRAPH_NONE && c->live[n->out[k]])
            return 0;
    bool is_norm =
        s->op == OP_LAYER_NORMALIZATION && ((const row_norm_attr *)s->attr)->axis == y->rank - 1;
    bool is_each = s->op == OP_GELU || s->op == OP_RELU || s->op == OP_TANH || s->op == OP_DROPOUT;
    int32_t n_in = s->op == OP_ADD ? 2 : is_norm || is_each ? 1 : 0;
    for (int32_t k = 0; k < n_in; k++) {
        if (!graph_shape_equal(&graph_value_at(c->from, s->in[k])->shape, y))
            return 0;
        is_matrix |= c->rows[s->in[k]] != GRAPH_NONE;
    }
    return is_matrix ? n_in : 0;
}

static status copy_input(copying *c, const step *s, int32_t k, bool by_rows, graph_val *ret,
                         error *err)
{
    TRY(by_rows ? as_rows(c, s->in[k], ret, err) : whole(c, s->in[k], ret, err));
    if (s->fused && s->fused->transposes[k])
        TRY(graph_add_1(c->to, OP_TRANSPOSE, NULL, ret, 1, &s->fused->transposed[k], ret, err));
    if (s->fused && s->fused->negates[k])
        TRY(graph_add_1(c->to, OP_NOT, NULL, ret, 1, NULL, ret, err));
    if (s->fused && s->fused->adds[k]) {
        graph_val both[2] = {*ret};
        TRY(whole(c, s->fused->addend[k], &both[1], err));
        TRY(graph_add_1(c->to, OP_ADD, NULL, both, 2, NULL, ret, err));
    }
    return OK;
}

static status add_step(copying *c, const graph_node *n, const step *s, graph_val *in,
                       graph_val *out, error *err)
{
    int32_t n_rows = n_as_rows(c, n, s);
    row_norm_attr norm;
    const void *attr = s->attr;
    for (int32_t k = 0; k < s->n_in; k++)
        TRY(copy_input(c, s, k, k < n_rows, &in[k], err));
    if (n_rows && s->op == OP_LAYER_NORMALIZATION) {
        norm = *(const row_norm_attr *)attr;
        norm.axis = -1;
        attr = &norm;
    }
    TRY(graph_add(c->to, s->op, n_rows ? NULL : free_name(c->to, n->name), in, s->n_in, attr, out,
                  err));
    for (int32_t k = 0; k < (s->fused || n_rows ? 1 : n->n_out); k++)
        if (n->out[k] != GRAPH_NONE)
            *(n_rows ? &c->rows[n->out[k]] : &c->to_of[n->out[k]]) = out[k];
    return OK;
}

static status copy_node(copying *c, int32_t node, error *err)
{
    const graph_node *n = graph_node_at(c->from, node);
    step s = step_of(c, node);
    int32_t n_out = graph_op_of(s.op)->n_out;
    graph_val *in = xcalloc((size_t)s.n_in + 1, sizeof *in);
    graph_val *out = xcalloc((size_t)n_out + 1, sizeof *out);
    status st = add_step(c, n, &s, in, out, err);
    free(in);
    free(out);
    return st;
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
    for (int32_t i = 0; i < graph_n_nodes(c->from); i++)
        if (is_live(c, graph_node_at(c->from, i)))
            TRY(copy_node(c, i, err));
    return OK;
}

static status copy_all(copying *c, const graph_val *outputs, size_t n_outputs, error *err)
{
    graph_val ignored;
    TRY(copy_live(c, err));
    for (size_t i = 0; i < n_outputs; i++)
        TRY(whole(c, outputs[i], &ignored, err));
    return OK;
}

status rewrite_copy(const graph *from, const graph_val *outputs, size_t n_outputs,
                    const rewrite_head *head, graph *to, graph_val *to_of, error *err)
{
    copying c = {.from = from, .head = head, .to = to, .to_of = to_of};
    c.live = xcalloc((size_t)graph_n_values(from) + 1, sizeof *c.live);
    c.fusions = xcalloc((size_t)graph_n_nodes(from) + 1, sizeof *c.fusions);
    c.rows = xcalloc((size_t)graph_n_values(from) + 1, sizeof *c.rows);
    memset(c.rows, 0xff, (size_t)graph_n_values(from) * sizeof *c.rows);
    find_fusions(&c, outputs, n_outputs);
    mark_live(&c, outputs, n_outputs);
    status st = copy_all(&c, outputs, n_outputs, err);
    free(c.live);
    free(c.fusions);
    free(c.rows);
    return st;
}
