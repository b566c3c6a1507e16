#include "worker/lane_exec.h"

#include "common/base/log.h"
#include "common/live/trace.h"

static status lane_exec_create(const lane_options *o, weight_store *weights, size_t beside, exec **ret,
                               error *err)
{
    return exec_create(
        &(exec_options){
            .backend = o->backend,
            .device = o->device,
            .flat = o->flat,
            .graphs = o->graphs,
            .n_graphs = o->n_graphs,
            .examples = o->shapes[0].examples,
            .traces = trace_wants_any(),
            .sum_level = o->sum_level,
            .budget = o->budget,
            .peers = o->peers,
            .weights = weights,
            .beside = beside,
        },
        ret, err);
}

/* *ret stays NULL where the device has no room for all. */
static status create_resident(const lane_options *o, exec **ret, error *err)
{
    error why = ERROR_INIT;
    size_t beside = resident_bytes(o->flat, o->server_slots);
    status st = lane_exec_create(o, resident_weights(o->resident), beside, ret, &why);
    if (st == E_NOMEM) {
        resident_close(o->resident);
        LOG_W("RESIDENT", "the optimizer's state is kept on the host: %s", why.text);
        return OK;
    }
    if (st != OK)
        return FAIL(err, st, "%s", why.text);
    LOG_I("RESIDENT", "weights, gradients and the optimizer's state stay on %s:%d", o->backend->name,
          o->device.device);
    return OK;
}

static void tell_recomputed(const exec *e)
{
    const exec_memory m = exec_memory_use(e);
    const recompute_cost *c = &m.again;
    if (c->n_nodes)
        LOG_I("RECOMPUTED", "nodes=%d of forward, for trainer.memory: values between nodes take %zu bytes in place of "
              "%zu; flops=%.1f%% bytes=%.1f%% of forward's once more", c->n_nodes, m.temp, m.temp + m.saved,
              c->forward_flops > 0 ? 100 * c->flops / c->forward_flops : 0.0,
              c->forward_moved > 0 ? 100 * c->moved / c->forward_moved : 0.0);
}

status lane_exec_build(const lane_options *o, exec **ret, error *err)
{
    if (o->resident)
        TRY(create_resident(o, ret, err));
    if (!*ret)
        TRY(lane_exec_create(o, weights_view_store(o->shared.weights), 0, ret, err));
    tell_recomputed(*ret);
    return OK;
}

status lane_exec_begin(const lane_options *o, exec *e, error *err)
{
    weight_store *weights = exec_weights(e);
    exec_join(e, o->peers, o->index);
    weights_view_move(o->shared.weights, weights);
    return weight_store_join(weights, e, err);
}
