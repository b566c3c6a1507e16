#include "unit/exec/support_paper.h"

#include <stdio.h>
#include <stdlib.h>

struct backend {
    int threads;
};

typedef struct paper_kernel {
    const graph *g;
    int32_t node;
} paper_kernel;

struct backend_program {
    const graph *g;
    paper_kernel *kernels;
};

paper_control paper;

void paper_reset(void)
{
    paper = (paper_control){.prepare_fails = PAPER_NEVER, .run_fails = PAPER_NEVER};
}

static status paper_open(const backend_options *options, backend **ret, error *err)
{
    if (paper.open_fails)
        return FAIL(err, E_DEVICE, "no paper left");
    backend *b = xcalloc(1, sizeof *b);
    b->threads = options->threads;
    paper.n_open++;
    *ret = b;
    return OK;
}

static void paper_close(backend **b)
{
    paper.n_open--;
    free(*b);
    *b = NULL;
}

static status paper_load(backend *b, const graph *g, backend_program **ret, error *err)
{
    (void)b;
    if (paper.load_fails)
        return FAIL(err, E_UNSUPPORTED, "cannot be written down");
    backend_program *p = xcalloc(1, sizeof *p);
    p->g = g;
    p->kernels = xcalloc((size_t)graph_n_nodes(g) + 1, sizeof *p->kernels);
    paper.n_open++;
    *ret = p;
    return OK;
}

static void paper_unload(backend_program **p)
{
    paper.n_open--;
    free((*p)->kernels);
    free(*p);
    *p = NULL;
}

static size_t paper_value_bytes(const backend_program *p, graph_val v)
{
    const graph_value *value = graph_value_at(p->g, v);
    return (size_t)graph_shape_elements(&value->shape) * dtype_bytes(value->dtype);
}

static bool paper_yes(const backend_program *p, int32_t node)
{
    (void)p, (void)node;
    return true;
}

static status paper_run(void *state, void *const *addresses, void *workspace, error *err)
{
    const paper_kernel *k = state;
    const graph_node *node = graph_node_at(k->g, k->node);
    if (paper.run_fails == k->node)
        return FAIL(err, E_DEVICE, "the pen is dry");
    if (paper.ran)
        paper.ran(paper.user, k->node, addresses, workspace);
    for (int32_t i = 0; i < node->n_out; i++) {
        const graph_value *value =
            node->out[i] == GRAPH_NONE ? NULL : graph_value_at(k->g, node->out[i]);
        if (!value || value->dtype != DT_F32)
            continue;
        float *to = addresses[node->out[i]];
        for (int64_t j = 0; j < graph_shape_elements(&value->shape); j++)
            to[j] = (float)(k->node + 1);
    }
    return OK;
}

static status paper_prepare(backend_program *p, int32_t node, backend_kernel *ret, error *err)
{
    if (paper.prepare_fails == node)
        return FAIL(err, E_UNSUPPORTED, "no such word");
    p->kernels[node] = (paper_kernel){p->g, node};
    *ret = (backend_kernel){
        .run = paper_run,
        .state = &p->kernels[node],
        .workspace_bytes = node == 1 ? PAPER_WORKSPACE : 0,
    };
    return OK;
}

static void paper_fingerprint(const backend *b, char *ret, size_t bytes)
{
    snprintf(ret, bytes, "paper x%d", b->threads);
}

static status paper_alloc(backend *b, backend_space space, size_t bytes, const char *what,
                          void **ret, error *err)
{
    (void)b, (void)space;
    TRY(mem_alloc(bytes, what, ret, err));
    paper.n_open++;
    return OK;
}

static void paper_release(backend *b, backend_space space, void *p)
{
    (void)b, (void)space;
    paper.n_open -= p != NULL;
    mem_free(p);
}

const backend_ops backend_paper = {
    .name = "paper",
    .open = paper_open,
    .close = paper_close,
    .load = paper_load,
    .unload = paper_unload,
    .value_bytes = paper_value_bytes,
    .can_run_inplace = paper_yes,
    .can_alias = paper_yes,
    .prepare = paper_prepare,
    .fingerprint = paper_fingerprint,
    .alloc = paper_alloc,
    .release = paper_release,
};
