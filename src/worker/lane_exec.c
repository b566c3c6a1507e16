#include "worker/lane_exec.h"

#include "common/base/log.h"

static status create(const lane_options *o, bool is_resident, exec **ret, error *err)
{
    return exec_create(
        &(exec_options){
            .backend = o->backend,
            .device = o->device,
            .flat = o->flat,
            .graphs = o->graphs,
            .n_graphs = o->n_graphs,
            .examples = o->batch_sizes[0],
            .sum_level = o->sum_level,
            .peers = o->peers,
            .resident = is_resident,
            .beside = is_resident ? resident_bytes(o->flat, o->server_slots) : 0,
        },
        ret, err);
}

/* *ret stays NULL where the device has no room for all. */
static status create_resident(const lane_options *o, exec **ret, error *err)
{
    error why = ERROR_INIT;
    status st = create(o, true, ret, &why);
    if (st == E_NOMEM) {
        LOG_W("RESIDENT", "the optimizer's state is kept on the host: %s", why.text);
        return OK;
    }
    if (st != OK)
        return FAIL(err, st, "%s", why.text);
    TRY(resident_open(o->resident, err));
    board_lie_in(o->board, resident_engine(o->resident), exec_params(*ret));
    LOG_I("RESIDENT", "weights, gradients and the optimizer's state stay on %s:%d", o->backend->name,
          o->device.device);
    return OK;
}

status lane_exec_build(const lane_options *o, exec **ret, error *err)
{
    if (o->resident)
        TRY(create_resident(o, ret, err));
    if (*ret)
        return OK;
    TRY(create(o, false, ret, err));
    exec_join(*ret, o->peers, o->index);
    exec_bind_params(*ret, board_weights(o->board));
    return OK;
}
