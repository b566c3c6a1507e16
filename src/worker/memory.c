#include "worker/memory.h"

#include "common/config/training.h"
#include "exec/budget.h"
#include "exec/exec.h"
#include "optim/settings.h"
#include "worker/inputs.h"

/* A server keeps two versions of the weights, a sum of gradients, and the optimizer's state. */
enum { SERVER_COPIES = 3 };

/* Of all servers; each works in memory of its own, whatever parts it has. */
static status server_bytes(const worker_memory *m, double *ret, error *err)
{
    const optim settings = optim_settings(m->config);
    const double weights = (double)m->variants->flat->n_elements * sizeof(float);
    size_t room;
    TRY(optim_memory(m->config, m->variants->flat, &room, err));
    *ret = weights * (double)(SERVER_COPIES + optim_slots(&settings)) +
           (double)room * (double)(m->n_servers > 0 ? m->n_servers : 1);
    return OK;
}

static status lane_bytes(const worker_memory *m, const graph *const *graphs, size_t n, size_t *ret,
                         error *err)
{
    exec_memory e;
    if (m->device.ops->queue) {
        *ret = 0;
        return OK;
    }
    exec_options options = {.backend = m->device.ops,
                            .device = m->device.options,
                            .flat = m->variants->flat,
                            .graphs = graphs,
                            .n_graphs = n,
                            .budget = training_memory(m->config)};
    TRY(exec_measure(&options, &e, err));
    *ret = e.grad + e.io + e.temp + e.constant + e.workspace;
    return OK;
}

/* The graphs are there for the batch that is configured; for another one they are built. */
static status lane_bytes_for(const worker_memory *m, int64_t batch, size_t *ret, error *err)
{
    const variants *v = m->variants;
    batch_shape shape = {.examples = batch, .length = v->shapes[0].length};
    if (batch == v->shapes[0].examples)
        return lane_bytes(m, (const graph *const *)v->graphs, v->n, ret, err);
    graph *g = NULL;
    TRY(variants_graph(m->config, v, shape, &g, err));
    status st = lane_bytes(m, (const graph *const[]){g}, 1, ret, err);
    graph_destroy(&g);
    return st;
}

status worker_memory_of(const worker_memory *m, int64_t batch, size_t *ret, error *err)
{
    double servers;
    size_t lane, weights = (size_t)m->variants->flat->n_elements * sizeof(float);
    size_t lanes = (size_t)m->n_lanes, views = training_schedule(m->config).in_order ? 1 : lanes;
    loader_options reading = variants_loader(m->config, m->variants, m->n_readers);
    reading.batch_size = batch;
    inputs_leave(m->device.ops, &reading);
    TRY(lane_bytes_for(m, batch, &lane, err));
    TRY(server_bytes(m, &servers, err));
    *ret = lanes * (lane + loader_bytes(&reading)) + views * weights + (size_t)(m->servers * servers);
    return OK;
}

static status need(void *user, int64_t batch, size_t *ret, error *err)
{
    return worker_memory_of(user, batch, ret, err);
}

status worker_memory_check(const worker_memory *m, error *err)
{
    worker_memory mine = *m;
    return budget_check(&(budget){.what = "training",
                                  .key = "data_loader.batch_size",
                                  .batch = m->variants->shapes[0].examples,
                                  .need = need,
                                  .user = &mine},
                        err);
}
