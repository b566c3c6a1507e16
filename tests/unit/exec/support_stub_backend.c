#include "unit/exec/support_stub_backend.h"

#include <stdio.h>
#include <stdlib.h>

struct backend {
    int threads;
};

typedef struct stub_kernel {
    const graph *g;
    int32_t node;
} stub_kernel;

struct backend_program {
    const graph *g;
    stub_kernel *kernels;
};

stub_control stub;

void stub_reset(void)
{
    stub = (stub_control){.prepare_fails = STUB_NEVER, .run_fails = STUB_NEVER};
}

static status stub_open(const backend_options *options, backend **ret, error *err)
{
    if (stub.open_fails)
        return FAIL(err, E_DEVICE, "the stub does not open");
    backend *b = xcalloc(1, sizeof *b);
    b->threads = options->threads;
    stub.n_open++;
    *ret = b;
    return OK;
}

static void stub_close(backend **b)
{
    stub.n_open--;
    free(*b);
    *b = NULL;
}

static status stub_load(backend *b, const graph *g, backend_program **ret, error *err)
{
    (void)b;
    if (stub.load_fails)
        return FAIL(err, E_UNSUPPORTED, "cannot be written down");
    backend_program *p = xcalloc(1, sizeof *p);
    p->g = g;
    p->kernels = xcalloc((size_t)graph_n_nodes(g) + 1, sizeof *p->kernels);
    stub.n_open++;
    *ret = p;
    return OK;
}

static void stub_unload(backend_program **p)
{
    stub.n_open--;
    free((*p)->kernels);
    free(*p);
    *p = NULL;
}

static size_t stub_value_bytes(const backend_program *p, graph_val v)
{
    const graph_value *value = graph_value_at(p->g, v);
    return (size_t)graph_shape_elements(&value->shape) * dtype_bytes(value->dtype);
}

static bool stub_yes(const backend_program *p, int32_t node)
{
    (void)p, (void)node;
    return true;
}

static status stub_run(void *state, void *const *addresses, void *workspace, error *err)
{
    const stub_kernel *k = state;
    const graph_node *node = graph_node_at(k->g, k->node);
    if (stub.run_fails == k->node)
        return FAIL(err, E_DEVICE, "the pen is dry");
    if (stub.ran)
        stub.ran(stub.user, k->node, addresses, workspace);
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

static status stub_prepare(backend_program *p, int32_t node, backend_kernel *ret, error *err)
{
    if (stub.prepare_fails == node)
        return FAIL(err, E_UNSUPPORTED, "no such word");
    p->kernels[node] = (stub_kernel){p->g, node};
    *ret = (backend_kernel){
        .run = stub_run,
        .state = &p->kernels[node],
        .workspace_bytes = node == 1 ? STUB_WORKSPACE : 0,
    };
    return OK;
}

static void stub_fingerprint(const backend *b, char *ret, size_t bytes)
{
    snprintf(ret, bytes, "stub x%d", b->threads);
}

static status stub_alloc(backend *b, backend_space space, size_t bytes, const char *what,
                         void **ret, error *err)
{
    (void)b, (void)space;
    TRY(mem_alloc(bytes, what, ret, err));
    stub.n_open++;
    return OK;
}

static void stub_release(backend *b, backend_space space, void *p)
{
    (void)b, (void)space;
    stub.n_open -= p != NULL;
    mem_free(p);
}

const backend_ops backend_stub = {
    .name = "stub",
    .open = stub_open,
    .close = stub_close,
    .load = stub_load,
    .unload = stub_unload,
    .value_bytes = stub_value_bytes,
    .can_run_inplace = stub_yes,
    .can_alias = stub_yes,
    .prepare = stub_prepare,
    .fingerprint = stub_fingerprint,
    .alloc = stub_alloc,
    .release = stub_release,
};
