#include "unit/backend/support_program.h"

#include "common/base/alloc.h"
#include "common/base/rng.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

static void must(const program *p, status st)
{
    if (st != OK)
        fail_msg("%s: %s", status_name(st), p->err.text);
}

void program_init(program *p)
{
    memset(p, 0, sizeof *p);
    must(p, graph_create(&p->g, &p->err));
}

void program_unload(program *p)
{
    for (graph_val v = 0; p->addresses && v < graph_n_values(p->g); v++)
        mem_free(p->addresses[v]);
    free(p->addresses);
    free(p->kernels);
    mem_free(p->workspace);
    backend_cpu.unload(&p->loaded);
    if (p->device)
        backend_cpu.close(&p->device);
    p->addresses = NULL;
    p->kernels = NULL;
    p->workspace = NULL;
}

void program_fini(program *p)
{
    program_unload(p);
    graph_destroy(&p->g);
}

graph_val program_input(program *p, const char *name, dtype t, graph_shape shape)
{
    graph_val v;
    must(p, graph_input(p->g, name, t, shape, &v, &p->err));
    return v;
}

static graph_val declare(program *p, const char *name, graph_shape shape, tensor_kind kind)
{
    tensor_decl decl = {.name = name, .rank = shape.rank, .kind = kind};
    memcpy(decl.dim, shape.dim, sizeof decl.dim);
    graph_val v;
    must(p, graph_param(p->g, &decl, &v, &p->err));
    return v;
}

graph_val program_param(program *p, const char *name, graph_shape shape)
{
    return declare(p, name, shape, TENSOR_TRAINABLE);
}

graph_val program_state(program *p, const char *name, graph_shape shape)
{
    return declare(p, name, shape, TENSOR_STATE);
}

graph_val program_node(program *p, graph_op op, const char *name, const void *attr, int n_in,
                       const graph_val *in, graph_val *ret_out)
{
    graph_val out;
    if (ret_out) {
        must(p, graph_add(p->g, op, name, in, n_in, attr, ret_out, &p->err));
        return ret_out[0];
    }
    must(p, graph_add_1(p->g, op, name, in, n_in, attr, &out, &p->err));
    return out;
}

status program_try_load(program *p, int threads)
{
    error_clear(&p->err);
    backend_options options = {.threads = threads};
    TRY(backend_cpu.open(&options, &p->device, &p->err));
    return backend_cpu.load(p->device, p->g, &p->loaded, &p->err);
}

void program_load(program *p, int threads)
{
    must(p, program_try_load(p, threads));
    size_t workspace = 0;
    p->kernels = xcalloc((size_t)graph_n_nodes(p->g), sizeof *p->kernels);
    for (int32_t i = 0; i < graph_n_nodes(p->g); i++) {
        must(p, backend_cpu.prepare(p->loaded, i, &p->kernels[i], &p->err));
        if (p->kernels[i].workspace_bytes > workspace)
            workspace = p->kernels[i].workspace_bytes;
    }
    must(p, mem_alloc(workspace, "workspace", &p->workspace, &p->err));
    p->addresses = xcalloc((size_t)graph_n_values(p->g), sizeof *p->addresses);
    for (graph_val v = 0; v < graph_n_values(p->g); v++)
        must(p,
             mem_alloc(backend_cpu.value_bytes(p->loaded, v), "value", &p->addresses[v], &p->err));
}

float *program_floats(program *p, graph_val v)
{
    return p->addresses[v];
}

int64_t *program_ints(program *p, graph_val v)
{
    return p->addresses[v];
}

void program_fill(program *p, graph_val v)
{
    rng r = rng_make(7, RNG_TEST, (uint64_t)v);
    int64_t n = graph_shape_elements(&graph_value_at(p->g, v)->shape);
    for (int64_t i = 0; i < n; i++)
        program_floats(p, v)[i] = 2.0f * rng_uniform(&r, (uint64_t)i) - 1.0f;
}

void program_fill_sources(program *p)
{
    for (graph_val v = 0; v < graph_n_values(p->g); v++) {
        const graph_value *value = graph_value_at(p->g, v);
        if (value->kind != VAL_TEMP && value->dtype == DT_F32)
            program_fill(p, v);
    }
}

void program_run(program *p)
{
    for (graph_val v = 0; v < graph_n_values(p->g); v++)
        if (graph_value_at(p->g, v)->kind == VAL_TEMP)
            memset(p->addresses[v], 0xff, backend_cpu.value_bytes(p->loaded, v));
    for (int32_t i = 0; i < graph_n_nodes(p->g); i++)
        if (p->kernels[i].run)
            must(p, p->kernels[i].run(p->kernels[i].state, p->addresses, p->workspace, &p->err));
}

int32_t program_node_named(const program *p, const char *name)
{
    for (int32_t i = 0; i < graph_n_nodes(p->g); i++)
        if (strcmp(graph_node_at(p->g, i)->name, name) == 0)
            return i;
    fail_msg("there is no node '%s'", name);
    return GRAPH_NONE;
}
