/*
 * The engine of a lane: what it consists of. Two files walk over the nodes of a variant: direct.c
 * where a kernel is done when it returns, queued.c where a device computes apart. Both say of each
 * live part exactly once a run that it is ready, after everything that reads its weights or writes
 * its gradient, in ascending order where parts fall on one node; a part no node touches is ready at
 * the end. What a run computes does not depend on hooks or on time.
 */
#include "exec/footprint.h"
#include "exec/guard.h"
#include "exec/state.h"

#include <stdlib.h>
#include <string.h>

/* Where values are guarded, those of all variants lie apart. */
static void exec_measure_loaded(exec *e, const exec_options *options)
{
    if (guard_is_wanted(e->ops, e->device)) {
        e->memory.temp = 0;
        for (size_t i = 0; i < e->n_variants; i++)
            e->memory.temp += guard_bytes(&e->variants[i]);
    }
    if (e->ops->queue && e->memory.grad) {
        e->memory.sums = options->sum_level * e->memory.grad;
        e->memory.received = peers_workspace(options->peers);
    }
}

static status allocate_one(exec *e, size_t bytes, const char *what, void **ret, error *err)
{
    return e->ops->alloc(e->device, SPACE_DEVICE, bytes, what, ret, err);
}

/* What kernels write before they read it. */
static status allocate_guarded(exec *e, error *err)
{
    for (size_t i = 0; i < e->n_variants; i++)
        TRY(guard_create(&e->variants[i], err));
    return e->ops->alloc(e->device, SPACE_UNCLEARED, e->memory.workspace, "workspace", &e->workspace, err);
}

/* The gaps of the gradient slab, which no kernel writes, stay zero as they are given. */
static status allocate(exec *e, error *err)
{
    TRY(allocate_one(e, e->memory.grad, "gradients", &e->slabs[SLAB_GRAD], err));
    TRY(allocate_one(e, e->memory.io, "inputs and outputs", &e->slabs[SLAB_IO], err));
    if (guard_is_wanted(e->ops, e->device))
        return allocate_guarded(e, err);
    TRY(allocate_one(e, e->memory.temp, "activations", &e->slabs[SLAB_TEMP], err));
    return allocate_one(e, e->memory.workspace, "workspace", &e->workspace, err);
}

/* Into the budget, if there is one; and the memory that it is then. */
static status exec_fit(exec *e, const exec_options *options, error *err)
{
    e->memory = footprint_of(e->variants, e->n_variants, e->flat);
    exec_measure_loaded(e, options);
    size_t beside = e->memory.sums + e->memory.received;
    TRY(footprint_fit(e->variants, e->n_variants, e->flat, beside, options->budget, &e->memory, err));
    exec_measure_loaded(e, options);
    return OK;
}

/* All that allocate needs to know. */
static status exec_load(exec *e, const exec_options *options, error *err)
{
    backend_options device = options->device;
    device.unused |= options->peers ? 0 : 1u << QUEUE_PEER;
    TRYF(e->ops->open(&device, &e->device, err), err, "backend %s", e->ops->name);
    for (; e->n_variants < options->n_graphs; e->n_variants++) {
        variant *v = &e->variants[e->n_variants];
        status st =
            variant_load(v, e->ops, e->device, options->graphs[e->n_variants], e->flat, err);
        if (st != OK) {
            if (options->n_graphs > 1)
                error_prepend(err, "variant %zu", e->n_variants);
            variant_unload(v);
            return st;
        }
    }
    TRY(exec_fit(e, options, err));
    for (size_t i = 0; i < e->n_variants; i++)
        variant_cut(&e->variants[i], e->weights->ops->keeps_gradients);
    return e->ops->queue ? capacity_check(e, options, err) : OK;
}

static status exec_fill(exec *e, const exec_options *options, error *err)
{
    TRY(exec_load(e, options, err));
    TRY(allocate(e, err));
    for (size_t i = 0; i < e->n_variants; i++)
        variant_resolve(&e->variants[i], e->slabs);
    bool by_stopwatch = options->times_nodes || (options->traces && e->ops->queue);
    for (size_t i = 0; by_stopwatch && i < e->n_variants; i++)
        TRY(variant_time_nodes(&e->variants[i], err));
    if (!e->ops->queue)
        return OK;
    TRY(queued_create(e, options, err));
    for (size_t i = 0; i < e->n_variants; i++)
        variant_bind(&e->variants[i], e->queued->weights.params);
    if (options->times_nodes)
        return OK;
    e->queued->clock.timed = options->timed && e->ops->recorder->is_wanted(e->device);
    return segments_record(e, err);
}

static exec *exec_new(const exec_options *options)
{
    BUG_ON(!options->backend || options->n_graphs == 0);
    BUG_ON(options->weights && !options->weights->values && !options->backend->queue);
    BUG_ON(options->times_nodes && options->traces);
    exec *e = xcalloc(1, sizeof *e);
    e->ops = options->backend;
    e->flat = options->flat;
    e->bound.ops = &weights_on_host;
    e->weights = options->weights ? options->weights : &e->bound;
    e->variants = xcalloc(options->n_graphs, sizeof *e->variants);
    return e;
}

status exec_measure(const exec_options *options, exec_memory *ret, error *err)
{
    exec *e = exec_new(options);
    status st = exec_load(e, options, err);
    if (st == OK)
        *ret = e->memory;
    exec_destroy(&e);
    return st;
}

status exec_create(const exec_options *options, exec **ret, error *err)
{
    exec *e = exec_new(options);
    status st = exec_fill(e, options, err);
    if (st != OK) {
        exec_destroy(&e);
        return st;
    }
    *ret = e;
    return OK;
}

void exec_destroy(exec **e)
{
    if (!e || !*e)
        return;
    exec *x = *e;
    for (size_t i = 0; i < x->n_variants; i++)
        variant_unload(&x->variants[i]);
    if (x->device) {
        queued_destroy(x);
        for (int slab = 0; slab < SLAB_COUNT; slab++)
            x->ops->release(x->device, SPACE_DEVICE, x->slabs[slab]);
        x->ops->release(x->device, SPACE_DEVICE, x->workspace);
        x->ops->close(&x->device);
    }
    free(x->variants);
    free(x);
    *e = NULL;
}

void exec_bind_params(exec *e, const float *flat_values)
{
    weights_bind(e, flat_values);
}

weight_store *exec_weights(const exec *e)
{
    return e->weights;
}

status exec_read_params(exec *e, float *ret, error *err)
{
    if (!e->params)
        return device_weights_read(e, ret, err);
    memcpy(ret, e->params, e->memory.param);
    return OK;
}

/* The address of the value called `name`; NULL if it is none that the caller may see. */
static void *exec_find(exec *e, size_t variant_index, const char *name, bool is_input,
                       const graph_value **ret_value)
{
    BUG_ON(variant_index >= e->n_variants);
    const variant *v = &e->variants[variant_index];
    graph_val id = graph_find(v->graph, name);
    if (id == GRAPH_NONE)
        return NULL;
    const graph_value *value = graph_value_at(v->graph, id);
    if (is_input ? value->kind != VAL_INPUT : !value->keep)
        return NULL;
    if (ret_value)
        *ret_value = value;
    return e->queued ? queued_host_address(e, v, id) : v->addresses[id];
}

void *exec_input(exec *e, size_t variant_index, const char *name, const graph_value **ret_value)
{
    return exec_find(e, variant_index, name, true, ret_value);
}

const void *exec_value(exec *e, size_t variant_index, const char *name,
                       const graph_value **ret_value)
{
    return exec_find(e, variant_index, name, false, ret_value);
}

void exec_input_as_bytes(exec *e, const char *name, const backend_bytes *meaning)
{
    BUG_ON(!e->queued);
    inputs_as_bytes_of(e, name, meaning);
}

status exec_input_unfinished(exec *e, const char *name, const finish_form *form, finish_draw **ret, error *err)
{
    BUG_ON(!e->queued);
    return inputs_unfinished(e, name, form, ret, err);
}

uint8_t exec_keep_sums(exec *e, uint8_t level)
{
    return e->queued ? sums_reserve(e, level) : 0;
}

status exec_refill(exec *e, error *err)
{
    return e->queued ? inputs_refill(e, err) : OK;
}

status exec_upload_inputs(exec *e, size_t variant_index, error *err)
{
    BUG_ON(variant_index >= e->n_variants);
    return e->queued ? inputs_upload(e, &e->variants[variant_index], err) : OK;
}

status exec_run(exec *e, size_t variant_index, const exec_hooks *hooks, error *err)
{
    BUG_ON(variant_index >= e->n_variants);
    const variant *v = &e->variants[variant_index];
    BUG_ON(v->n_in_flat > 0 && !e->params && e->weights->ops == &weights_on_host);
    return e->queued ? exec_run_queued(e, v, hooks, err) : exec_run_direct(e, v, hooks, err);
}

exec_memory exec_memory_use(const exec *e)
{
    return e->memory;
}

const variant *exec_variant(const exec *e, size_t variant_index)
{
    BUG_ON(variant_index >= e->n_variants);
    return &e->variants[variant_index];
}

double exec_busy_ms(const exec *e)
{
    return e->queued && e->queued->clock.timed ? e->queued->clock.busy_ms : -1;
}

void exec_fingerprint(const exec *e, char *ret, size_t bytes)
{
    e->ops->fingerprint(e->device, ret, bytes);
}
