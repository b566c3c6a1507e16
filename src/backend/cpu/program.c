#include "backend/cpu/program.h"

#include "backend/cpu/team.h"
#include "common/base/alloc.h"

#include <string.h>

const graph_value *node_in(const cpu_node *n, int i)
{
    if (i >= n->node->n_in || n->node->in[i] == GRAPH_NONE)
        return NULL;
    return graph_value_at(n->program->g, n->node->in[i]);
}

const graph_value *node_out(const cpu_node *n, int i)
{
    if (i >= n->node->n_out || n->node->out[i] == GRAPH_NONE)
        return NULL;
    return graph_value_at(n->program->g, n->node->out[i]);
}

void *node_alloc(const cpu_node *n, size_t bytes)
{
    return arena_alloc(n->program->arena, bytes);
}

void *node_runs(cpu_node *n, cpu_kernel kernel, size_t state_bytes)
{
    void *state = node_alloc(n, state_bytes);
    n->kernel = kernel;
    n->state = state;
    return state;
}

/* A scalar is a row of one. */
static const graph_shape *at_least_one_axis(const graph_shape *s)
{
    static const graph_shape one = {.rank = 1, .dim = {1}};
    return s->rank > 0 ? s : &one;
}

status layout_plain(backend_program *p, const graph_shape *s, const shim_layout **ret, error *err)
{
    const graph_shape *t = at_least_one_axis(s);
    return shim_plain(p->shim, t->rank, t->dim, ret, err);
}

status layout_any(backend_program *p, const graph_shape *s, const shim_layout **ret, error *err)
{
    const graph_shape *t = at_least_one_axis(s);
    return shim_any(p->shim, t->rank, t->dim, ret, err);
}

factor_form node_factor_form(const cpu_node *n, int i)
{
    return factor_form_of(node_in(n, i)->dtype);
}

size_t node_element_bytes(const cpu_node *n, int i)
{
    dtype type = node_in(n, i)->dtype;
    return type == DT_BF16 ? factor_bytes(factor_form_of(type)) : dtype_bytes(type);
}

/* `l` of the type in which v lies, float32 or bfloat16 */
static status layout_for(const backend_program *p, const graph_value *v, const shim_layout *l,
                         const shim_layout **ret, error *err)
{
    if (factor_form_of(v->dtype) == FACTOR_BF16)
        return shim_layout_in_bf16(p->shim, l, ret, err);
    return shim_layout_in_f32(p->shim, l, ret, err);
}

status layout_plain_of(backend_program *p, const graph_value *v, const shim_layout **ret,
                       error *err)
{
    const shim_layout *plain;
    TRY(layout_plain(p, &v->shape, &plain, err));
    return layout_for(p, v, plain, ret, err);
}

static const shim_layout *in_layout(const backend_program *p, const cpu_node *n, int i)
{
    return node_in(n, i) ? p->layout[n->node->in[i]] : NULL;
}

static bool is_blocked(const shim_layout *l)
{
    return l && !shim_layout_is_plain(l);
}

status node_follow(backend_program *p, cpu_node *n, int n_in, bool zero_stays,
                   int64_t *ret_elements, error *err)
{
    const shim_layout *chosen = NULL;
    for (int i = 0; i < n_in && !chosen; i++) {
        const shim_layout *l = in_layout(p, n, i);
        if (is_blocked(l) && (zero_stays || !shim_layout_is_padded(l)))
            chosen = l;
    }
    if (!chosen)
        TRY(layout_plain(p, &node_in(n, 0)->shape, &chosen, err));
    TRY(shim_layout_in_f32(p->shim, chosen, &chosen, err));
    for (int i = 0; i < n_in; i++)
        TRY(layout_for(p, node_in(n, i), chosen, &n->in[i].want, err));
    TRY(layout_for(p, node_out(n, 0), chosen, &n->out[0].want, err));
    *ret_elements = (int64_t)(shim_layout_bytes(chosen) / sizeof(float));
    return OK;
}

const shim_layout *node_wished_layout(const backend_program *p, graph_val v)
{
    const graph_shape *shape = &graph_value_at(p->g, v)->shape;
    int32_t n_nodes = graph_n_nodes(p->g);
    for (int32_t i = graph_value_at(p->g, v)->def + 1; i < n_nodes; i++) {
        const graph_node *reader = graph_node_at(p->g, i);
        bool reads = false;
        for (int k = 0; k < reader->n_in; k++)
            reads |= reader->in[k] == v;
        for (int k = 0; reads && k < reader->n_in; k++) {
            graph_val beside = reader->in[k];
            if (beside != GRAPH_NONE && beside != v && is_blocked(p->layout[beside]) &&
                graph_shape_equal(&graph_value_at(p->g, beside)->shape, shape))
                return p->layout[beside];
        }
    }
    return NULL;
}

/* What the bytes of a value are for the body: its own layout, or plain under another shape. */
static const shim_layout *seen_as(const cpu_edge *e, const shim_layout *own)
{
    return e->view && own && shim_layout_is_plain(own) ? e->view : own;
}

/* Room for `bytes` in the node's workspace. */
static size_t take_workspace(cpu_node *n, size_t bytes)
{
    size_t offset = n->workspace_bytes;
    n->workspace_bytes += size_round_up(bytes, MEM_ALIGN);
    return offset;
}

bool node_is_laid_out(const graph_value *v)
{
    return v && (v->dtype == DT_F32 || v->dtype == DT_BF16) && graph_shape_elements(&v->shape) > 0;
}

static status finish_in(backend_program *p, cpu_node *n, int i, error *err)
{
    cpu_edge *e = &n->in[i];
    const graph_value *v = node_in(n, i);
    if (!node_is_laid_out(v))
        return OK;
    const shim_layout *own = p->layout[n->node->in[i]];
    if (!e->want)
        TRY(layout_plain_of(p, v, &e->want, err));
    const shim_layout *seen = seen_as(e, own);
    if (shim_layout_same(seen, e->want))
        return OK;
    e->bytes = shim_layout_bytes(e->want);
    e->offset = take_workspace(n, e->bytes);
    return shim_reorder(p->shim, seen, e->want, &e->reorder, err);
}

static status finish_out(backend_program *p, cpu_node *n, int i, error *err)
{
    cpu_edge *e = &n->out[i];
    const graph_value *v = node_out(n, i);
    if (!node_is_laid_out(v))
        return OK;
    graph_val id = n->node->out[i];
    const shim_layout *plain;
    TRY(layout_plain_of(p, v, &plain, err));
    if (!e->want)
        e->want = plain;
    bool plain_wanted = p->must_be_plain[id] || e->view;
    if (!plain_wanted || shim_layout_same(e->want, e->view ? e->view : plain)) {
        p->layout[id] = e->view ? plain : e->want;
        p->bytes[id] = shim_layout_bytes(p->layout[id]);
        return OK;
    }
    p->layout[id] = plain;
    p->bytes[id] = shim_layout_bytes(plain);
    e->bytes = shim_layout_bytes(e->want);
    e->offset = take_workspace(n, e->bytes);
    return shim_reorder(p->shim, e->want, e->view ? e->view : plain, &e->reorder, err);
}

status node_finish(backend_program *p, cpu_node *n, error *err)
{
    n->workspace_bytes = size_round_up(n->scratch_bytes, MEM_ALIGN);
    for (int i = 0; i < n->node->n_in; i++)
        TRY(finish_in(p, n, i, err));
    for (int i = 0; i < n->node->n_out; i++)
        TRY(finish_out(p, n, i, err));
    /* Over its own input the body must find the layout it writes, not a smaller one. */
    int32_t slot = graph_node_inplace(n->node);
    if (slot != GRAPH_NONE && (n->in[slot].reorder || n->out[0].reorder))
        n->takes_inplace = false;
    return OK;
}

status node_execute(shim_primitive *primitive, void *scratch, error *err)
{
    TRY(shim_set(primitive, SHIM_SCRATCH, scratch, err));
    return shim_execute(primitive, err);
}

void node_copy_apart(const cpu_node *n, const cpu_call *c)
{
    if (c->in[0] == c->out[0])
        return;
    const shim_layout *l = n->out[0].want;
    team_copy(c->out[0], c->in[0], l ? shim_layout_bytes(l) : n->program->bytes[n->node->out[0]]);
}

bool node_begin_sum(const cpu_node *n, const cpu_call *c)
{
    int32_t base = graph_node_inplace(n->node);
    size_t bytes = n->program->bytes[n->node->out[0]];
    if (base == GRAPH_NONE)
        return false;
    if (c->in[base] != c->out[0])
        team_copy(c->out[0], c->in[base], bytes);
    return true;
}

status node_reorder(shim_primitive *reorder, const void *from, void *to, error *err)
{
    TRY(shim_set(reorder, SHIM_SRC, from, err));
    TRY(shim_set(reorder, SHIM_DST, to, err));
    return shim_execute(reorder, err);
}

status node_run(void *state, void *const *addresses, void *workspace, error *err)
{
    cpu_node *n = state;
    cpu_call *c = &n->call;
    c->scratch = workspace;
    if (team_size() != n->program->backend->threads)
        team_set(n->program->backend->threads);
    for (int i = 0; i < n->node->n_in; i++) {
        graph_val v = n->node->in[i];
        c->in[i] = v == GRAPH_NONE ? NULL : addresses[v];
        if (n->in[i].reorder) {
            void *copy = (char *)workspace + n->in[i].offset;
            TRY(node_reorder(n->in[i].reorder, c->in[i], copy, err));
            c->in[i] = copy;
        }
    }
    for (int i = 0; i < n->node->n_out; i++) {
        graph_val v = n->node->out[i];
        c->out[i] = v == GRAPH_NONE     ? NULL
                    : n->out[i].reorder ? (char *)workspace + n->out[i].offset
                                        : addresses[v];
    }
    if (n->kernel)
        n->kernel(n, c);
    else
        TRY(n->body(n, c, err));
    for (int i = 0; i < n->node->n_out; i++)
        if (n->out[i].reorder)
            TRY(node_reorder(n->out[i].reorder, c->out[i], addresses[n->node->out[i]], err));
    return OK;
}
