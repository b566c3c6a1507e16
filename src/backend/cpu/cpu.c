#include "backend/cpu/cpu.h"

#include "backend/cpu/program.h"
#include "backend/cpu/team.h"
#include "common/base/alloc.h"
#include "common/base/buf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const cpu_plan plan_of[OP_COUNT] = {
#define OP(ID, name, fewest, most, outputs, traits, family, ...) [OP_##ID] = cpu_plan_##family,
#include "graph/ops.def"
};

static status cpu_open(const backend_options *options, backend **ret, error *err)
{
    if (options->threads < 1)
        return FAIL(err, E_CONFIG, "a CPU lane needs at least 1 thread, not %d", options->threads);
    backend *b = xcalloc(1, sizeof *b);
    b->threads = options->threads;
    team_set(b->threads);
    *ret = b;
    return OK;
}

static void cpu_close(backend **b)
{
    free(*b);
    *b = NULL;
}

static void cpu_unload(backend_program **p)
{
    backend_program *d = *p;
    if (!d)
        return;
    shim_destroy(&d->shim);
    arena_destroy(&d->arena);
    free(d);
    *p = NULL;
}

/* Inputs, parameters and constants come as they are; whatever others read must be plain. */
static status begin_values(backend_program *p, error *err)
{
    int32_t n_values = graph_n_values(p->g);
    for (graph_val v = 0; v < n_values; v++) {
        const graph_value *value = graph_value_at(p->g, v);
        size_t elements = (size_t)graph_shape_elements(&value->shape);
        if (!size_mul(elements, dtype_bytes(value->dtype), &p->bytes[v]))
            return FAIL(err, E_NOMEM, "value '%s' is too large", value->name);
        if (value->kind != VAL_TEMP && value->dtype == DT_F32 && elements > 0)
            TRY(layout_plain(p, &value->shape, &p->layout[v], err));
        if (value->keep)
            p->must_be_plain[v] = true;
        if (value->kind == VAL_PARAM && value->grad != GRAPH_NONE)
            p->must_be_plain[value->grad] = true;
    }
    return OK;
}

static void begin_node(backend_program *p, int32_t index)
{
    cpu_node *n = &p->nodes[index];
    n->program = p;
    n->node = graph_node_at(p->g, index);
    n->index = index;
    n->takes_inplace = graph_node_inplace(n->node) != GRAPH_NONE;
    size_t n_in = (size_t)graph_node_slots(n->node), n_out = (size_t)n->node->n_out;
    n->in = arena_alloc(p->arena, n_in * sizeof *n->in);
    n->out = arena_alloc(p->arena, n_out * sizeof *n->out);
    n->call.in = arena_alloc(p->arena, n_in * sizeof *n->call.in);
    n->call.out = arena_alloc(p->arena, n_out * sizeof *n->call.out);
}

static void begin_nodes(backend_program *p)
{
    int32_t n_nodes = graph_n_nodes(p->g);
    for (int32_t i = 0; i < n_nodes; i++) {
        const cpu_node *n = &p->nodes[i];
        begin_node(p, i);
        for (int k = 0; k < n->node->n_in; k++)
            if (n->node->in[k] != GRAPH_NONE)
                p->n_readers[n->node->in[k]]++;
    }
}

/*
 * A Relu behind a Gemm, and nobody else reads what is between: the Gemm does its work too, in the
 * pass that adds the bias. The Relu's output takes the place of its input (it dies there), so both
 * are the same bytes; should a plan place them apart, the Relu copies.
 *
 * Not behind a Conv: oneDNN's own Relu turns NaN into 0, and a run that has gone wrong would look
 * like one that merely does not learn.
 */
static void find_fusions(backend_program *p)
{
    int32_t n_nodes = graph_n_nodes(p->g);
    for (int32_t i = 0; i < n_nodes; i++) {
        const graph_node *relu = p->nodes[i].node;
        if (relu->op != OP_RELU)
            continue;
        const graph_value *between = graph_value_at(p->g, relu->in[0]);
        if (between->def == GRAPH_NONE || between->keep || p->n_readers[relu->in[0]] != 1)
            continue;
        if (p->nodes[between->def].node->op != OP_GEMM)
            continue;
        p->does_relu[between->def] = true;
        p->nodes[i].fused = true;
    }
}

static bool is_unknown(dtype t)
{
    return t == DT_F16 || t == DT_F64;
}

static status check_types(const cpu_node *n, error *err)
{
    bool rounded = n->node->op == OP_TO_HALF || graph_op_of(n->node->op)->traits & OP_ALIAS;
    for (int i = 0; i < n->node->n_out; i++) {
        const graph_value *v = node_out(n, i);
        if (v && (is_unknown(v->dtype) || (v->dtype == DT_BF16 && !rounded)))
            return FAIL(err, E_UNSUPPORTED, "it makes %s; the only floating type known is float32",
                        dtype_name(v->dtype));
        if (v && v->keep && factor_form_of(v->dtype) == FACTOR_ROUNDED)
            return FAIL(err, E_UNSUPPORTED, "it makes bfloat16 to be kept, which lies as float32 here");
    }
    for (int i = 0; i < graph_node_slots(n->node); i++) {
        const graph_value *v = node_in(n, i);
        if (v && is_unknown(v->dtype))
            return FAIL(err, E_UNSUPPORTED, "it reads %s; the only floating type known is float32",
                        dtype_name(v->dtype));
    }
    return OK;
}

static status plan_one(backend_program *p, cpu_node *n, error *err)
{
    bool has_elements = false;
    TRY(check_types(n, err));
    for (int i = 0; i < n->node->n_out; i++)
        has_elements |= node_out(n, i) && graph_shape_elements(&node_out(n, i)->shape) > 0;
    if (!has_elements)
        return OK;
    n->err = err;
    status st = (node_is_empty(n) ? cpu_plan_empty : plan_of[n->node->op])(n);
    n->err = NULL;
    return st == OK ? node_finish(p, n, err) : st;
}

/* Every node is tried, so that the message names all that have no kernel. */
static status plan_all(backend_program *p, error *err)
{
    buf missing = BUF_INIT;
    status st = OK;
    int32_t n_nodes = graph_n_nodes(p->g);
    for (int32_t i = 0; i < n_nodes && st == OK; i++) {
        cpu_node *n = &p->nodes[i];
        error why = ERROR_INIT;
        st = plan_one(p, n, &why);
        if (st == E_UNSUPPORTED) {
            buf_addf(&missing, "%s%s (%s): %s", missing.size ? "; " : "", n->node->name,
                     graph_op_of(n->node->op)->name, why.text);
            /* readers of its outputs still need a layout to be looked at */
            for (int k = 0; k < n->node->n_out; k++)
                if (node_is_laid_out(node_out(n, k)))
                    TRY_OUT(st,
                            layout_plain_of(p, node_out(n, k), &p->layout[n->node->out[k]], err));
            st = OK;
        } else if (st != OK) {
            FAIL(err, st, "%s: %s", n->node->name, why.text);
        }
    }
    if (st == OK && missing.size)
        st = FAIL(err, E_UNSUPPORTED, "the CPU has no kernel for %s", missing.data);
out:
    buf_fini(&missing);
    return st;
}

static status cpu_load(backend *b, const graph *g, backend_program **ret, error *err)
{
    team_set(b->threads); /* oneDNN picks algorithms for the team it will get */
    size_t n_values = (size_t)graph_n_values(g), n_nodes = (size_t)graph_n_nodes(g);
    backend_program *p = xcalloc(1, sizeof *p);
    p->backend = b;
    p->g = g;
    p->arena = arena_create();
    p->nodes = arena_alloc(p->arena, n_nodes * sizeof *p->nodes);
    p->layout = arena_alloc(p->arena, n_values * sizeof *p->layout);
    p->bytes = arena_alloc(p->arena, n_values * sizeof *p->bytes);
    p->must_be_plain = arena_alloc(p->arena, n_values * sizeof *p->must_be_plain);
    p->n_readers = arena_alloc(p->arena, n_values * sizeof *p->n_readers);
    p->does_relu = arena_alloc(p->arena, n_nodes * sizeof *p->does_relu);
    status st;
    TRY_OUT(st, shim_create(&p->shim, err));
    TRY_OUT(st, begin_values(p, err));
    begin_nodes(p);
    find_fusions(p);
    TRY_OUT(st, plan_all(p, err));
    *ret = p;
    return OK;
out:
    cpu_unload(&p);
    return st;
}

static size_t cpu_value_bytes(const backend_program *p, graph_val v)
{
    return p->bytes[v];
}

static bool cpu_can_run_inplace(const backend_program *p, int32_t node)
{
    const cpu_node *n = &p->nodes[node];
    if (!n->takes_inplace)
        return false;
    return p->bytes[n->node->in[graph_node_inplace(n->node)]] == p->bytes[n->node->out[0]];
}

static bool cpu_can_alias(const backend_program *p, int32_t node)
{
    return p->nodes[node].aliases;
}

static status cpu_prepare(backend_program *p, int32_t node, backend_kernel *ret, error *err)
{
    (void)err;
    cpu_node *n = &p->nodes[node];
    team_set(p->backend->threads);
    *ret = (backend_kernel){
        .run = n->kernel || n->body ? node_run : NULL,
        .state = n,
        .workspace_bytes = n->workspace_bytes,
    };
    return OK;
}

static const char *products_note(graph_precision precision)
{
    if (precision == PRECISION_TF32)
        return "tf32: a CPU multiplies float32 as it is";
    if (precision == PRECISION_BF16 && factor_form_of(DT_BF16) == FACTOR_ROUNDED)
        return "bf16: factors are rounded to bfloat16 and multiplied as float32, since this "
               "processor is no faster at bfloat16";
    return NULL;
}

static void cpu_fingerprint(const backend *b, char *ret, size_t bytes)
{
    char version[32];
    shim_version(version, sizeof version);
    snprintf(ret, bytes, "oneDNN %s isa=%s threads=%d", version, shim_isa(), b->threads);
}

/* The thread that will use it touches every page first: mem_alloc clears. */
static status cpu_alloc(backend *b, backend_space space, size_t bytes, const char *what, void **ret,
                        error *err)
{
    (void)b, (void)space;
    return mem_alloc(bytes, what, ret, err);
}

static void cpu_release(backend *b, backend_space space, void *p)
{
    (void)b, (void)space;
    mem_free(p);
}

static status cpu_describe(int device, backend_device *ret, error *err)
{
    if (device != 0)
        return FAIL(err, E_DEVICE, "there is one CPU, number 0, and no number %d", device);
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    *ret = (backend_device){
        .name = "CPU",
        .memory = (size_t)sysconf(_SC_PHYS_PAGES) * page,
        .free = (size_t)sysconf(_SC_AVPHYS_PAGES) * page,
    };
    snprintf(ret->arch, sizeof ret->arch, "%s", shim_isa());
    return OK;
}

static const backend_note_ops note = {.products = products_note};

const backend_ops backend_cpu = {
    .name = "cpu",
    .open = cpu_open,
    .close = cpu_close,
    .load = cpu_load,
    .unload = cpu_unload,
    .value_bytes = cpu_value_bytes,
    .can_run_inplace = cpu_can_run_inplace,
    .can_alias = cpu_can_alias,
    .prepare = cpu_prepare,
    .fingerprint = cpu_fingerprint,
    .alloc = cpu_alloc,
    .release = cpu_release,
    .describe = cpu_describe,
    .note = &note,
};
